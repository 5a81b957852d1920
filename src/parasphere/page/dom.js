// Elements are made from text only: nothing in a corpus is read as markup.

export const $ = (name) => document.querySelector(name);

export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "fill") made.style.backgroundColor = value;
    else if (name === "width" || name === "height") made.style[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// A quoted text, isolated, with its own direction.
export const quoted = (text, kind = "") => el("bdi", { dir: "auto", class: kind }, text);

// Pieces [text, part] with the marked ones highlighted, stronger the larger their part.
export function marked(pieces) {
  return pieces.map(([text, part]) => (part > 0 ? el("mark", { class: `m${Math.min(4, Math.ceil(part * 4))}` }, text) : text));
}

export const number = (value) => value.toLocaleString("en");
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const per = (value) => `${(100 * value).toFixed(value < 0.095 ? 1 : 0)} %`;

export function download(content, name) {
  const link = el("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

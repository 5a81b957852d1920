// Beside the map: topics as a tree and columns as filters, which are also the legend of the colours.

import { css, ramped } from "./colours.js";
import { count, el, number, quoted } from "./dom.js";

const FEW = 6; // values of a column shown at first
const BARS = 24;

export const swatch = (colour, theme, kind = "topic") =>
  el("span", { class: `swatch of-${kind}`, fill: colour && colour[theme], "aria-hidden": "true", "data-light": colour?.light, "data-dark": colour?.dark });

// The topics of all levels: { level, name, size, place, colour, codes, parts }, where codes are finest topics.
export function topicTree(about) {
  const levels = [...about.levels, { topics: about.topics, groups: about.topics.map((_, code) => code) }];
  const nodes = levels.map(({ topics, groups }, level) => topics.map((topic, code) => ({
    ...topic, level, codes: groups.flatMap((group, fine) => (group === code ? [fine] : [])), parts: [],
  })));
  nodes.slice(1).forEach((finer, level) => finer.forEach((node) => nodes[level].find(({ codes }) => codes.includes(node.codes[0])).parts.push(node)));
  return nodes;
}

// The list of topics. look: { theme, filters, about, pickTopic(codes, name, more) }; returns the element and its update function.
export function topicList(nodes, look) {
  const updates = [];
  const item = (node) => {
    let { parts } = node;
    while (parts.length === 1) [{ parts }] = parts; // the same topic under another name
    const inner = parts.length ? el("ul", { hidden: true }, parts.map(item)) : null;
    const opener = parts.length ? el("button", { type: "button", class: "opener", "aria-expanded": "false", "aria-label": `Parts of ${node.name}`, onclick: () => {
      inner.hidden = !inner.hidden;
      opener.setAttribute("aria-expanded", String(!inner.hidden));
    } }) : el("span", { class: "opener" });
    return el("li", {}, el("div", { class: "node" }, opener, entry(node.codes, node.name, node.size, node.colour)), inner);
  };
  const entry = (codes, name, size, colour) => {
    const made = el("button", { type: "button", class: "entry", onclick: (event) => look.pickTopic(codes, name, event.shiftKey || event.ctrlKey || event.metaKey) },
      swatch(colour, look.theme), quoted(name, "grow"), el("span", { class: "note" }, number(size)));
    updates.push(() => made.setAttribute("aria-pressed", String(codes.every((code) => look.filters.topics?.codes.has(code)))));
    return made;
  };
  const none = look.filters.topic.reduce((sum, code) => sum + (code < 0), 0);
  const list = el("ul", { class: "tree" }, nodes[0].map(item),
    none ? el("li", {}, el("div", { class: "node" }, el("span", { class: "opener" }), entry([-1], "no topic", none, look.about.none))) : null);
  return [list, () => updates.forEach((update) => update())];
}

// A column as a filter. change(limit, ended) is called with the new limit, and whether dragging has ended.
export function columnFilter(column, c, look, change) {
  const [made, update] = (column.kind === "text" ? checks : range)(column, c, look, change);
  const box = el("details", { class: "column", "data-column": c }, el("summary", {}, quoted(column.name)), made);
  return [box, update];
}

function checks(column, c, look, change) {
  const boxes = column.choices.map(({ name, size, colour }, code) => {
    const box = el("input", { type: "checkbox", onchange: () => {
      const codes = new Set(look.filters.limits[c] || []);
      if (!codes.delete(code)) codes.add(code);
      change(codes.size ? codes : null, true);
    } });
    return el("li", { hidden: code >= FEW }, el("label", { class: "check" }, box, swatch(colour || look.about.none, look.theme, "value"), quoted(name, "grow"), el("span", { class: "note" }, number(size))));
  });
  const more = boxes.length > FEW ? el("button", { type: "button", class: "quiet", onclick: () => { boxes.forEach((box) => { box.hidden = false; }); more.remove(); } }, count(boxes.length - FEW, "more value")) : null;
  const update = () => boxes.forEach((box, code) => { box.querySelector("input").checked = Boolean(look.filters.limits[c]?.has(code)); });
  return [[el("ul", {}, boxes), more], update];
}

// A histogram to drag over, and two fields, for a range of numbers or dates.
function range(column, c, look, change) {
  const [low, high] = column.range, whole = column.values.every((value) => value !== value || Number.isInteger(value));
  const step = whole && high - low < BARS ? 1 : (high - low) / BARS || 1, many = step === 1 && whole ? high - low + 1 : BARS;
  const sizes = new Array(many).fill(0);
  for (const value of column.values) if (value === value) sizes[Math.max(0, Math.min(many - 1, Math.floor((value - low) / step)))]++;
  const most = Math.max(...sizes, 1);
  const bars = sizes.map((size) => el("span", {}, el("span", { height: `${100 * size / most}%` })));
  let begin = -1, asked;
  const limit = (a, b) => [a ? low + a * step : -Infinity, b === many - 1 ? Infinity : low + (b + 1) * step - (step === 1 && whole ? 1 : 0)];
  const at = (event) => {
    const { left, width } = histogram.getBoundingClientRect();
    return Math.max(0, Math.min(many - 1, Math.floor(((event.clientX - left) / width) * many)));
  };
  const drag = (event, ended) => {
    if (begin < 0) return;
    const [a, b] = [begin, at(event)].sort((x, y) => x - y);
    asked = a === 0 && b === many - 1 ? null : limit(a, b);
    change(asked, ended);
    if (ended) begin = -1;
  };
  const histogram = el("div", { class: "bars", "aria-hidden": "true",
    onpointerdown: (event) => { histogram.setPointerCapture(event.pointerId); begin = at(event); drag(event, false); },
    onpointermove: (event) => drag(event, false), onpointerup: (event) => drag(event, true) }, bars);
  const kind = column.kind === "date" ? "date" : "number", read = (text) => (kind === "date" ? Date.parse(text) / 864e5 : Number(text));
  const write = (value) => (kind === "date" ? new Date(value * 864e5).toISOString().slice(0, 10) : String(+value.toPrecision(4)));
  const typed = () => {
    const [from, to] = fields.map(({ value }) => value), ends = [from ? read(from) : -Infinity, to ? read(to) + (kind === "date" ? 0.99999 : 0) : Infinity];
    change(from || to ? ends : null, true);
  };
  const fields = ["from", "to"].map((name, i) => el("input", { type: kind, step: "any", "aria-label": `${column.name} ${name}`, placeholder: write(column.range[i]), onchange: typed }));
  const update = () => {
    const [from, to] = look.filters.limits[c] || [-Infinity, Infinity];
    bars.forEach((bar, i) => {
      bar.classList.toggle("out", low + i * step + (step === 1 && whole ? 0 : step) <= from - (whole ? 1e-9 : 0) || low + i * step > to);
      bar.firstChild.style.backgroundColor = look.colouring === String(c) ? css(ramped(i / (many - 1 || 1), look.theme)) : "";
    });
    [from, to].forEach((value, i) => { if (document.activeElement !== fields[i] || Number.isFinite(value)) fields[i].value = Number.isFinite(value) ? write(value) : ""; });
  };
  return [[histogram, el("div", { class: "row ends" }, fields[0], el("span", { class: "small" }, "to"), fields[1])], update];
}

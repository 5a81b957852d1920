// The page: loads the map and connects queries, clicks, lasso and filters with what is shown.

import * as answers from "./answers.js";
import { css, parsed, ramped } from "./colours.js";
import { $, count, el, number, quoted } from "./dom.js";
import { Filters } from "./filters.js";
import { MapView } from "./map.js";
import { columnsOf, document_, found, introduction, selection } from "./panel.js";
import { columnFilter, swatch, topicList, topicTree } from "./side.js";

const panel = $("#panel"), stage = { map: null, asked: "", theme: "light", history: [], colouring: "topic" };
const say = (text) => { $("#status").textContent = text; };
const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
let about, columns, nodes, filters, updates = [];

// ------------------------------------------------------------------------------------------------------------ colours

// The colour of each text, [red, green, blue].
function colourOf() {
  const { theme, colouring } = stage, none = parsed(about.none[theme]);
  if (colouring === "topic") {
    const table = about.topics.map(({ colour }) => parsed(colour[theme]));
    return (row) => table[filters.topic[row]] || none;
  }
  const { kind, values, choices, range } = columns[colouring];
  if (kind === "text") {
    const table = choices.map(({ colour }) => (colour ? parsed(colour[theme]) : none));
    return (row) => table[values[row]] || none;
  }
  const table = Array.from({ length: 65 }, (_, i) => ramped(i / 64, theme)), [low, high] = range;
  return (row) => table[Math.round(64 * Math.max(0, Math.min(1, (values[row] - low) / (high - low || 1))))] || none;
}

function paintPoints() {
  const { map } = stage, { n } = map, { mask } = filters, colours = new Uint8Array(4 * n), colour = colourOf();
  const strong = n > 20_000 ? 165 : 205;
  for (let i = 0; i < n; i++) {
    colours.set(colour(i), 4 * i);
    colours[4 * i + 3] = !mask ? strong : mask[i] ? 235 : 18;
  }
  map.scatter.setColours(colours);
  map.scatter.setOrder(ordered(n, mask));
  map.mask = mask;
  map.arrange();
  map.draw();
}

// The order of drawing: shuffled, so that no group covers the others; selected points come last.
function ordered(n, mask) {
  stage.shuffled ||= (() => {
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1, seed = 1; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1), kept = order[i];
      order[i] = order[j];
      order[j] = kept;
    }
    return order;
  })();
  if (!mask) return stage.shuffled;
  return Uint32Array.from([...stage.shuffled.filter((i) => !mask[i]), ...stage.shuffled.filter((i) => mask[i])]);
}

function setTheme(theme) {
  stage.theme = theme;
  document.documentElement.dataset.theme = theme;
  $("#theme").setAttribute("aria-pressed", String(theme === "dark"));
  if (!stage.map) return;
  stage.map.theme = theme;
  paintPoints();
  updates.forEach((update) => update());
  document.querySelectorAll(".swatch[data-light]").forEach((each) => { each.style.backgroundColor = each.dataset[theme]; });
}

function colourBy(kind) {
  stage.colouring = kind;
  stage.map.plain = kind !== "topic"; // names have the colours of topics only if the points do
  document.body.dataset.colour = kind === "topic" || columns[kind].kind !== "text" ? kind : "text";
  document.querySelectorAll(".column").forEach((box) => {
    box.classList.toggle("coloured", box.dataset.column === kind);
    if (box.dataset.column === kind) box.open = true;
  });
  updates.forEach((update) => update());
  paintPoints();
}

// ---------------------------------------------------------------------------------------------- used by the panels

const look = {
  get about() { return about; },
  get theme() { return stage.theme; },
  get filters() { return filters; },
  get colouring() { return stage.colouring; },
  open: (row) => open(row),
  point: (row) => { stage.map.hovered = row; stage.map.draw(); },
  save: () => answers.save(filters.rows).then(() => say("Exported."), complain),
  // The name of a topic, after that of the large topic that it is part of.
  path(code) {
    if (code < 0) return "no topic";
    const large = nodes[0].find(({ codes }) => codes.includes(code)).name, { name } = about.topics[code];
    return large === name ? name : `${large} › ${name}`;
  },
  topic: (code, note) => entry(look.swatch(code), about.topics[code].name, note, () => { forget(); look.pickTopic([code], about.topics[code].name); }),
  value(columnName, name, note) {
    const c = columns.findIndex((column) => column.name === columnName), code = columns[c].choices.findIndex((choice) => choice.name === name);
    const { colour } = columns[c].choices[code] || {};
    return entry(stage.colouring === String(c) && colour ? swatch(colour, stage.theme, "value") : null, name, note, () => { if (code >= 0) { forget(); limit(c, new Set([code])); } });
  },
  swatch: (code) => swatch(code < 0 ? about.none : about.topics[code].colour, stage.theme),
  // Select one topic, or with `more` add it; deselect it if it is selected.
  pickTopic(codes, name, more = false) {
    const now = filters.topics, there = codes.every((code) => now?.codes.has(code));
    const left = now && [...now.codes].filter((code) => !codes.includes(code));
    if (there && (more || !left.length)) filters.topics = left.length ? { codes: new Set(left), name: namesOf(left) } : null;
    else filters.topics = more && now ? { codes: new Set([...now.codes, ...codes]), name: namesOf([...now.codes, ...codes]) } : { codes: new Set(codes), name };
    apply();
  },
};

// The names of topics; a large topic stands for all of its parts.
function namesOf(codes) {
  const wanted = new Set(codes), whole = nodes.flat().filter((node) => node.codes.every((code) => wanted.has(code)));
  const names = whole.filter((node) => !whole.some((other) => other.codes.length > node.codes.length && node.codes.every((code) => other.codes.includes(code))));
  return names.map(({ name }) => name).filter((name, i, all) => all.indexOf(name) === i).join(", ");
}

const entry = (mark, name, note, act) =>
  el("button", { type: "button", class: "entry", onclick: act }, mark, quoted(name, "grow"), el("span", { class: "note" }, note));

// Show something beside the map; Back returns to what it replaces.
function show(content, restore, back = false) {
  if (!back && stage.restore) stage.history.push(stage.restore);
  stage.restore = restore;
  const steps = stage.history.length ? el("p", { class: "steps" },
    el("button", { type: "button", class: "quiet", onclick: () => { const before = stage.history.pop(); stage.restore = null; before(); } }, "← Back")) : null;
  panel.replaceChildren(...[steps, ...content.flat(Infinity)].filter(Boolean));
  panel.scrollTop = 0;
  if (restore !== begin && matchMedia("(max-width: 760px)").matches) panel.scrollIntoView({ block: "start" }); // it is below the map
}

function complain(error) {
  show([el("h2", {}, "That did not work"), el("p", { role: "alert" }, error.message)], stage.restore, true);
  say(error.message);
}

function mark({ place = null, rings = [], focus = -1 }) {
  const { map } = stage;
  Object.assign(map, { spot: place, rings, focus });
  if (place) map.show(place);
  else if (focus >= 0) map.show(map.at(focus));
  map.draw();
}

const begin = () => { mark({}); show(introduction(look), begin); };

let latest = 0; // outdated answers are not shown
async function answered(question, then) {
  const mine = ++latest;
  document.body.classList.add("busy");
  try {
    const answer = await question;
    if (mine === latest) then(answer);
  } catch (error) {
    if (mine === latest) complain(error);
  } finally {
    if (mine === latest) document.body.classList.remove("busy");
  }
}

const rowsOf = (answer) => answer.matches.map((match) => match.row);

function find(text) {
  stage.asked = text;
  return answered(answers.search(text, filters.rows), (answer) => {
    const again = () => {
      mark({ place: answer.place, rings: rowsOf(answer) });
      show(found(answer, look), again);
    };
    again();
    say(`${count(answer.matches.length, "text")} found.`);
  });
}

function open(row) {
  if (row < 0) return undefined;
  return answered(answers.read(row, stage.asked), (answer) => {
    const again = () => {
      mark({ rings: rowsOf(answer), focus: row });
      show(document_(answer, look, stage.asked), again);
    };
    again();
    say(`Text ${answer.id}`);
  });
}

// ---------------------------------------------------------------------------------------------------------- filters

// Show what the filters select: on the map, and beside it the search among them, or their summary.
function apply(ended = true) {
  filters.update();
  paintPoints();
  updates.forEach((update) => update());
  chips();
  if (!ended) return undefined;
  stage.history = [];
  stage.restore = null;
  if (stage.asked && filters.rows?.length !== 0) return find(stage.asked);
  return filters.rows ? list() : begin();
}

function list() {
  const { rows, name } = filters;
  if (!rows.length) {
    show([el("h2", {}, "No text"), el("p", {}, "No text meets all of these: ", quoted(name), ".")], list);
    return undefined;
  }
  return answered(answers.select(rows), (answer) => {
    const again = () => {
      mark({});
      show(selection(answer, name, look), again);
    };
    again();
    say(`${count(answer.count, "text")} selected.`);
  });
}

function chips() {
  const parts = filters.parts();
  $("#chips").replaceChildren(...(parts.length ? [
    el("span", { class: "of" }, el("b", {}, number(filters.rows.length)), ` of ${count(about.n, "text")}`),
    ...parts.map(({ text, remove }) => el("button", { type: "button", class: "chip", "aria-label": `Remove: ${text}`, onclick: () => { remove(); apply(); } }, quoted(short(text, 60)), " ×")),
    stage.asked ? el("button", { type: "button", class: "quiet", id: "list", onclick: () => { forget(); chips(); list(); } }, "List and export") : "",
    el("button", { type: "button", class: "quiet", id: "clear", onclick: clear }, "Clear"),
  ] : []));
}

function limit(c, wanted, ended = true) {
  filters.limits[c] = wanted;
  apply(ended);
}

function draw(rows, name) {
  if (!rows.length) { say("No text is inside."); return; }
  filters.draw(rows, name);
  forget();
  apply();
}

function forget() {
  stage.asked = "";
  $("#query").value = "";
}

function clear() {
  filters.clear();
  forget();
  apply();
  say("Nothing is selected.");
}

// ------------------------------------------------------------------------------------------------------- the map

const seen = new Map(); // cache of answers.glance
let waiting = 0;
function hover(row, map, here) {
  map.tip.hidden = true;
  clearTimeout(waiting);
  if (row < 0 || !here) return;
  waiting = setTimeout(async () => {
    if (!seen.has(row)) seen.set(row, await answers.glance(row).catch(() => null));
    const facts = seen.get(row);
    if (map.hovered !== row || !facts) return;
    map.tip.replaceChildren(quoted(facts.id, "id"), el("span", { class: "small row" }, el("span", { class: "grow" }, look.swatch(facts.topic), " ", quoted(look.path(facts.topic)))),
      el("bdi", { dir: "auto", class: "words" }, facts.text || "(an empty text)"), columnsOf(facts) || "");
    map.tip.hidden = false;
    const [x, y] = map.spotOf(row), { offsetWidth: width, offsetHeight: height } = map.tip;
    map.tip.style.left = `${Math.max(4, Math.min(map.width - width - 4, x + 14))}px`;
    map.tip.style.top = `${y + height + 18 > map.height ? Math.max(4, y - height - 12) : y + 14}px`;
  }, 60);
}

function setMode(mode) {
  stage.map.mode = mode;
  stage.map.pad.classList.toggle("drawing", mode === "lasso");
  for (const name of ["move", "lasso"]) $(`#${name}`).setAttribute("aria-pressed", String(name === mode));
}

function connect() {
  const { map } = stage;
  $("#search").addEventListener("submit", (event) => { event.preventDefault(); if ($("#query").value.trim()) find($("#query").value).then(chips); });
  $("#query").addEventListener("input", () => { if (!$("#query").value && stage.asked) { stage.asked = ""; apply(); } });
  $("#move").addEventListener("click", () => setMode("move"));
  $("#lasso").addEventListener("click", () => setMode("lasso"));
  $("#closer").addEventListener("click", () => map.zoom(1.6, undefined, undefined, true));
  $("#farther").addEventListener("click", () => map.zoom(1 / 1.6, undefined, undefined, true));
  $("#fit").addEventListener("click", () => map.fit());
  $("#inview").addEventListener("click", () => draw(map.inView(), "in view"));
  $("#colour").addEventListener("change", (event) => colourBy(event.target.value));
  $("#theme").addEventListener("click", () => {
    const theme = stage.theme === "dark" ? "light" : "dark";
    remembered(theme);
    setTheme(theme);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && !typing) clear();
    else if (event.key === "/" && !typing) { event.preventDefault(); $("#query").focus(); }
  });
}

// The last chosen theme; null if a browser stores nothing, as in a preview of an attachment.
function remembered(theme) {
  try {
    if (theme) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

async function start() {
  setTheme(remembered() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  about = await answers.about();
  const { points, topic, certainty, certainty_range: range } = about;
  columns = [...about.columns, { name: "certainty", kind: "number", range, values: certainty }];
  stage.filters = filters = new Filters(topic, columns);
  nodes = topicTree(about);
  stage.map = new MapView(points, topic, { hover, pick: (row) => open(row), lasso: (rows) => draw(rows, "drawn around") });
  Object.assign(stage.map, { theme: stage.theme, covers: () => [$("#tools"), $("#chips")] });
  $("#map").append(stage.map.frame);
  $("#colour").append(el("option", { value: "topic" }, "by topic"), ...columns.map(({ name }, c) => el("option", { value: c }, `by ${name}`)));
  const made = [topicList(nodes, look), ...columns.map((column, c) => columnFilter(column, c, look, (wish, ended) => limit(c, wish, ended)))];
  updates = made.map(([, update]) => update);
  const [topics, ...boxes] = made.map(([element]) => element);
  $("#sides").append(el("h2", {}, "Topics"), topics, el("h2", {}, "Filters"), ...boxes);
  const wide = matchMedia("(min-width: 1101px)"), fold = () => { $("#side").open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
  stage.map.setNames(nodes.map((level) => level.filter(({ place }) => place)));
  stage.map.resize();
  connect();
  colourBy("topic");
  begin();
  document.body.classList.add("ready");
  say(`${count(about.n, "text")} on the map.`);
}

window.page = stage; // for scripts
start().catch(complain);

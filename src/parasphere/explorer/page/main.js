// The page: loads the maps, and connects what is typed, clicked and drawn with what is shown.

import * as api from "./api.js";
import { css, named, ramped } from "./colours.js";
import { $, count, el, number, quoted } from "./dom.js";
import { MapView } from "./map.js";
import { document_, found, introduction, selection, topicName } from "./panel.js";

const MOST_ENTRIES = 60; // of the legend
const panel = $("#panel"), stage = { maps: [], arrays: [], chosen: null, asked: "", theme: "light", history: [] };
const say = (text) => { $("#status").textContent = text; };
let about;

// ------------------------------------------------------------------------------------------------------------ colours

const kindOf = () => $("#colour").value || "topic";
const isNamed = (kind) => kind === "topic" || kind === "label";
const codesOf = (m, kind) => (kind === "label" || kind === "date" ? stage.arrays[0][kind] : stage.arrays[m][kind]);

function ends(m, kind) {
  if (kind === "certainty") return about.models[m].certainty;
  let [low, high] = [Infinity, -Infinity];
  for (const day of codesOf(m, kind)) if (day === day) { low = Math.min(low, day); high = Math.max(high, day); }
  return [low, high];
}

function paintPoints() {
  const kind = kindOf();
  stage.maps.forEach((map, m) => {
    const codes = codesOf(m, kind), { n } = map, colours = new Uint8Array(4 * n), [low, high] = isNamed(kind) ? [0, 0] : ends(m, kind);
    const table = isNamed(kind)
      ? new Map() : Array.from({ length: 65 }, (_, i) => ramped(i / 64, stage.theme));
    const colour = (code) => {
      if (!isNamed(kind)) return code === code ? table[Math.round(64 * Math.max(0, Math.min(1, (code - low) / (high - low || 1))))] : ramped(NaN, stage.theme);
      if (!table.has(code)) table.set(code, named(code, stage.theme));
      return table.get(code);
    };
    const strong = n > 20_000 ? 165 : 205, chosen = stage.chosen?.mask;
    for (let i = 0; i < n; i++) {
      const [r, g, b] = colour(codes[i]);
      colours[4 * i] = r; colours[4 * i + 1] = g; colours[4 * i + 2] = b;
      colours[4 * i + 3] = !chosen ? strong : chosen[i] ? 240 : 22;
    }
    map.scatter.setColours(colours);
    map.scatter.setOrder(ordered(n, chosen));
    map.names = namesOf(m, kind);
    map.draw();
  });
  legend(kind);
}

// The order of drawing: shuffled, so that no group lies on top of all others; what is chosen comes last.
function ordered(n, chosen) {
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
  if (!chosen) return stage.shuffled;
  return Uint32Array.from([...stage.shuffled.filter((i) => !chosen[i]), ...stage.shuffled.filter((i) => chosen[i])]);
}

function namesOf(m, kind) {
  const model = about.models[m];
  if (kind === "label") return model.label_places.map((at, code) => ({ text: short(about.labels[code].name, 28), at }));
  return model.topics.filter((topic) => topic.place).map((topic) => ({ text: short(topicName(topic), 40), at: topic.place }));
}

const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

function legend(kind) {
  const entries = $("#entries");
  if (!isNamed(kind)) {
    const [low, high] = ends(0, kind), shown = (value) => (kind === "date" ? new Date(value * 864e5).toISOString().slice(0, 10) : value.toFixed(2));
    const steps = Array.from({ length: 24 }, (_, i) => el("span", { fill: css(ramped(i / 23, stage.theme)) }));
    entries.replaceChildren(el("div", { class: "ramp", "aria-hidden": "true" }, steps), el("div", { class: "row small" }, el("span", {}, shown(low)), el("span", {}, shown(high))),
      el("p", { class: "small" }, kind === "date" ? "Grey: no date." : "How sure the model is of each text."));
    return;
  }
  const groups = kind === "label" ? about.labels.map(({ name, size }, code) => look.label(code, name, number(size)))
    : about.models.length > 1 ? [el("p", { class: "small" }, "Each map has the colours of its own topics.")]
    : about.models[0].topics.map((topic, code) => look.topic(0, code, topicName(topic), number(topic.size)));
  const none = codesOf(0, kind).some((code) => code < 0) ? el("p", { class: "small" }, `Grey: no ${kind}.`) : "";
  entries.replaceChildren(...groups.slice(0, MOST_ENTRIES), none, groups.length > MOST_ENTRIES ? el("p", { class: "small" }, `and ${number(groups.length - MOST_ENTRIES)} more`) : "");
}

// -------------------------------------------------------------------------------------------- what the panel can do

const swatch = (code) => el("span", { class: "swatch", fill: css(named(code, stage.theme)), "aria-hidden": "true", "data-code": code });
const entry = (code, name, note, choose) =>
  el("button", { type: "button", class: "entry", onclick: choose }, swatch(code), quoted(name, "grow"), el("span", { class: "note" }, note));

const look = {
  get about() { return about; },
  open: (row) => open(row),
  point: (row) => stage.maps.forEach((map) => { map.hovered = row; map.draw(); }),
  topic: (m, code, name, note) => entry(code, name, typeof note === "number" ? number(note) : note, () => choose(rowsOf(stage.arrays[m].topic, code), `Topic: ${name}`)),
  label: (code, name, note) => entry(code, name, note, () => choose(rowsOf(stage.arrays[0].label, code), `Label: ${name}`)),
  save: (format) => api.save(stage.chosen.rows, format).then(() => say("Exported."), complain),
};

function rowsOf(codes, code) {
  const rows = [];
  for (let i = 0; i < codes.length; i++) if (codes[i] === code) rows.push(i);
  return Uint32Array.from(rows);
}

// Show something beside the map; what it replaces can be gone back to.
function show(content, restore, back = false) {
  if (!back && stage.restore) stage.history.push(stage.restore);
  stage.restore = restore;
  const steps = el("p", { class: "steps" },
    stage.history.length ? el("button", { type: "button", class: "quiet", onclick: () => { const before = stage.history.pop(); stage.restore = null; before(); } }, "← Back") : null,
    stage.chosen ? el("button", { type: "button", class: "quiet", id: "clear", onclick: clear }, "Clear the selection") : null);
  panel.replaceChildren(...(steps.childElementCount ? [steps] : []), ...content.flat(Infinity).filter(Boolean));
  panel.scrollTop = 0;
}

function complain(error) {
  show([el("h2", {}, "That did not work"), el("p", { role: "alert" }, error.message)], stage.restore, true);
  say(error.message);
}

function mark({ places = null, rings = null, focus = -1 }) {
  stage.maps.forEach((map, m) => {
    map.spot = places?.[m] || null;
    map.rings = rings?.[m] || [];
    map.focus = focus;
    if (map.spot) map.show(map.spot);
    else if (focus >= 0) map.show(map.at(focus));
    map.draw();
  });
}

const begin = () => { mark({}); show(introduction(about, look), begin); };

let latest = 0; // answers that come late are not shown
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

const ringsOf = (answer) => answer.models.map((seen) => seen.matches.map((match) => match.row));

function find(text) {
  stage.asked = text;
  return answered(api.search(text), (answer) => {
    const again = () => {
      mark({ places: answer.models.map((seen) => seen.place), rings: ringsOf(answer) });
      show(found(answer, look), again);
    };
    again();
    say(`${count(answer.models[0].matches.length, "text")} near your text.`);
  });
}

function open(row) {
  if (row < 0) return undefined;
  const { asked } = stage;
  return answered(api.read(row, asked), (answer) => {
    const again = () => {
      mark({ rings: ringsOf(answer), focus: row });
      show(document_(answer, look, asked), again);
    };
    again();
    say(`Text ${answer.id}.`);
  });
}

function dim(rows) {
  const mask = new Uint8Array(about.n);
  rows.forEach((row) => { mask[row] = 1; });
  stage.chosen = { rows, mask };
  paintPoints();
}

function choose(rows, name) {
  if (!rows.length) { say("No text is there."); return undefined; }
  return answered(api.select(rows), (answer) => {
    const again = () => {
      dim(rows);
      mark({});
      show(selection(answer, name, look), again);
    };
    again();
    say(`${count(answer.count, "text")} selected.`);
  });
}

function clear() {
  stage.chosen = null;
  stage.history = [];
  stage.restore = null;
  paintPoints();
  begin();
  say("Nothing is selected.");
}

// ------------------------------------------------------------------------------------------------------- the maps

const seen = new Map(); // what was shown for a row before
let waiting = 0;
function hover(row, map, here) {
  stage.maps.forEach((other) => { if (other !== map) { other.hovered = row; other.draw(); } other.tip.hidden = true; });
  clearTimeout(waiting);
  if (row < 0 || !here) return;
  waiting = setTimeout(async () => {
    if (!seen.has(row)) seen.set(row, await api.glance(row).catch(() => null));
    const facts = seen.get(row);
    if (map.hovered !== row || !facts) return;
    const topic = stage.arrays[stage.maps.indexOf(map)].topic[row], about_ = [facts.label, facts.date].filter(Boolean);
    map.tip.replaceChildren(quoted(facts.id, "id"), el("bdi", { dir: "auto", class: "words" }, facts.text || "(an empty text)"),
      topic >= 0 ? el("span", { class: "small" }, topicName(about.models[stage.maps.indexOf(map)].topics[topic])) : "",
      about_.length ? el("span", { class: "small" }, about_.map((fact, i) => [i ? " · " : "", quoted(fact)]).flat()) : "");
    map.tip.hidden = false;
    const [x, y] = map.spotOf(row), { offsetWidth: width, offsetHeight: height } = map.tip;
    map.tip.style.left = `${Math.max(4, Math.min(map.width - width - 4, x + 14))}px`;
    map.tip.style.top = `${y + height + 18 > map.height ? Math.max(4, y - height - 12) : y + 14}px`;
  }, 60);
}

function setMode(mode) {
  stage.maps.forEach((map) => { map.mode = mode; map.pad.classList.toggle("drawing", mode === "lasso"); });
  for (const name of ["move", "lasso"]) $(`#${name}`).setAttribute("aria-pressed", String(name === mode));
}

function setTheme(theme) {
  stage.theme = theme;
  document.documentElement.dataset.theme = theme;
  $("#theme").setAttribute("aria-pressed", String(theme === "dark"));
  if (!stage.maps.length) return;
  paintPoints();
  document.querySelectorAll(".swatch").forEach((each) => { each.style.backgroundColor = css(named(Number(each.dataset.code), theme)); });
}

function connect() {
  const all = (action) => () => stage.maps.forEach(action);
  $("#search").addEventListener("submit", (event) => { event.preventDefault(); if ($("#query").value.trim()) find($("#query").value); });
  $("#query").addEventListener("input", () => { if (!$("#query").value) stage.asked = ""; });
  $("#move").addEventListener("click", () => setMode("move"));
  $("#lasso").addEventListener("click", () => setMode("lasso"));
  $("#closer").addEventListener("click", all((map) => map.zoom(1.6, undefined, undefined, true)));
  $("#farther").addEventListener("click", all((map) => map.zoom(1 / 1.6, undefined, undefined, true)));
  $("#fit").addEventListener("click", all((map) => map.fit()));
  $("#inview").addEventListener("click", () => choose((stage.active || stage.maps[0]).inView(), "All that is in view"));
  $("#colour").addEventListener("change", () => { paintPoints(); $("#legend").open = true; });
  $("#theme").addEventListener("click", () => {
    const theme = stage.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", theme);
    setTheme(theme);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "Escape" && !typing) clear();
    else if (event.key === "/" && !typing) { event.preventDefault(); $("#query").focus(); }
  });
}

async function start() {
  setTheme(localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  about = await api.about();
  document.title = about.title || "Explorer";
  $("#title").textContent = about.title || "Explorer";
  const kinds = { topic: "by topic", ...(about.labels.length && { label: "by label" }), certainty: "by certainty", ...(about.dated && { date: "by date" }) };
  $("#colour").append(...Object.entries(kinds).map(([value, text]) => el("option", { value }, text)));
  document.body.classList.toggle("two", about.models.length > 1);
  for (let m = 0; m < about.models.length; m++) {
    const own = m ? ["points", "topic", "certainty"] : ["points", "topic", "certainty", "label", ...(about.dated ? ["date"] : [])];
    const arrays = await Promise.all(own.map((name) => api.numbers(m, name)));
    stage.arrays.push(Object.fromEntries(own.map((name, i) => [name, arrays[i]])));
    const tell = { hover, pick: (row) => open(row), lasso: (rows) => choose(rows) };
    stage.maps.push(new MapView(about.models.length > 1 ? about.models[m].name : "", arrays[0], tell));
  }
  $("#maps").append(...stage.maps.map((map) => map.frame));
  stage.maps.forEach((map) => {
    map.resize();
    for (const name of ["pointerdown", "focus", "wheel"]) map.pad.addEventListener(name, () => { stage.active = map; }, { passive: true });
  });
  connect();
  begin();
  paintPoints();
  document.body.classList.add("ready");
  say(`${count(about.n, "text")} on the map.`);
}

window.explorer = stage; // for scripts and for the curious
start().catch(complain);

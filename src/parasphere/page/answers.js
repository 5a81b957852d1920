// The answers that the page shows, from the data packed in it.

import { download } from "./dom.js";
import { Engine } from "./engine.js";
import { EXCERPT, pieces, visible, whole } from "./excerpts.js";
import { strings, unpacked } from "./pack.js";

const NEAR = 15, FOUND = 12; // neighbours by which a typed text is placed on the map, and texts found
const GLANCE = 600; // characters of a text under the pointer
const SHOWN = 60, SHARES = 6; // texts, and topics and values, of a selection that are listed
const WORDS = 24, MARKED = 12; // words that distinguish a selection, and how many of them are marked in its texts
const FAINT = 0.12; // words below this share of the largest part in a match are not marked
const SHARED = 0.5; // strength of the mark of a shared word without a vector
const SOON = 2000; // milliseconds after which the engine is made even without a search
const DAY = 864e5;

const once = (make) => { let made; return () => (made ||= make()); };
const part = (name) => {
  const element = document.getElementById(`packed-${name}`), text = element?.textContent;
  element?.remove(); // frees its memory
  return text && unpacked(text);
};

const map = once(async () => {
  const { facts, arrays } = await part("map");
  for (const [name, scale] of Object.entries(facts.scales)) arrays[name] = Float32Array.from(arrays[name], (whole) => whole / scale);
  // own: the name and the values as they are exported; name and values: those that are shown and selected
  const columns = facts.columns.map((column, c) => {
    const values = arrays[`column${c}`];
    return { ...column, own: { name: column.name, values }, name: visible(column.name), values: column.kind === "text" ? values.map((code) => Math.min(code, facts.most_values)) : values };
  });
  return { ...facts, ...arrays, columns, ids: strings(arrays.ids, arrays.ids_sizes), link: arrays.links && strings(arrays.links, arrays.links_sizes), sorted: arrays.certainty.slice().sort() };
});
const engine = once(async () => Engine.of(await part("search")));
const texts = once(async () => {
  const held = await part("texts");
  return held ? strings(held.arrays.texts, held.arrays.texts_sizes) : null;
});

export function about() {
  setTimeout(engine, SOON);
  return map();
}

export async function search(text, rows = null) {
  const [held, found] = [await map(), await engine()], asked = found.text(text);
  const mask = rows && new Uint8Array(held.n);
  rows?.forEach((row) => { mask[row] = 1; });
  const seen = await view(asked, -1);
  if (mask && seen.matches.length) seen.matches = await Promise.all(found.search(asked, FOUND, mask).map((match) => matched(asked, match)));
  return { text: visible(text), ...seen };
}

export async function read(row, asked = "") {
  const [held, found, textOf] = [await map(), await engine(), await texts()];
  const own = textOf ? found.text(textOf(row)) : found.textOf(row), answer = await view(own, row);
  const query = asked.trim() && textOf ? found.text(asked) : null;
  answer.pieces = !textOf ? [["The text is not part of this page.", 0]] : pieces(textOf(row), query ? marksOf(query, textOf(row), own.share, found) : []);
  return { ...factsOf(held, row), ...answer };
}

export async function glance(row) {
  const textOf = await texts(), text = textOf ? textOf(row).slice(0, 2 * GLANCE).split(/\s+/).join(" ").trim() : "(the text is not part of this page)";
  return { text: visible(text.slice(0, whole(text, GLANCE))) + (text.length > GLANCE ? " …" : ""), ...factsOf(await map(), row) };
}

export async function select(rows) {
  const [held, found, textOf] = [await map(), await engine(), await texts()];
  const words = found.apart(rows, WORDS), scores = new Map(words.slice(0, MARKED).map(({ key, score }) => [key, score]));
  const listed = (row) => {
    const { id, topic } = factsOf(held, row), text = textOf?.(row) ?? "";
    const spans = found.tokens(text).map((token) => ({ ...token, part: scores.get(found.stemOf(token.word, found.form.get(token.word) ?? -1)) ?? 0 }));
    return { row, id, topic, pieces: pieces(text, spans.filter((span) => span.part), EXCERPT) };
  };
  return {
    count: rows.length,
    words: words.map(({ word, score, inside, outside }) => ({ word: visible(word), score, inside, outside })),
    topics: largest(held.topic, rows).map(([topic, count]) => ({ topic, count })),
    columns: held.columns.flatMap(({ name, kind, names, own }) => (kind !== "text" ? [] : [{
      name, values: largest(own.values, rows).map(([code, count]) => ({ name: visible(names[code]), count })),
    }])),
    texts: found.typical(rows).slice(0, SHOWN).map(listed),
  };
}

export async function save(rows) {
  const [held, textOf] = [await map(), await texts()], { topics, levels } = held;
  const large = (topic) => (levels.length ? levels[0].topics[levels[0].groups[topic]] : topics[topic]).name;
  const table = [["row", (row) => row], ["id", held.ids], ...(textOf ? [["text", textOf]] : []),
    ["topic", (row) => (held.topic[row] < 0 ? "" : held.topic[row])],
    ["topic_name", (row) => topics[held.topic[row]]?.name ?? ""],
    ["large_topic_name", (row) => (held.topic[row] < 0 ? "" : large(held.topic[row]))],
    ["x", (row) => held.points[2 * row]], ["y", (row) => held.points[2 * row + 1]], ["certainty", (row) => held.certainty[row]]];
  const taken = new Set(table.map(([name]) => name));
  for (const { own: { name, values }, kind, names } of held.columns) {
    table.push([taken.has(name) ? `${name} (column)` : name, (row) => {
      const value = values[row];
      if (kind === "text") return value < 0 ? "" : names[value];
      return value !== value ? "" : kind === "number" ? value : new Date(Math.round(value * DAY)).toISOString().slice(0, 19).replace("T", " ").replace(" 00:00:00", "");
    }]);
  }
  const lines = [table.map(([name]) => name), ...Array.from(rows, (row) => table.map(([, value]) => value(row)))];
  download(new Blob([lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("")], { type: "text/csv" }), "texts.csv");
}

window.parasphere = { about, search, read, glance, select }; // for scripts

// A value for CSV, with an apostrophe before what a spreadsheet would take for a formula.
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function largest(codes, rows) {
  const counts = new Map();
  for (const row of rows) if (codes[row] >= 0) counts.set(codes[row], (counts.get(codes[row]) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SHARES);
}

function factsOf(held, row) {
  const columns = held.columns.map(({ name, kind, names, own }) => [name, shown(kind, own.values[row], names)]);
  const facts = { row, id: visible(held.ids(row)), topic: held.topic[row], columns: columns.filter(([, value]) => value !== null) };
  return held.link ? { ...facts, link: held.link(row) } : facts;
}

function shown(kind, value, names) {
  if (kind === "text") return value < 0 ? null : visible(names[value]);
  if (value !== value) return null;
  if (kind === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
  const time = new Date(Math.round(value * DAY)).toISOString();
  return Number.isInteger(value) ? time.slice(0, 10) : time.slice(0, 16).replace("T", " ");
}

// Position, topics and neighbours of a text that the engine has read; `row` is its row, or -1.
async function view(asked, row) {
  const [held, found] = [await map(), await engine()], { certainty } = asked.posterior;
  const matches = found.search(asked, NEAR + 1), near = matches.filter((match) => match.row !== row).slice(0, NEAR);
  const seen = {
    certainty, rank: below(held.sorted, Math.fround(certainty)) / held.n, unknown: asked.unknown.slice(0, 20).map(visible),
    information: matches.length ? found.prior.information(asked.posterior) : 0,
  };
  const pointOf = (at) => [held.points[2 * at], held.points[2 * at + 1]], weights = near.map(({ cosine }) => Math.max(cosine, 1e-3) ** 4);
  const place = row >= 0 ? pointOf(row) : near.length ? median(near.map((match) => pointOf(match.row)), weights) : null;
  const topics = !matches.length ? [] : row >= 0 ? topicsOf(held, [row], [1]) : topicsOf(held, near.map((match) => match.row), weights);
  return { ...seen, topics, place, matches: await Promise.all(near.slice(0, FOUND).map((match) => matched(asked, match))) };
}

async function matched(asked, { row, cosine, score }) {
  const [held, found, textOf] = [await map(), await engine(), await texts()], text = textOf?.(row) ?? "";
  return { ...factsOf(held, row), similarity: cosine, score, pieces: pieces(text, marksOf(asked, text, found.shares[row], found), EXCERPT) };
}

// The words by which a text matches a query; `share` is that of a word in the offset of the text.
function marksOf(asked, text, share, found) {
  const keys = new Set(asked.terms.map(({ key }) => key)), parts = found.parts(found.tokens(text), share, asked.offset);
  const most = parts.reduce((most_, { part: own }) => Math.max(most_, own), 0);
  return parts.map((token) => {
    if (most > 0 && token.part > FAINT * most) return { ...token, part: token.part / most };
    return { ...token, part: keys.has(found.stemOf(token.word, token.form)) ? SHARED : 0 };
  }).filter((token) => token.part);
}

// The most likely topics of weighted texts.
function topicsOf(held, rows, weights) {
  const { shown_topics, least_share } = held;
  const shares = new Map(), total = weights.reduce((sum, weight) => sum + weight, 0);
  rows.forEach((row, i) => {
    for (let at = shown_topics * row; at < shown_topics * (row + 1); at++) {
      const topic = held.likely[at], share = held.shares[at] * (weights[i] / total);
      if (share > 0) shares.set(topic, (shares.get(topic) || 0) + share);
    }
  });
  const best = [...shares].sort((a, b) => b[1] - a[1]).slice(0, shown_topics);
  return best.filter(([, share]) => share >= least_share).map(([topic, share]) => ({ topic, share }));
}

// The geometric median of points, by Weiszfeld's iteration.
function median(points, weights) {
  const mean = (shares) => {
    const total = shares.reduce((sum, share) => sum + share, 0);
    return [0, 1].map((axis) => points.reduce((sum, point, i) => sum + shares[i] * point[axis], 0) / total);
  };
  let middle = mean(weights);
  for (let i = 0; i < 50; i++) middle = mean(points.map(([x, y], at) => weights[at] / Math.max(Math.hypot(x - middle[0], y - middle[1]), 1e-9)));
  return middle;
}

// How many of some sorted numbers are below another.
function below(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

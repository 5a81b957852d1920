// The panel beside the map: an introduction, the answer to a search, one text, or a selection.

import { count, el, marked, number, per, quoted } from "./dom.js";

const FEW = 10; // words shown at first

export function introduction({ about }) {
  return [
    el("h2", {}, `${count(about.n, "text")} in ${count(about.topics.length, "topic")}`),
    el("p", {}, "Each point is a text; texts about the same thing are close together. Distances between groups mean little."),
    el("ul", { class: "hints" },
      el("li", {}, el("b", {}, "Search"), " by a few words or a whole text: a star shows its place, and here are the nearest texts, and why."),
      el("li", {}, el("b", {}, "Click"), " a point to read its text."),
      el("li", {}, el("b", {}, "Zoom in"), " to see what the large topics are made of."),
      el("li", {}, el("b", {}, "Choose"), " a topic or a filter, or ", el("b", {}, "draw"), " around points, to see what distinguishes them, and to export them.")),
  ];
}

// The columns of a text.
export function columnsOf(item) {
  return item.columns?.length ? el("span", { class: "small facts" }, item.columns.map(([name, value]) => el("span", {}, quoted(name), ": ", quoted(value)))) : null;
}

// The certainty of a text, in words and as a bar.
function certainty(seen) {
  if (!(seen.information > 0)) return el("p", { class: "certainty small" }, "The model knows no word of this text.");
  const surer = seen.rank < 0.005 ? "less than of nearly all texts here" : `more than of ${per(seen.rank)} of the texts here`;
  return el("div", { class: "certainty" },
    el("div", { class: "row" }, el("span", {}, "Certainty"), el("b", {}, seen.certainty.toFixed(2))),
    el("div", { class: "bar", "aria-hidden": "true" }, el("div", { width: `${100 * seen.certainty}%` })),
    el("p", { class: "small" }, `How certain the model is of its meaning: ${surer}.`));
}

function topicsOf(seen, look) {
  if (!seen.topics.length) return null;
  return [el("h3", {}, "Topics"), el("ul", { class: "topics" }, seen.topics.map(({ topic, share }) => el("li", {}, look.topic(topic, per(share)))))];
}

function textItem(item, look, note) {
  return el("li", {},
    el("button", { type: "button", class: "text", "data-row": item.row, onclick: () => look.open(item.row), onmouseenter: () => look.point(item.row), onfocus: () => look.point(item.row), onmouseleave: () => look.point(-1), onblur: () => look.point(-1) },
      el("span", { class: "row" }, look.swatch(item.topic), quoted(item.id, "id grow"), note ? el("span", { class: "note" }, note) : null),
      el("span", { class: "words" }, el("bdi", { dir: "auto" }, item.pieces.length ? marked(item.pieces) : el("i", {}, "(an empty text)"))),
      columnsOf(item)));
}

function matchesOf(seen, look, title) {
  if (!seen.matches.length) return el("p", {}, "No word of this text is known, so no nearest texts can be found.");
  return [
    el("h3", {}, title),
    el("p", { class: "small" }, "Ranked by meaning and shared words together; the number is the similarity of meaning alone."),
    el("ol", { class: "texts" }, seen.matches.map((match) => textItem(match, look, match.similarity.toFixed(2)))),
  ];
}

const unknown = (seen) =>
  seen.unknown.length ? el("p", { class: "small" }, "Words that the model does not know: ", quoted(seen.unknown.join(", "))) : null;

export function found(answer, look) {
  const { filters } = look;
  return [
    el("h2", {}, quoted(answer.text.length > 200 ? `${answer.text.slice(0, 200)} …` : answer.text)),
    answer.place ? el("p", { class: "small" }, el("span", { class: "star", "aria-hidden": "true" }, "★"), " marks its place on the map.") : null,
    unknown(answer),
    matchesOf(answer, look, filters.rows ? `Nearest of the ${number(filters.rows.length)} selected` : "Nearest texts"),
    topicsOf(answer, look), certainty(answer),
  ];
}

export function document_(answer, look, asked) {
  return [
    el("h2", {}, quoted(answer.id, "id")),
    el("p", { class: "small" }, look.swatch(answer.topic), " ", quoted(look.path(answer.topic))),
    columnsOf(answer),
    answer.link ? el("p", {}, el("a", { href: answer.link }, "Go to its page")) : null,
    el("div", { class: "whole", dir: "auto", tabindex: "0", role: "group", "aria-label": "The whole text" }, answer.pieces.length ? marked(answer.pieces) : el("i", {}, "(an empty text)")),
    asked ? el("p", { class: "small" }, "Highlighted: words that match “", quoted(asked.length > 60 ? `${asked.slice(0, 60)} …` : asked), "”") : null,
    unknown(answer), topicsOf(answer, look), certainty(answer), matchesOf(answer, look, "Nearest texts"),
  ];
}

export function selection(answer, name, look) {
  const row = (word) => el("tr", {},
    el("th", { scope: "row" }, quoted(word.word), el("span", { class: "bar", "aria-hidden": "true" }, el("span", { width: `${100 * word.score}%` }))),
    el("td", {}, per(word.inside / answer.count)),
    el("td", {}, per(word.outside / Math.max(1, look.about.n - answer.count))));
  const table = (words) => el("table", { class: "apart" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "word"), el("th", { scope: "col" }, "in these"), el("th", { scope: "col" }, "in others"))),
    el("tbody", {}, words.map(row)));
  const shares = (title, entries) => entries.length ? [el("h3", {}, title), el("ul", { class: "topics" }, entries.map((entry) => el("li", {}, entry)))] : null;
  return [
    el("h2", {}, count(answer.count, "text")),
    el("p", {}, quoted(name)),
    el("p", { class: "actions" }, el("button", { type: "button", id: "export", onclick: () => look.save() }, "Export as CSV")),
    answer.words.length ? [
      el("h3", {}, "Words that distinguish them"),
      table(answer.words.slice(0, FEW)),
      answer.words.length > FEW ? el("details", {}, el("summary", {}, `${answer.words.length - FEW} more words`), table(answer.words.slice(FEW))) : null,
    ] : null,
    shares("Topics", answer.topics.map(({ topic, count: size }) => look.topic(topic, per(size / answer.count)))),
    answer.columns.map((column) => shares(quoted(column.name), column.values.map((value) => look.value(column.name, value.name, per(value.count / answer.count))))),
    el("h3", {}, answer.texts.length < answer.count ? `The ${answer.texts.length} most typical texts` : "Texts, the most typical first"),
    el("ol", { class: "texts" }, answer.texts.map((item) => textItem(item, look))),
  ];
}

// What stands beside the map: an introduction, the answer to a search, one text, or a selection.

import { count, el, marked, number, per, quoted } from "./dom.js";

const FEW = 10; // words that are shown at once

export const topicName = (topic, words = 3) => topic.words.slice(0, words).join(", ") || "(no words)";

export function introduction(about, look) {
  return [
    el("h2", {}, "A map of your texts"),
    el("p", {}, `Each of the ${number(about.n)} points is a text; texts about the same thing lie together. Distances between far groups mean little.`),
    el("ul", { class: "hints" },
      el("li", {}, el("b", {}, "Type"), " a text above to see where it belongs, what is near, and why."),
      el("li", {}, el("b", {}, "Click"), " a point to read its text."),
      el("li", {}, el("b", {}, "Lasso"), " some points, or choose a topic below, to see what sets them apart and to export them.")),
    about.models.map((model, m) => [
      el("h3", {}, count(model.topics.length, "topic"), about.models.length > 1 ? ` by ${model.name}` : " found in them"),
      el("ul", { class: "topics" }, model.topics.map((topic, code) => el("li", {}, look.topic(m, code, topicName(topic, 5), topic.size)))),
    ]),
  ];
}

// How sure a model is of a text, in words and as a bar.
function certainty(seen) {
  const surer = seen.rank < 0.005 ? "less sure than of nearly all texts here" : `surer than of ${per(seen.rank)} of the texts here`;
  return el("div", { class: "certainty" },
    el("div", { class: "row" }, el("span", {}, "Certainty"), el("b", {}, seen.certainty.toFixed(2))),
    el("div", { class: "bar", "aria-hidden": "true" }, el("div", { width: `${100 * seen.certainty}%` })),
    el("p", { class: "small" }, seen.information > 0
      ? `How sure the model is of what this is about: ${surer}.`
      : "This text says nothing that the model knows."));
}

function topicsOf(seen, m, look) {
  if (!seen.topics.length) return null;
  return [
    el("h3", {}, "Topics"),
    el("ul", { class: "topics" }, seen.topics.map(({ topic, share }) => el("li", {}, look.topic(m, topic, topicName(look.about.models[m].topics[topic], 4), per(share))))),
  ];
}

function textItem(item, look, note) {
  const facts = [item.label, item.date].filter(Boolean);
  return el("li", {},
    el("button", { type: "button", class: "text", "data-row": item.row, onclick: () => look.open(item.row), onmouseenter: () => look.point(item.row), onfocus: () => look.point(item.row), onmouseleave: () => look.point(-1), onblur: () => look.point(-1) },
      el("span", { class: "row" }, quoted(item.id, "id"), note ? el("span", { class: "note" }, note) : null),
      el("span", { class: "words" }, el("bdi", { dir: "auto" }, item.pieces.length ? marked(item.pieces) : el("i", {}, "(an empty text)"))),
      facts.length ? el("span", { class: "small" }, facts.map((fact, i) => [i ? " · " : "", quoted(fact)])) : null));
}

function matchesOf(seen, look) {
  if (!seen.matches.length) return el("p", {}, "No word of this text is known, so nothing can be said to be near.");
  return [
    el("h3", {}, "Nearest texts"),
    el("p", { class: "small" }, "Highlighted: the words that made them match. Ranked by meaning and shared words together; the number is the likeness of meaning, 1 for the same and 0 for unrelated texts."),
    el("ol", { class: "texts" }, seen.matches.map((match) => textItem(match, look, match.similarity.toFixed(2)))),
  ];
}

const unknown = (seen) =>
  seen.unknown.length ? el("p", { class: "small" }, "Words that the model does not know: ", quoted(seen.unknown.join(", "))) : null;

// One column per model; their names only if there are two.
function columns(models, look, made) {
  return el("div", { class: models.length > 1 ? "columns" : "" },
    models.map((seen, m) => el("div", { class: "column" }, models.length > 1 ? el("h3", { class: "model" }, look.about.models[m].name) : null, made(seen, m))));
}

export function found(answer, look) {
  return [
    el("h2", {}, "Your text"),
    el("blockquote", { dir: "auto" }, answer.text.length > 400 ? `${answer.text.slice(0, 400)} …` : answer.text),
    columns(answer.models, look, (seen, m) => [
      seen.place ? el("p", {}, el("span", { class: "star", "aria-hidden": "true" }, "★"), " marks its place on the map.") : null,
      certainty(seen), unknown(seen), topicsOf(seen, m, look), matchesOf(seen, look),
    ]),
  ];
}

export function document_(answer, look, asked) {
  const facts = [answer.label, answer.date].filter(Boolean);
  return [
    el("h2", {}, "Text ", quoted(answer.id, "id")),
    facts.length ? el("p", { class: "small" }, facts.map((fact, i) => [i ? " · " : "", quoted(fact)])) : null,
    el("div", { class: "whole", dir: "auto", tabindex: "0", role: "group", "aria-label": "The whole text" }, answer.models[0].pieces.length ? marked(answer.models[0].pieces) : el("i", {}, "(an empty text)")),
    asked ? el("p", { class: "small" }, "Highlighted: what it has to do with “", quoted(asked.length > 60 ? `${asked.slice(0, 60)} …` : asked), "”") : null,
    columns(answer.models, look, (seen, m) => [certainty(seen), unknown(seen), topicsOf(seen, m, look), matchesOf(seen, look)]),
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
  const shares = (list, title, entry) => list.length ? [el("h3", {}, title), el("ul", { class: "topics" }, list.map((item) => el("li", {}, entry(item))))] : null;
  return [
    el("h2", {}, count(answer.count, "text")),
    name ? el("p", {}, quoted(name)) : null,
    el("p", { class: "actions" }, ["csv", "parquet"].map((format) =>
      el("button", { type: "button", "data-export": format, onclick: () => look.save(format) }, `Export as ${format === "csv" ? "CSV" : "Parquet"}`))),
    answer.words.length ? [
      el("h3", {}, "Words that set them apart"),
      table(answer.words.slice(0, FEW)),
      answer.words.length > FEW ? el("details", {}, el("summary", {}, `${answer.words.length - FEW} more words`), table(answer.words.slice(FEW))) : null,
    ] : null,
    answer.topics.map((topics, m) => shares(topics, look.about.models.length > 1 ? `Topics by ${look.about.models[m].name}` : "Topics",
      ({ code, count: size }) => look.topic(m, code, topicName(look.about.models[m].topics[code], 4), per(size / answer.count)))),
    shares(answer.labels, "Labels", ({ code, count: size }) => look.label(code, look.about.labels[code].name, per(size / answer.count))),
    el("h3", {}, answer.texts.length < answer.count ? `The ${answer.texts.length} most typical texts` : "Texts, the most typical first"),
    el("ol", { class: "texts" }, answer.texts.map((item) => textItem(item, look))),
  ];
}

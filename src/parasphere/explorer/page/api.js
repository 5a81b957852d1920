// Requests to the server.

import { download } from "./dom.js";

const KINDS = { points: Float32Array, certainty: Float32Array, topic: Int32Array }; // columns are Float64Array

async function answered(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The explorer does not answer. Is it still running in the terminal?");
  }
  if (response.ok) return response;
  const detail = await response.json().then((body) => body.detail, () => response.statusText);
  throw new Error(typeof detail === "string" ? detail : response.statusText);
}

const asked = (path, question) =>
  answered(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) })
    .then((response) => response.json());

export const about = () => answered("/api/about").then((response) => response.json());
export const numbers = (name) =>
  answered(`/api/arrays/${name}`).then((response) => response.arrayBuffer()).then((bytes) => new (KINDS[name] || Float64Array)(bytes));
export const search = (text, rows) => asked("/api/search", { text, rows: rows && Array.from(rows) }); // among rows, or null
export const read = (row, text) => asked("/api/document", { row, asked: text });
export const glance = (row) => answered(`/api/glance/${row}`).then((response) => response.json());
export const select = (rows) => answered("/api/selection", { method: "POST", body: rows }).then((response) => response.json());

export const save = (rows, format) =>
  answered(`/api/export/${format}`, { method: "POST", body: rows }).then((response) => response.blob()).then((content) => download(content, `texts.${format}`));

// Filters: topics, values of columns, and the lasso. A text is selected if it meets all of them.

const day = (days) => new Date(days * 864e5).toISOString().slice(0, 10);
const shown = (column, value) => (column.kind === "date" ? day(value) : String(+value.toPrecision(6)));

export class Filters {
  // topic: of each text; columns: [{ name, kind, values, ... }], where values are codes, numbers or days of each text
  constructor(topic, columns) {
    Object.assign(this, { topic, columns, n: topic.length });
    this.clear();
  }

  clear() {
    this.topics = null; // { codes: Set, name }
    this.drawn = null; // { mask, name }
    this.limits = this.columns.map(() => null); // a Set of codes, or [low, high]
    this.update();
  }

  update() {
    this.mask = this.rows = null; // all are selected
    if (!this.parts().length) return;
    const { n, topic, topics, drawn } = this, mask = new Uint8Array(n).fill(1);
    if (topics) for (let i = 0; i < n; i++) mask[i] &= topics.codes.has(topic[i]);
    if (drawn) for (let i = 0; i < n; i++) mask[i] &= drawn.mask[i];
    this.limits.forEach((limit, c) => {
      if (!limit) return;
      const { kind, values } = this.columns[c], [low, high] = kind === "text" ? [] : limit;
      for (let i = 0; i < n; i++) mask[i] &= kind === "text" ? limit.has(values[i]) : values[i] >= low && values[i] <= high;
    });
    let count = 0;
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) if (mask[i]) this.rows[count++] = i;
    this.rows = this.rows.slice(0, count);
    this.mask = mask;
  }

  // Each filter in words, and how to remove it.
  parts() {
    const parts = this.columns.map((column, c) => this.limits[c] && {
      text: column.kind === "text" ? words(column, this.limits[c]) : between(column, this.limits[c]), remove: () => { this.limits[c] = null; },
    });
    parts.unshift(this.topics && { text: this.topics.name, remove: () => { this.topics = null; } });
    parts.push(this.drawn && { text: this.drawn.name, remove: () => { this.drawn = null; } });
    return parts.filter(Boolean);
  }

  get name() { return this.parts().map((part) => part.text).join(" · "); }

  draw(rows, name) {
    const mask = new Uint8Array(this.n);
    rows.forEach((row) => { mask[row] = 1; });
    this.drawn = { mask, name };
  }
}

function words(column, codes) {
  const names = [...codes].map((code) => column.choices[code].name);
  return `${column.name}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
}

function between(column, [low, high]) {
  if (low === -Infinity) return `${column.name} ≤ ${shown(column, high)}`;
  return high === Infinity ? `${column.name} ≥ ${shown(column, low)}` : `${column.name} ${shown(column, low)} – ${shown(column, high)}`;
}

// Filters: topics, values of columns, and the lasso. A text is selected if it meets all of them.

const day = (days) => new Date(days * 864e5).toISOString().slice(0, 10);
const shown = (facet, value) => (facet.kind === "date" ? day(value) : String(+value.toPrecision(6)));

export class Filters {
  // topic: of each text; facets: [{ name, kind, values, ... }], where values are codes, numbers or days of each text
  constructor(topic, facets) {
    Object.assign(this, { topic, facets, n: topic.length });
    this.clear();
  }

  clear() {
    this.topics = null; // { codes: Set, name }
    this.drawn = null; // { mask, name }
    this.limits = this.facets.map(() => null); // a Set of codes, or [low, high]
    this.update();
  }

  update() {
    this.mask = this.rows = null; // all are selected
    if (!this.parts().length) return;
    const { n, topic, topics, drawn } = this, mask = new Uint8Array(n).fill(1);
    if (topics) for (let i = 0; i < n; i++) mask[i] &= topics.codes.has(topic[i]);
    if (drawn) for (let i = 0; i < n; i++) mask[i] &= drawn.mask[i];
    this.limits.forEach((limit, f) => {
      if (!limit) return;
      const { kind, values } = this.facets[f], [low, high] = kind === "words" ? [] : limit;
      for (let i = 0; i < n; i++) mask[i] &= kind === "words" ? limit.has(values[i]) : values[i] >= low && values[i] <= high;
    });
    let count = 0;
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) if (mask[i]) this.rows[count++] = i;
    this.rows = this.rows.slice(0, count);
    this.mask = mask;
  }

  // Each filter in words, and how to remove it.
  parts() {
    const parts = this.facets.map((facet, f) => this.limits[f] && {
      text: facet.kind === "words" ? words(facet, this.limits[f]) : between(facet, this.limits[f]), remove: () => { this.limits[f] = null; },
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

function words(facet, codes) {
  const names = [...codes].map((code) => facet.choices[code].name);
  return `${facet.name}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
}

function between(facet, [low, high]) {
  if (low === -Infinity) return `${facet.name} ≤ ${shown(facet, high)}`;
  return high === Infinity ? `${facet.name} ≥ ${shown(facet, low)}` : `${facet.name} ${shown(facet, low)} – ${shown(facet, high)}`;
}

// Reads, compares and ranks texts in the browser as the library does: parasphere/model for vectors,
// parasphere/search for the ranking.

import { strings, varints } from "./pack.js";
import { stem } from "./stem.js";
import { Prior } from "./vmf.js";

const BUSY = 24; // milliseconds before yielding to the page
const CAPITAL = /[\p{Lu}\p{Lt}]/u;

// Returns a function that returns the words of a text, { word, begin, end }, as a Tokenizer does (text/tokens.py).
export function tokenizer({ lowercase, digits, english, min_length: least }) {
  const letter = !english ? "\\p{L}" : lowercase ? "A-Za-z\u0130" : "A-Za-z", // the small letter of U+0130 is an i
    digit = !digits ? "" : english ? "0-9" : "\\p{Nd}";
  const pattern = new RegExp(`[${letter}${digit}][${letter}${digit}${english ? "" : "\\p{M}"}]*`, "gu");
  const small = (character) => (CAPITAL.test(character) ? String.fromCodePoint(character.toLowerCase().codePointAt(0)) : character);
  const folded = (word) => (!lowercase ? word : /^[\x00-\x7f]*$/.test(word) ? word.toLowerCase() : Array.from(word, small).join(""));
  return (text) => {
    const found = [];
    for (const match of text.normalize("NFC").matchAll(pattern)) {
      const word = folded(match[0]);
      if (least <= 1 || [...word].length >= least) found.push({ word, begin: match.index, end: match.index + match[0].length });
    }
    return found;
  };
}

const turn = () => new Promise((resolve) => { setTimeout(resolve); });

export class Engine {
  // Make the engine from search_parts() of searching.py; takes a while, during which the page responds.
  static async of({ facts, arrays }) {
    const engine = new Engine(facts, arrays);
    await engine.compare();
    return engine;
  }

  constructor(facts, arrays) {
    Object.assign(this, facts, arrays);
    this.prior = new Prior(arrays.order, arrays.mean, facts);
    this.tokens = tokenizer(facts.rules);
    this.words = Array.from(arrays.words_sizes.keys(), strings(arrays.words, arrays.words_sizes));
    this.form = new Map(this.words.map((word, form) => [word, form]));
    this.stop = new Set(facts.stop_words);
    this.singles = this.weights.length; // forms that are words of the model; those after them have units in `others`
    this.vectors = this.unitRows(arrays.rows, arrays.finer);
    this.read();
  }

  // The rows of bytes as unit vectors; those of the most frequent words have a second byte each.
  unitRows(rows, finer) {
    const vectors = Float32Array.from(rows), { dim } = this;
    for (let at = 0; at < finer.length; at++) vectors[at] += finer[at] / 256;
    for (let begin = 0; begin < vectors.length; begin += dim) {
      let square = 0;
      for (let at = begin; at < begin + dim; at++) square += vectors[at] * vectors[at];
      const length = Math.sqrt(square);
      for (let at = begin; at < begin + dim; at++) vectors[at] /= length;
    }
    return vectors;
  }

  // Decode the texts of each form, its counts in them, and the forms of each stem.
  read() {
    const sizes = varints(this.sizes), known = this.singles - this.extra, many = this.words.length;
    this.starts = new Uint32Array(many + 1);
    for (let form = 0; form < many; form++) {
      const place = form < known ? form : form - this.extra, there = form < known || form >= this.singles;
      this.starts[form + 1] = this.starts[form] + (there ? sizes[place] : 0);
    }
    this.texts = varints(this.gaps);
    this.counts = varints(this.counts);
    for (let form = 0; form < many; form++) {
      for (let at = this.starts[form], before = -1; at < this.starts[form + 1]; at++) {
        before += this.texts[at] + 1;
        this.texts[at] = before;
        this.counts[at] += 1;
      }
    }
    this.formsOf = [];
    let stems = 0;
    this.stems = Int32Array.from(this.stems, (code) => (code ? code - 2 : stems++)); // -1 for a form without a stem
    this.lengths = new Float64Array(this.n);
    this.stems.forEach((key, form) => {
      if (key < 0) return;
      (this.formsOf[key] ||= []).push(form);
      for (let at = this.starts[form]; at < this.starts[form + 1]; at++) this.lengths[this.texts[at]] += this.counts[at];
    });
    const mean = this.lengths.reduce((sum, length) => sum + length, 0) / (this.n || 1) || 1;
    this.longer = Float32Array.from(this.lengths, (length) => this.k1 * (1 - this.b + (this.b * length) / mean));
  }

  // The units of a form: rows of vectors, or hashes; -1 for an unknown word.
  units(form) { return form < this.singles ? [form] : this.others[form - this.singles]; }

  weight(unit) { return unit >= 0 ? this.weights[unit] : unit <= this.hashed ? this.unknown_weight : 0; }

  // Add the vector of a unit, times a factor, to a sum, from an index on.
  add(unit, factor, sum, begin = 0) {
    const { dim, vectors } = this;
    if (unit >= 0) {
      for (let j = 0, at = unit * dim; j < dim; j++) sum[begin + j] += factor * vectors[at + j];
    } else if (unit <= this.hashed) {
      const step = factor / Math.sqrt(dim), random = splitMix(BigInt(this.hashed - unit));
      for (let j = 0, bits = 0n; j < dim; j += 32) {
        bits = j % 64 ? bits >> 32n : random();
        const some = Number(bits & 0xffffffffn);
        for (let i = 0; i < 32 && j + i < dim; i++) sum[begin + j + i] += (some >>> i) & 1 ? step : -step;
      }
    }
  }

  // The vectors of all texts: sums of words, then unit offsets.
  async compare() {
    const { n, dim } = this, sums = new Float32Array(n * dim), words = new Float64Array(n), row = new Float64Array(dim);
    let began = performance.now();
    const rest = async () => { if (performance.now() - began > BUSY) { await turn(); began = performance.now(); } };
    for (let form = 0; form < this.words.length; form++) {
      if (this.starts[form] === this.starts[form + 1]) continue;
      let weight = 0;
      row.fill(0);
      for (const unit of this.units(form)) { weight += this.weight(unit); this.add(unit, this.weight(unit), row); }
      for (let at = this.starts[form]; weight && at < this.starts[form + 1]; at++) {
        const text = this.texts[at], count = this.counts[at], begin = text * dim;
        words[text] += weight * count;
        for (let j = 0; j < dim; j++) sums[begin + j] += count * row[j];
      }
      if (form % 64 === 0) await rest();
    }
    this.offsets = sums;
    this.shares = new Float32Array(n); // of a word of weight 1 in the offset of a text, for each text
    for (let text = 0; text < n; text++) {
      const own = sums.subarray(text * dim, (text + 1) * dim), { offset, share } = this.offset(own, words[text]);
      own.set(offset);
      this.shares[text] = share;
      if (text % 64 === 0) await rest();
    }
  }

  // The unit offset (or 0) of a text with this sum of words; its posterior; and its share.
  offset(sum, words) {
    const { prior, dim } = this, posterior = prior.posterior(sum, words), { ratio, kappa } = posterior;
    const along = ratio * prior.kappa0 - prior.meanLength0;
    const moved = new Float64Array(dim);
    if (posterior.silent) return { offset: moved, posterior, share: 0 };
    for (let j = 0; j < dim; j++) moved[j] = along * prior.mean[j] + ratio * kappa * sum[j];
    const offset = this.inMetric(moved), length = Math.sqrt(offset.reduce((square, x) => square + x * x, 0));
    for (let j = 0; j < dim; j++) offset[j] /= length || 1;
    return { offset, posterior, share: length ? (ratio * kappa) / length : 0 };
  }

  inMetric(vector) {
    const { whitening, dim } = this;
    if (!whitening) return vector;
    const mapped = new Float64Array(dim);
    for (let i = 0, at = 0; i < dim; i++) {
      let sum = 0;
      for (let j = 0; j < dim; j++) sum += whitening[at++] * vector[j];
      mapped[i] = sum;
    }
    return mapped;
  }

  // A typed text: its words and their forms, its posterior and offset, and its unknown words.
  text(text) {
    return this.bag(this.tokens(text).map((token) => ({ ...token, form: this.form.get(token.word) ?? -1 })));
  }

  // An indexed text, as its words; their order is lost.
  textOf(row) {
    const found = [];
    for (let form = 0; form < this.words.length; form++) {
      let [low, high] = [this.starts[form], this.starts[form + 1]];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.texts[middle] < row) low = middle + 1; else high = middle;
      }
      if (low < this.starts[form + 1] && this.texts[low] === row) for (let i = this.counts[low]; i > 0; i--) found.push({ word: this.words[form], form });
    }
    return this.bag(found);
  }

  bag(found) {
    const sum = new Float64Array(this.dim), unknown = new Set();
    let words = 0, some = false;
    for (const token of found) {
      const units = token.form < 0 ? [-1] : this.units(token.form);
      for (const unit of units) {
        words += this.weight(unit);
        this.add(unit, this.weight(unit), sum);
        some ||= unit >= 0;
      }
      if (units.some((unit) => unit < 0)) unknown.add(token.word);
    }
    return { tokens: found, words: some, unknown: [...unknown], terms: this.terms(found), ...this.offset(sum, words) };
  }

  // The number of the stem of any word; -1 if no text has it.
  stemOf(word, form) {
    if (form >= 0) return this.stems[form];
    if (this.language !== "english" || this.stop.has(word)) return -1;
    if (!this.ofStem) {
      this.ofStem = new Map();
      this.stems.forEach((key, known) => { if (key >= 0) this.ofStem.set(stem(this.words[known]), key); });
    }
    return this.ofStem.get(stem(word)) ?? -1;
  }

  // The texts of a stem, and its counts in them.
  occurrences(key) {
    const found = new Map();
    for (const form of this.formsOf[key]) {
      for (let at = this.starts[form]; at < this.starts[form + 1]; at++) found.set(this.texts[at], (found.get(this.texts[at]) || 0) + this.counts[at]);
    }
    return found;
  }

  // The stems of a query that texts have, with their weights and occurrences (search/bm25.py).
  terms(tokens) {
    const counts = new Map();
    for (const { word, form } of tokens) {
      const key = this.stemOf(word, form);
      if (key >= 0) counts.set(key, (counts.get(key) || 0) + 1);
    }
    const terms = [...counts].map(([key, count]) => {
      const occurrences = this.occurrences(key), idf = Math.log1p((this.n - occurrences.size + 0.5) / (occurrences.size + 0.5));
      return { key, count, occurrences, idf };
    }).filter((term) => term.occurrences.size);
    const norm = Math.sqrt(terms.reduce((sum, { count, idf }) => sum + count * idf * idf, 0));
    return terms.map((term) => ({ ...term, weight: (term.count * term.idf) / norm }));
  }

  // The best texts for a query from text(), best first, among those of a mask: [{ row, cosine, score }].
  search({ offset, words, terms }, k, mask = null) {
    if (!words && !terms.length) return [];
    const { n, dim, offsets } = this, cosines = new Float64Array(n), scores = new Float64Array(n);
    for (const { occurrences, weight } of terms) {
      for (const [text, count] of occurrences) scores[text] += (weight * count * (this.k1 + 1)) / (count + this.longer[text]);
    }
    for (let text = 0, at = 0; text < n; text++) {
      let cosine = 0;
      for (let j = 0; j < dim; j++) cosine += offset[j] * offsets[at++];
      cosines[text] = cosine;
      scores[text] = (1 - this.weightOfWords) * cosine + this.weightOfWords * this.scale * scores[text];
    }
    const rows = mask ? [...mask.keys()].filter((row) => mask[row]) : [...scores.keys()];
    rows.sort((a, b) => scores[b] - scores[a] || a - b);
    return rows.slice(0, k).map((row) => ({ row, cosine: cosines[row], score: scores[row] }));
  }

  // The part of each word of a text in its similarity to another offset; `share` is that of the text.
  parts(tokens, share, other) {
    const axis = this.inMetric(other), row = new Float64Array(this.dim);
    return tokens.map((token) => {
      const form = this.form.get(token.word) ?? -1;
      if (form < 0) return { ...token, form, part: 0 };
      row.fill(0);
      for (const unit of this.units(form)) this.add(unit, this.weight(unit), row);
      return { ...token, form, part: share * row.reduce((sum, x, j) => sum + x * axis[j], 0) };
    });
  }

  // The words that distinguish some texts from the others, by their shares in the log-likelihood ratio, as in parasphere/topics/words.py.
  apart(rows, k) {
    if (rows.length === this.n) return [];
    const chosen = new Uint8Array(this.n), many = this.formsOf.length;
    for (const row of rows) chosen[row] = 1;
    const inside = new Float64Array(many), all = new Float64Array(many);
    this.stems.forEach((key, form) => {
      for (let at = this.starts[form]; key >= 0 && at < this.starts[form + 1]; at++) {
        all[key] += this.counts[at];
        if (chosen[this.texts[at]]) inside[key] += this.counts[at];
      }
    });
    const { smoothing } = this, total = (numbers) => numbers.reduce((sum, x) => sum + x, 0), both = total(all), own = total(inside);
    const added = (smoothing * own) / Math.max(both, 1), sumOwn = own + many * added || 1, sumAll = both + many * smoothing;
    const scores = inside.map((count, key) => {
      const share = (count + added) / sumOwn, score = share * Math.log(share / ((all[key] + smoothing) / sumAll));
      return score === score ? score : 0;
    });
    const best = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b).slice(0, k).filter((key) => scores[key] > 0);
    return best.map((key) => {
      const texts = [...this.occurrences(key).keys()], here = texts.filter((text) => chosen[text]).length;
      return { key, word: this.shortest(key), score: scores[key] / scores[best[0]], inside: here, outside: texts.length - here };
    });
  }

  // The shortest word of the texts with a stem; of several the first alphabetically.
  shortest(key) {
    const words = this.formsOf[key].filter((form) => this.starts[form] < this.starts[form + 1]).map((form) => this.words[form]);
    return words.reduce((best, word) => (word.length < best.length || (word.length === best.length && word < best) ? word : best));
  }

  // Rows in the order of their cosines with the mean of all of them, largest first.
  typical(rows) {
    const { dim, offsets } = this, mean = new Float64Array(dim);
    for (const row of rows) for (let j = 0; j < dim; j++) mean[j] += offsets[row * dim + j];
    const cosine = new Map(Array.from(rows, (row) => {
      let sum = 0;
      for (let j = 0; j < dim; j++) sum += mean[j] * offsets[row * dim + j];
      return [row, sum];
    }));
    return Array.from(rows).sort((a, b) => cosine.get(b) - cosine.get(a));
  }
}

// The 64-bit random numbers that give words without a vector a direction (src/kernels/rows.cpp).
function splitMix(state) {
  const cut = (number) => BigInt.asUintN(64, number);
  return () => {
    state = cut(state + 0x9e3779b97f4a7c15n);
    let bits = cut((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    bits = cut((bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
    return bits ^ (bits >> 31n);
  };
}

// The map: its view, names and marks over the points, and pointer and keys.

import { el } from "./dom.js";
import { arrange, Raster } from "./names.js";
import { Scatter } from "./scatter.js";

const REACH = { mouse: 10, touch: 24, pen: 16 }; // pixels within which a point is hit
const CLOSER = 1.9; // zoom factor to the names of the next finer topics
const FONTS = { coarser: [700, 19], these: [650, 16], finer: [500, 12.5] }; // weight and pixels
const COVER = { coarser: 0.3, these: 1, finer: 0.3 }; // largest share of points under a name
const MOST = { coarser: 40, these: 40, finer: 28 }; // characters of the phrases of a name, if there are several
const LONGEST = 40, WIDE = 18; // characters of a phrase, and of a line if it can be divided
const FAR = { coarser: 60, these: 120, finer: 90 }; // most pixels from the middle of its island, fewer for small names on a narrow map
const FEW = 0.1; // share of a topic's points that must be selected and in view to name it, unless its middle is
const EDGE = 40; // margin in pixels around the whole map, besides the tools
const LATE = 45, SOON = 20; // milliseconds after which a requested frame is late; until which it is soon
const FEWEST = 8000; // least points drawn if frames are late
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// The lines of a name: as many of its phrases as there is room for, divided near the middle.
function linesOf(name, most) {
  const [first, ...more] = name.split(" · ");
  const text = more.reduce((kept, phrase) => (kept.length + phrase.length + 3 <= most ? `${kept} · ${phrase}` : kept), first.length <= LONGEST ? first : `${first.slice(0, LONGEST)}…`);
  if (text.length <= WIDE) return [text];
  const middle = ({ index, 0: gap }) => Math.abs(2 * index + gap.length - text.length);
  const gaps = [...text.matchAll(text.includes(" · ") ? / · /g : / /g)].sort((one, other) => middle(one) - middle(other));
  return gaps.length ? [text.slice(0, gaps[0].index), text.slice(gaps[0].index + gaps[0][0].length)] : [text];
}

export class MapView {
  // tell: { hover(row), pick(row), lasso(rows) }
  constructor(points, topic, tell) {
    Object.assign(this, { topic, tell, levels: [], placed: [], mask: null, theme: "light", plain: false, covers: () => [] });
    this.gl = el("canvas", { "aria-hidden": "true" });
    this.pad = el("canvas", {
      tabindex: "0", role: "application", "aria-roledescription": "map",
      "aria-label": "Map of the texts. Arrow keys move, plus and minus zoom, 0 shows all, Enter reads the text at the cross.",
    });
    this.tip = el("div", { class: "tip", hidden: true });
    this.frame = el("figure", { class: "map" }, this.gl, this.pad, this.tip);
    this.pen = this.pad.getContext("2d");
    this.scatter = new Scatter(this.gl);
    this.scatter.setPoints(points);
    this.n = this.most = points.length / 2;
    this.base = clamp(290 / Math.sqrt(this.n), 2.4, 8);
    this.view = { x: 0, y: 0, k: 1 };
    this.rings = []; // rows near to the query
    this.spot = null; // the position of the query
    this.hovered = this.focus = -1;
    this.path = null; // the lasso while it is drawn
    this.mode = "move";
    this.fingers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.frame);
    if (this.scatter.lost) this.frame.append(el("p", { class: "sorry" }, "This browser has no WebGL 2, so the points cannot be drawn. Searching and reading work."));
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.frame, ratio = Math.min(devicePixelRatio || 1, 2);
    if (!width || !height) return;
    const first = !this.width;
    Object.assign(this, { width, height, ratio });
    for (const canvas of [this.gl, this.pad]) { canvas.width = width * ratio; canvas.height = height * ratio; }
    if (first || this.fitted) this.fit(false); // the whole map stays in view
    this.arrange();
    this.draw();
  }

  whole() {
    const { points } = this.scatter;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < points.length; at += 2) {
      left = Math.min(left, points[at]); right = Math.max(right, points[at]);
      low = Math.min(low, points[at + 1]); high = Math.max(high, points[at + 1]);
    }
    const tools = this.width < 560 ? 78 : 44, key = 34; // what covers the top, and the closed legend at the bottom
    const wide = this.width - 2 * EDGE, tall = this.height - 2 * EDGE - tools - key;
    const k = Math.max(1, Math.min(wide / Math.max(right - left, 1e-3), tall / Math.max(high - low, 1e-3)));
    return { x: (left + right) / 2, y: (low + high) / 2 + (tools - key) / 2 / k, k };
  }

  fit(slowly = true) {
    this.home = this.whole();
    this.go(this.home, slowly);
    this.fitted = true;
  }

  // If frames are late while the map moves, as without a GPU, only some of the points are drawn.
  pace(wait) {
    if (!this.moving) return;
    if (wait > LATE) this.most = Math.max(FEWEST, 0.6 * this.most);
    else if (wait < SOON) this.most = Math.min(this.n, 1.2 * this.most);
  }

  hurry() {
    this.moving = true;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => { this.moving = false; this.arrange(); this.draw(); }, 150);
  }

  go(target, slowly = true) {
    this.fitted = false;
    this.hurry();
    cancelAnimationFrame(this.gliding);
    if (!slowly || calm.matches) { this.view = { ...target }; this.draw(); return; }
    const from = { ...this.view }, began = performance.now();
    const step = (now) => {
      const t = clamp((now - began) / 350, 0, 1), share = t * t * (3 - 2 * t);
      this.view = {
        x: from.x + (target.x - from.x) * share, y: from.y + (target.y - from.y) * share,
        k: from.k * (target.k / from.k) ** share,
      };
      this.hurry();
      this.paint();
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2, slowly = false) {
    const { view, home } = this, k = clamp(view.k * factor, home.k / 3, home.k * 400);
    const [px, py] = this.place(x, y), share = view.k / k;
    this.go({ x: px + (view.x - px) * share, y: py + (view.y - py) * share, k }, slowly);
  }

  // Bring a position into view, if it is not.
  show([x, y]) {
    const [sx, sy] = this.screen(x, y), edge = 60;
    if (sx < edge || sy < edge || sx > this.width - edge || sy > this.height - edge) this.go({ ...this.view, x, y });
  }

  screen(x, y) { return [this.width / 2 + (x - this.view.x) * this.view.k, this.height / 2 - (y - this.view.y) * this.view.k]; }
  place(x, y) { return [this.view.x + (x - this.width / 2) / this.view.k, this.view.y - (y - this.height / 2) / this.view.k]; }
  at(row) { return [this.scatter.points[2 * row], this.scatter.points[2 * row + 1]]; }
  spotOf(row) { return this.screen(...this.at(row)); }
  inView() { return this.scatter.inside([[0, 0], [this.width, 0], [this.width, this.height], [0, this.height]].map(([x, y]) => this.place(x, y))); }
  size() { return this.base * clamp((this.view.k / (this.home?.k || this.view.k)) ** 0.45, 0.8, 6); }

  draw() {
    if (this.waiting) return;
    const asked = performance.now();
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.pace(performance.now() - asked); this.paint(); });
  }

  paint() {
    if (!this.width) return;
    this.scatter.draw(this.view, this.width, this.height, this.size(), this.moving ? this.most : Infinity, this.theme === "dark" ? 0.05 : 0.07);
    const { pen, ratio } = this, style = getComputedStyle(document.documentElement);
    const [ink, ground, accent] = ["--ink", "--ground", "--accent"].map((name) => style.getPropertyValue(name));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.lineJoin = "round";
    this.write(ink, ground);
    this.rings.forEach((row) => this.circle(...this.spotOf(row), this.size() / 2 + 4, accent, 2));
    if (this.hovered >= 0) this.circle(...this.spotOf(this.hovered), this.size() / 2 + 3, ink, 1.5);
    if (this.focus >= 0) this.circle(...this.spotOf(this.focus), this.size() / 2 + 6, accent, 3.5);
    if (this.spot) this.star(...this.screen(...this.spot), accent, ground);
    if (this.path) this.outline(accent);
    if (document.activeElement === this.pad && this.keyed) this.cross(ink);
  }

  // The names of topics at each level, the coarsest first: [[{ name, place, size, colour, codes }, ...], ...].
  setNames(levels) {
    this.levels = levels;
    this.arrange();
  }

  // Place the names of this zoom: those of one level and, where there is room, of its neighbours, each near the
  // middle of its topic, or of the part of it in view.
  arrange() {
    if (!this.width || !this.levels.length) return;
    const { width, height, view, mask, topic, scatter: { points } } = this, radius = this.size() / 2;
    const raster = new Raster(width, height), inside = {};
    for (let i = 0, at = 0; i < this.n; i++, at += 2) {
      if (mask && !mask[i]) continue;
      const x = width / 2 + (points[at] - view.x) * view.k, y = height / 2 - (points[at + 1] - view.y) * view.k;
      if (x < 0 || y < 0 || x > width || y > height) continue;
      raster.add(x, y, radius);
      const sums = (inside[topic[i]] ||= [0, 0, 0]);
      sums[0]++; sums[1] += x; sums[2] += y;
    }
    raster.sum();
    const level = clamp(Math.floor(Math.log(view.k / this.home.k + 1e-6) / Math.log(CLOSER)), 0, this.levels.length - 1);
    const codes = new Set(), texts = new Set(), names = ["these", "coarser", "finer"].flatMap((rank) =>
      (this.levels[level + { coarser: -1, these: 0, finer: 1 }[rank]] || []).flatMap((name) => {
        const [number, sumX, sumY] = name.codes.reduce((sums, code) => sums.map((sum, i) => sum + (inside[code]?.[i] || 0)), [0, 0, 0]);
        const [x, y] = this.screen(...name.place), there = x > 8 && y > 8 && x < width - 8 && y < height - 8;
        if (!number || codes.has(String(name.codes)) || (!(there && !mask) && number < Math.max(3, FEW * name.size))) return [];
        const measured = this.measured(name.name, rank), shown = String(measured.lines);
        if (rank !== "these" && texts.has(shown)) return [];
        codes.add(String(name.codes));
        texts.add(shown);
        return [{ ...name, ...measured, most: COVER[rank], far: rank === "these" ? FAR[rank] : FAR[rank] * Math.min(1, width / 800), ...(there ? { x, y } : { x: sumX / number, y: sumY / number }) }];
      }));
    const frame = this.frame.getBoundingClientRect();
    const taken = this.covers().flatMap((cover) => [...cover.children]).map((child) => child.getBoundingClientRect())
      .map((box) => [box.left - frame.left - 4, box.top - frame.top - 4, box.right - frame.left + 4, box.bottom - frame.top + 4]);
    this.placed = arrange(names, raster, width, height, taken).map((name) => ({ ...name, at: this.place(name.x, name.y) }));
    this.written = this.placed.length;
  }

  // The lines and the size of a name.
  measured(text, rank) {
    const [weight, pixels] = FONTS[rank], size = this.width < 560 ? 0.85 * pixels : pixels, font = `${weight} ${size}px system-ui, sans-serif`;
    const lines = linesOf(text, MOST[rank]);
    this.pen.font = font;
    return { font, lines, tall: 1.18 * size, width: Math.max(...lines.map((line) => this.pen.measureText(line).width)), height: 1.18 * size * lines.length };
  }

  write(ink, ground) {
    const { pen, theme } = this;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const shown = this.placed.map((name) => {
      const [x, y] = this.screen(...name.at);
      return { ...name, toX: x, toY: y, dx: x - name.x, dy: y - name.y, ink: this.plain ? ink : name.colour[`${theme}_text`] };
    });
    for (const { box, dx, dy, toX, toY, ink: own } of shown) {
      const [x, y] = [clamp(toX, box[0] + dx, box[2] + dx), clamp(toY, box[1] + dy, box[3] + dy)];
      if (Math.hypot(toX - x, toY - y) > 16) this.leader(x, y, toX, toY, own);
    }
    for (const { lines, font, tall, box, dx, dy, ink: own } of shown) {
      const middle = (box[0] + box[2]) / 2 + dx;
      pen.font = font;
      lines.forEach((line, i) => {
        const top = box[1] + dy + (i + 0.5) * tall;
        pen.lineWidth = 4;
        pen.strokeStyle = ground;
        pen.globalAlpha = 0.9;
        pen.strokeText(line, middle, top);
        pen.globalAlpha = 1;
        pen.fillStyle = own;
        pen.fillText(line, middle, top);
      });
    }
  }

  leader(x, y, toX, toY, colour) {
    const { pen } = this;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1;
    pen.strokeStyle = colour;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  circle(x, y, radius, colour, width) {
    const { pen } = this;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }

  star(x, y, colour, ground) {
    const { pen } = this;
    pen.beginPath();
    for (let i = 0; i < 10; i++) {
      const radius = i % 2 ? 6 : 14, angle = (Math.PI * i) / 5 - Math.PI / 2;
      pen.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    }
    pen.closePath();
    pen.lineWidth = 4;
    pen.strokeStyle = ground;
    pen.stroke();
    pen.fillStyle = colour;
    pen.fill();
  }

  outline(colour) {
    const { pen } = this;
    pen.beginPath();
    this.path.forEach(([x, y]) => pen.lineTo(...this.screen(x, y)));
    pen.closePath();
    pen.setLineDash([6, 4]);
    pen.lineWidth = 2;
    pen.strokeStyle = colour;
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 0.12;
    pen.fillStyle = colour;
    pen.fill();
    pen.globalAlpha = 1;
  }

  cross(colour) {
    const { pen } = this, [x, y] = [this.width / 2, this.height / 2];
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) { pen.moveTo(x + 4 * dx, y + 4 * dy); pen.lineTo(x + 14 * dx, y + 14 * dy); }
    pen.lineWidth = 2;
    pen.strokeStyle = colour;
    pen.stroke();
  }

  listen() {
    const { pad } = this;
    this.gl.addEventListener("ready", () => this.draw());
    pad.addEventListener("pointerdown", (event) => this.down(event));
    pad.addEventListener("pointermove", (event) => this.moved(event));
    pad.addEventListener("pointerup", (event) => this.up(event));
    pad.addEventListener("pointercancel", (event) => { this.fingers.delete(event.pointerId); this.path = null; this.draw(); });
    pad.addEventListener("pointerleave", () => this.hover(-1));
    pad.addEventListener("wheel", (event) => {
      event.preventDefault();
      const step = event.deltaMode ? 30 : 1;
      this.zoom(Math.exp(-clamp(event.deltaY * step, -300, 300) / 350), event.offsetX, event.offsetY);
    }, { passive: false });
    pad.addEventListener("keydown", (event) => this.typed(event));
    for (const name of ["focus", "blur"]) pad.addEventListener(name, () => { this.keyed = pad.matches(":focus-visible"); this.draw(); });
  }

  down(event) {
    this.pad.setPointerCapture(event.pointerId);
    const here = [event.offsetX, event.offsetY];
    this.fingers.set(event.pointerId, here);
    this.travelled = this.fingers.size > 1 ? Infinity : 0;
    const drawing = (this.mode === "lasso" || event.shiftKey) && this.fingers.size === 1;
    this.path = drawing ? [this.place(...here)] : null;
    this.hover(-1);
  }

  moved(event) {
    const before = this.fingers.get(event.pointerId), here = [event.offsetX, event.offsetY];
    if (!before) { this.hover(this.under(event), here); return; }
    const [dx, dy] = [here[0] - before[0], here[1] - before[1]];
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.fingers.set(event.pointerId, here);
    this.travelled += Math.hypot(dx, dy);
    if (this.path) { this.path.push(this.place(...here)); this.draw(); return; }
    if (this.travelled < 4) return;
    const { view } = this, many = this.fingers.size;
    this.go({ ...view, x: view.x - dx / view.k / many, y: view.y + dy / view.k / many }, false);
    if (others.length === 1) {
      const apart = (place) => Math.hypot(place[0] - others[0][0], place[1] - others[0][1]);
      this.zoom(apart(here) / Math.max(1, apart(before)), (here[0] + others[0][0]) / 2, (here[1] + others[0][1]) / 2);
    }
  }

  up(event) {
    if (!this.fingers.delete(event.pointerId)) return;
    const { path } = this;
    this.path = null;
    if (path && this.travelled >= 12) this.tell.lasso(this.scatter.inside(path));
    else if (this.travelled < 5) this.tell.pick(this.under(event));
    this.draw();
  }

  under(event) {
    const reach = Math.max(REACH[event.pointerType] || 10, this.size() / 2 + 3);
    return this.scatter.nearest(...this.place(event.offsetX, event.offsetY), reach / this.view.k, this.mask);
  }

  hover(row, here) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.pad.classList.toggle("over", row >= 0);
    this.tell.hover(row, this, here);
    this.draw();
  }

  typed(event) {
    const step = 80 / this.view.k, { view } = this;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    this.keyed = true;
    if (moves[event.key]) this.go({ ...view, x: view.x + moves[event.key][0], y: view.y + moves[event.key][1] }, false);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter") this.tell.pick(this.scatter.nearest(view.x, view.y, Infinity, this.mask));
    else return;
    event.preventDefault();
  }
}

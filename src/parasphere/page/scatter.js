// Draws many points on a canvas by WebGL 2.

const GLOW = 34, GLOWING = 4000; // pixels that a glow is wider than its point, and most points with a glow

const VERTEX = `#version 300 es
in vec2 point; in vec4 colour; uniform vec2 scale, shift; uniform float size; out vec4 tint;
void main() { gl_Position = vec4(point * scale + shift, 0., 1.); gl_PointSize = size; tint = colour; }`;
const FRAGMENT = `#version 300 es
precision highp float; in vec4 tint; uniform float size, glow; out vec4 drawn;
void main() {
  float far = 2. * length(gl_PointCoord - .5);
  float alpha = tint.a * (glow > 0. ? step(.3, tint.a) * glow * (1. - smoothstep(0., 1., far)) : 1. - smoothstep(1. - 2. / size, 1., far));
  if (alpha < .002) discard;
  drawn = vec4(tint.rgb * alpha, alpha);
}`;

export class Scatter {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    this.lost = !this.gl;
    if (this.lost) return;
    canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); this.lost = true; });
    canvas.addEventListener("webglcontextrestored", () => { this.lost = false; this.prepare(); canvas.dispatchEvent(new Event("ready")); });
    this.prepare();
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "point");
    gl.bindAttribLocation(program, 1, "colour");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "WebGL failed");
    gl.useProgram(program);
    this.places = Object.fromEntries(["scale", "shift", "size", "glow"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = { points: gl.createBuffer(), colours: gl.createBuffer(), order: gl.createBuffer() };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (this.points) this.setPoints(this.points);
    if (this.colours) this.setColours(this.colours);
    if (this.order) this.setOrder(this.order);
  }

  setPoints(points) { // Float32Array, x and y in turn
    this.points = points;
    this.fill(0, "points", points, 2, this.gl?.FLOAT, false);
  }

  setColours(colours) { // Uint8Array, red, green, blue and alpha in turn
    this.colours = colours;
    this.fill(1, "colours", colours, 4, this.gl?.UNSIGNED_BYTE, true);
  }

  setOrder(order) { // Uint32Array; the last is on top
    this.order = order;
    if (this.lost) return;
    const { gl } = this;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
  }

  fill(place, name, numbers, each, kind, normalized) {
    if (this.lost) return;
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, each, kind, normalized, 0, 0);
  }

  // Draw the points, or only the `most` on top, which are a random sample, as the order is shuffled.
  // Below them, the glow of some points that are not faded makes islands of close points.
  draw(view, width, height, size, most = Infinity, glow = 0) {
    if (this.lost || !this.order || !this.colours) return;
    const { gl, canvas, places } = this, ratio = canvas.width / width;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const scale = [(2 * view.k) / width, (2 * view.k) / height];
    gl.uniform2f(places.scale, ...scale);
    gl.uniform2f(places.shift, -view.x * scale[0], -view.y * scale[1]);
    for (const [number, share, wide] of [[Math.min(most, GLOWING), glow, GLOW], [most, 0, 0]]) {
      const drawn = Math.floor(Math.min(this.order.length, number));
      gl.uniform1f(places.glow, share * Math.min(1, 1500 / drawn) ** 0.6);
      gl.uniform1f(places.size, Math.max(1.5, size * ratio) + wide * ratio);
      gl.drawElements(gl.POINTS, drawn, gl.UNSIGNED_INT, 4 * (this.order.length - drawn));
    }
  }

  // The point nearest to a position, within a distance, in a mask; -1 for none.
  nearest(x, y, within, mask = null) {
    const { points } = this;
    let best = -1, least = within * within;
    for (let i = 0, at = 0; at < points.length; i++, at += 2) {
      const dx = points[at] - x, dy = points[at + 1] - y, far = dx * dx + dy * dy;
      if (far < least && (!mask || mask[i])) { least = far; best = i; }
    }
    return best;
  }

  // The points inside a polygon [[x, y], ...], by the even-odd rule.
  inside(polygon) {
    const { points } = this, found = [];
    const xs = polygon.map((corner) => corner[0]), ys = polygon.map((corner) => corner[1]);
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    for (let i = 0, at = 0; at < points.length; i++, at += 2) {
      const x = points[at], y = points[at + 1];
      if (x < left || x > right || y < low || y > high) continue;
      let odd = false;
      for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
        if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return Uint32Array.from(found);
  }
}

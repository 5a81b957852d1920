// Placement of names: near their islands, over few points, and never over each other.

const CELL = 6; // pixels
const STEPS = [0, 6, 14, 22, 32, 44, 58, 74, 92, 112]; // pixels between a name and the middle of its island
const TURNS = Array.from({ length: 16 }, (_, i) => [Math.cos((i * Math.PI) / 8), Math.sin((i * Math.PI) / 8)]);
const COVERED = 260; // pixels that a name moves away to cover no points

// Which parts of the screen have points: sums over all cells above and to the left.
export class Raster {
  constructor(width, height) {
    this.columns = Math.ceil(width / CELL) + 1;
    this.rows = Math.ceil(height / CELL) + 1;
    this.sums = new Int32Array(this.columns * this.rows);
  }

  add(x, y, radius) {
    const { columns, rows, sums } = this, cell = (value, most) => Math.max(1, Math.min(most - 1, 1 + Math.floor(value / CELL)));
    const [left, right, top, low] = [cell(x - radius, columns), cell(x + radius, columns), cell(y - radius, rows), cell(y + radius, rows)];
    for (let row = top; row <= low; row++) for (let column = left; column <= right; column++) sums[row * columns + column] = 1;
  }

  sum() {
    const { columns, rows, sums } = this;
    for (let row = 1; row < rows; row++) {
      for (let column = 1, at = row * columns + 1; column < columns; column++, at++) sums[at] += sums[at - 1] + sums[at - columns] - sums[at - columns - 1];
    }
  }

  // The share of a box that has points.
  share([left, top, right, low]) {
    const { columns, rows, sums } = this, cell = (value, most) => Math.max(0, Math.min(most - 1, Math.round(value / CELL)));
    const [a, b, c, d] = [cell(left, columns), cell(top, rows), cell(right, columns), cell(low, rows)];
    const area = (c - a) * (d - b);
    return area ? (sums[d * columns + c] - sums[b * columns + c] - sums[d * columns + a] + sums[b * columns + a]) / area : 0;
  }
}

const apart = (one, other) => one[0] >= other[2] || other[0] >= one[2] || one[1] >= other[3] || other[1] >= one[3];

// Place names, the first ones first. Each has { x, y, width, height, most, far }: the middle of its island, the size of
// its text, the largest share of points under it, and its largest distance. Returns those that fit, with their boxes.
export function arrange(names, raster, width, height, taken) {
  const boxes = [...taken], placed = [];
  for (const name of names) {
    let best = null, least = Infinity;
    for (const step of STEPS.filter((pixels) => pixels <= name.far)) {
      for (const [cos, sin] of step ? TURNS : [[0, 0]]) {
        const x = name.x + cos * (step + name.width / 2), y = name.y + sin * (step + name.height / 2);
        const box = [x - name.width / 2, y - name.height / 2, x + name.width / 2, y + name.height / 2];
        if (box[0] < 4 || box[1] < 4 || box[2] > width - 4 || box[3] > height - 4) continue;
        const share = raster.share(box), cost = COVERED * share + step + 8 * Math.abs(cos);
        if (cost < least && share <= name.most && boxes.every((other) => apart(box, other))) { least = cost; best = box; }
      }
      if (least <= step) break; // farther away is no better
    }
    if (!best) continue;
    boxes.push([best[0] - 5, best[1] - 2, best[2] + 5, best[3] + 2]);
    placed.push({ ...name, box: best });
  }
  return placed;
}

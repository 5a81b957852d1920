// The posterior of a text under the model: the equations of parasphere/model/equations.py, with the Bessel functions of
// parasphere/sphere/bessel.py.

const MOST_STEPS = 100, SOLVED = 1e-12;

function polynomial(coefficients, p) {
  let total = 0;
  for (let i = 0; i < coefficients.length; i++) total = total * p + coefficients[i];
  return total;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

export class Prior {
  // order: the constants of the dimension (order_of in bessel.py); mean: mu0; facts: the other numbers of the prior
  constructor(order, mean, facts) {
    [this.dim, this.v, , this.logArea] = order;
    this.lift = this.v - this.dim / 2 + 1; // orders that the series is evaluated above that of the dimension
    const many = (order.length - 4) / 3;
    [this.series, this.slope] = [order.subarray(4, 4 + many), order.subarray(4 + many, 4 + 2 * many)];
    this.mean = mean;
    this.kappa0 = facts.kappa0;
    this.strength = facts.strength ?? Infinity;
    this.cosine = facts.cosine;
    this.newton = facts.newton;
    this.longest = facts.longest;
    this.mostKappa = facts.most_kappa;
    this.meanLength0 = this.meanLength(this.kappa0);
  }

  // A / kappa and 1 - A, of the order that the series is evaluated at, brought down to that of the dimension.
  lengths(kappa, each = () => {}) {
    const { v } = this, h = Math.sqrt(v * v + kappa * kappa), correction = polynomial(this.slope, v / h) / (h * h);
    let quotient = 1 / (h + v) - correction, rest = (v * (v / (h + kappa) + 1)) / (h + v) + kappa * correction;
    for (let j = 0; j < this.lift; j++) {
      const twice = 2 * (v - j);
      quotient = 1 / (twice + kappa * kappa * quotient);
      rest = (twice - kappa * rest) * quotient;
      each(twice * quotient);
    }
    return { quotient, rest };
  }

  meanLength(kappa) { return kappa * this.lengths(kappa).quotient; }

  // A', of what lengths() returns.
  meanLengthSlope(kappa, { quotient, rest }) {
    return Math.max(rest * (1 + kappa * quotient) - (this.dim - 1) * quotient, 1e-300);
  }

  logPartition(kappa) {
    const { v } = this, h = Math.sqrt(v * v + kappa * kappa), ratio = h / v;
    let excess = polynomial(this.series, v / h) - v * Math.log(0.5 + 0.5 * ratio) - 0.5 * Math.log(ratio);
    this.lengths(kappa, (product) => { excess -= Math.log(product); });
    const growth = (kappa * kappa) / (h + v);
    return this.logArea + excess + kappa - (v * (growth + kappa)) / (h + kappa);
  }

  banerjee(length) { return (length * (this.dim - length * length)) / ((1 - length) * (1 + length)); }

  // The inverse of A, by Newton's method on Banerjee's approximation of both sides, which does not cancel near 1.
  concentration(length) {
    const { dim } = this, target = this.banerjee(clamp(length, 0, this.longest));
    let kappa = target;
    for (let i = 0; this.newton && i < 3; i++) {
      const { quotient, rest } = this.lengths(kappa), a = kappa * quotient, square = a * a, y = rest * (1 + a);
      const miss = target * y - a * (dim - square);
      kappa += (miss * y) / ((dim + square * (dim - 3 + square)) * (y - (dim - 1) * quotient));
    }
    return clamp(kappa, 0, this.mostKappa);
  }

  // The word concentration to which EM converges (solver.cpp): m = mu0.s, q = |s|^2, words = l.
  solve(m, q, words) {
    const { kappa0, strength, cosine: rho } = this;
    if (strength === Infinity) return this.concentration(rho);
    if (!(words > 0)) return 0;
    const length = Math.sqrt(q), total = words + strength, cosine0 = m / Math.max(length, 1e-300);
    const sine0 = kappa0 * kappa0 * Math.max(1 - cosine0 * cosine0, 0);
    let now = this.concentration((length + strength * rho) / total), low = 0, high = now;
    for (let step = 0; step < MOST_STEPS && now > 0; step++) {
      const norm = Math.sqrt(Math.max(kappa0 * kappa0 + 2 * kappa0 * now * m + now * now * q, 1e-300));
      const cosine = clamp((kappa0 * m + now * q) / Math.max(norm * length, 1e-300), -1, 1), sine = sine0 / (norm * norm);
      const versine = cosine > 0 ? sine / (1 + cosine) : 1 - cosine;
      const there = this.lengths(norm), mean = norm * there.quotient, r = (mean * cosine * length + strength * rho) / total;
      if (r <= 0) return 0;
      const lack = (Math.max(words - length, 0) + length * (there.rest + mean * versine) + strength * (1 - rho)) / total; // 1 - r
      const rise = (q * (this.meanLengthSlope(norm, there) * cosine * cosine + (mean / norm) * sine)) / total;
      const rest = Math.max(lack * (2 - lack), 1e-300), image = (r * (this.dim - r * r)) / rest, here = this.lengths(now);
      const gap = !this.newton ? clamp(image, 0, this.mostKappa) - now : r > 0.5 ? here.rest - lack : r - now * here.quotient;
      if (gap === 0) return now;
      const slope = this.newton ? rise - this.meanLengthSlope(now, here)
        : ((this.dim - 3 * r * r) / rest + (2 * r * r * (this.dim - r * r)) / (rest * rest)) * rise - 1;
      const floor = gap > 0 ? now : Math.max(0.7 * now, low);
      if (gap > 0) low = now; else high = now;
      const tangent = slope < 0 ? now - gap / slope : -1, sound = tangent > floor && tangent < high;
      const after = sound ? tangent : low > 0 ? Math.sqrt(low * high) : 0.7 * now, left = Math.abs(after - now) / now;
      now = after;
      if ((sound ? left * left : left) <= SOLVED) break;
    }
    return now;
  }

  // The posterior of the direction of a text with this sum of words, of total weight `words`.
  posterior(sum, words) {
    const { mean, kappa0 } = this;
    let m = 0, q = 0;
    for (let j = 0; j < sum.length; j++) { m += mean[j] * sum[j]; q += sum[j] * sum[j]; }
    q = Math.min(q, words * words);
    const kappa = this.solve(m, q, words);
    const concentration = Math.sqrt(Math.max(kappa0 * kappa0 + 2 * kappa0 * kappa * m + kappa * kappa * q, 0));
    const ratio = this.lengths(concentration).quotient, silent = words * kappa === 0;
    return { kappa, concentration, ratio, silent, pull: ratio * (kappa0 * m + kappa * q), certainty: ratio * concentration };
  }

  // Kullback-Leibler divergence of a posterior from the prior: (eta - eta0).E[d] - Phi(kappa') + Phi(kappa0).
  information({ kappa, concentration, silent, pull }) {
    return silent ? 0 : Math.max(0, kappa * pull - this.logPartition(concentration) + this.logPartition(this.kappa0));
  }
}

"""The compiled loop behind :func:`parasphere.model.equations.solve`: word concentrations, document by document.

In numpy a single text would spend its time between calls, and a million texts would need a dozen temporary arrays.
"""

from functools import cache
from typing import Any

from ..compiled import compiled, guarded
from ..sphere import bessel, vmf
from ..sphere.bessel import Order


def _solve_each(
    along: Any, squared: Any, lengths: Any, kappa: Any, k0: float, strength: float, rho: float, order: Order,
    newton: bool, solved: float, most_steps: int, ceiling: float,
) -> None:  # fmt: skip
    """Replace the upper bounds in ``kappa`` by the word concentrations."""
    for i in range(kappa.shape[0]):
        m, q, total = along[i], squared[i], lengths[i] + strength
        length = q**0.5
        cosine0 = m / max(length, 1e-300)
        now = kappa[i] if lengths[i] > 0.0 else 0.0
        low, high = 0.0, now
        for _ in range(most_steps):
            if not now > 0.0:
                break
            norm = max(k0 * k0 + 2.0 * k0 * now * m + now * now * q, 1e-300) ** 0.5
            cosine = min(max((k0 * m + now * q) / max(norm * length, 1e-300), -1.0), 1.0)
            sine2 = k0 * k0 * max(1.0 - cosine0 * cosine0, 0.0) / (norm * norm)
            versine = sine2 / (1.0 + abs(cosine)) if cosine > 0.0 else 1.0 - cosine
            mean = bessel.mean_length(norm, order)
            r = (mean * cosine * length + strength * rho) / total
            if r <= 0.0:  # the words point away
                now = 0.0
                break
            lack = max(lengths[i] - length, 0.0) + length * (bessel.shortfall(norm, order) + mean * versine)
            lack = (lack + strength * (1.0 - rho)) / total
            bend = bessel.mean_length_slope(norm, order) * cosine * cosine + mean / norm * sine2
            rise = q * bend / total
            if newton:
                slope = rise - bessel.mean_length_slope(now, order)
                gap = bessel.shortfall(now, order) - lack if r > 0.5 else r - bessel.mean_length(now, order)
            else:
                rest = max(lack * (2.0 - lack), 1e-300)
                image = r * (order.dim - r * r) / rest
                steep = (order.dim - 3.0 * r * r) / rest + 2.0 * r * r * (order.dim - r * r) / (rest * rest)
                gap, slope = min(max(image, 0.0), ceiling) - now, steep * rise - 1.0
            if gap == 0.0:
                break
            floor = low
            if gap > 0.0:
                low = floor = now
            else:
                high = now
                floor = max(0.7 * now, low)
            after = now - gap / slope if slope < 0.0 else -1.0
            sound = after > floor and after < high
            if not sound:
                after = (low * high) ** 0.5 if low > 0.0 else 0.7 * now
            left = abs(after - now) / now
            now = after
            if (left * left if sound else left) <= solved:
                break
        kappa[i] = now


@cache
def solver() -> Any:
    """Return the compiled loop."""
    bessel.register_formulas()
    door = guarded(along="f8[n]", squared="f8[n]", lengths="f8[n]", kappa="f8[n]")
    return door(compiled(error_model="numpy")(_solve_each))


def solve_each(documents: Any, kappa: Any, prior: Any, dim: int, solved: float, most_steps: int) -> Any:
    """Return the word concentrations of documents, given upper bounds ``kappa``, (n_docs,)."""
    solver()(
        *documents, kappa, float(prior.concentration), float(prior.strength), float(prior.cosine), bessel.order_of(dim),
        prior.method == "newton", solved, most_steps, vmf.MAX_KAPPA,
    )  # fmt: skip
    return kappa

"""The steps of joint learning, beside the same formulas in numpy's float64."""

from typing import Any

import numpy as np
import pytest

from parasphere import _kernels

N_WORDS, N_PIECES = 40, 21


def arguments(dim: int = 20, n_groups: int = 2, n_drawn: int = 30, seed: int = 0) -> dict[str, Any]:
    """Return the arguments of ``learn``, with a field of them all for each field of a tuple."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, size=N_PIECES)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    unit = rng.normal(size=(2, N_WORDS, dim))
    matrix, start = (unit / np.linalg.norm(unit, axis=2, keepdims=True)).astype(np.float32)
    return {
        "words": rng.integers(0, N_WORDS, size=begins[-1]).astype(np.int32),
        "begins": begins,
        "middles": begins[1:] - rng.integers(1, sizes),
        "some": rng.permutation(N_PIECES)[:19],
        "drawn": rng.integers(0, N_WORDS, size=(n_groups, n_drawn)).astype(np.int32),
        "log_q": np.log(rng.dirichlet(np.ones(N_WORDS))).astype(np.float32),
        "matrix": matrix,
        "squares": np.full(N_WORDS, 1e-2, np.float32),
        "weights": rng.uniform(0.5, 2, N_WORDS).astype(np.float32),
        "weight_squares": np.full(N_WORDS, 1e-2, np.float32),
        "mean": start.mean(axis=0) / np.linalg.norm(start.mean(axis=0)),
        "numbers": np.array([8.0, 3.0, 0.0, 0.0, 0.0, 0.0]),
        "start": start,
        "strengths": rng.choice([0.0, 5.0], N_WORDS).astype(np.float32),
        "start_weights": rng.uniform(0.5, 2, N_WORDS).astype(np.float32),
        "pull": 0.01,
    }


def call(a: dict[str, Any], rate: float = 0.5, weigh: bool = True, threads: int = 1) -> tuple[float, ...]:
    pieces = a["words"], a["begins"], a["middles"]
    prior = a["start"], a["strengths"], a["start_weights"], a["pull"]
    return _kernels.learn(
        pieces, a["some"], a["drawn"], a["log_q"], parameters_of(a), prior, rate, weigh, threads
    )  # fmt: skip


def parameters_of(a: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(a[name] for name in ("matrix", "squares", "weights", "weight_squares", "mean", "numbers"))


def judged(a: dict[str, Any], threads: int = 1) -> tuple[float, int]:
    pieces = a["words"], a["begins"], a["middles"]
    return _kernels.judge(pieces, a["some"], a["drawn"], a["log_q"], parameters_of(a), threads)


def copied(a: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in a.items()}


def learned_slowly(a: dict[str, Any], rate: float, weigh: bool) -> tuple[float, int, float, float]:
    """Do in float64 what ``learn`` does; the parameters change."""
    kappa, kappa0 = a["numbers"][:2]
    rows, weights, mean = (a[name].astype(np.float64) for name in ("matrix", "weights", "mean"))
    scaled = kappa * weights[:, None] * rows
    gradient, square, count = np.zeros(rows.shape), np.zeros(len(rows)), np.zeros(len(rows))
    force = kappa * weights
    loss, targets, pulled_all, slopes = 0.0, 0, np.zeros(len(mean)), np.zeros(2)
    n, n_groups = len(a["some"]), len(a["drawn"])
    for g, drawn in enumerate(a["drawn"]):
        shares = np.zeros(len(drawn))
        by_drawn = np.zeros((len(drawn), len(mean)))
        for piece in a["some"][g * n // n_groups : (g + 1) * n // n_groups]:
            context = a["words"][a["begins"][piece] : a["middles"][piece]]
            held = a["words"][a["middles"][piece] : a["begins"][piece + 1]]
            eta = kappa0 * mean + scaled[context].sum(axis=0)
            length = np.linalg.norm(eta)
            d = eta / length
            masses = np.exp(scaled[drawn] @ d - a["log_q"][drawn])
            mine = np.exp(scaled[held] @ d - a["log_q"][held])
            sums = mine + masses.sum()
            loss += float(np.log(sums / mine).sum())
            targets += len(held)
            parts = masses * (1 / sums).sum()
            forces = (mine / sums - 1) * kappa * weights[held]
            pulled = forces @ rows[held] + parts @ scaled[drawn]
            along = pulled @ d
            pulled = (pulled - along * d) / length
            pulled_all += pulled
            slopes += along - kappa0 * mean @ pulled, kappa0 * mean @ pulled
            shares += parts**2
            by_drawn += parts[:, None] * d
            for word in context:
                gradient[word] += force[word] * pulled
                square[word] += force[word] ** 2 * (pulled @ pulled)
            for word, by in zip(held, forces, strict=True):
                gradient[word] += by * d
                square[word] += by**2
            np.add.at(count, np.concatenate([context, held]), 1)
        np.add.at(gradient, drawn, force[drawn, None] * by_drawn)
        np.add.at(square, drawn, force[drawn] ** 2 * shares)
    if rate > 0:
        touched = np.union1d(np.flatnonzero(count), a["drawn"])
        along = (gradient * rows).sum(axis=1)
        if weigh:
            slope = along + a["pull"] * count * np.log(weights / a["start_weights"])
            a["weight_squares"][touched] += (slope**2 / np.maximum(count, 1))[touched]
            steps = np.exp(-0.5 * rate * slope / np.sqrt(a["weight_squares"] + 1e-6))
            a["weights"][touched] *= steps[touched]
        a["squares"][touched] += square[touched]
        step = rate / np.sqrt(a["squares"] + 1e-8)
        moved = rows - step[:, None] * (gradient - along[:, None] * rows)
        moved += (step * a["strengths"] * count)[:, None] * a["start"]
        a["matrix"][touched] = (moved / np.linalg.norm(moved, axis=1, keepdims=True))[touched]
        mean -= 0.01 * rate * kappa0 * (pulled_all - (pulled_all @ mean) * mean)
        a["mean"][:] = mean / np.linalg.norm(mean)
    return loss, targets, *(slopes / n).tolist()


CHANGING = ("matrix", "squares", "weights", "weight_squares", "mean")


@pytest.mark.parametrize("dim", [1, 2, 15, 16, 17, 31, 48, 64, 100, 131])
@pytest.mark.parametrize(("n_groups", "n_drawn"), [(1, 1), (2, 30), (5, 9), (25, 3)])
@pytest.mark.parametrize(("rate", "weigh"), [(0.5, True), (0.2, False), (0.0, True)])
def test_a_step_is_that_of_the_formulas(dim: int, n_groups: int, n_drawn: int, rate: float, weigh: bool) -> None:
    fast = arguments(dim, n_groups, n_drawn)
    slow = copied(fast)
    judged_before = judged(fast)
    found, expected = call(fast, rate, weigh), learned_slowly(slow, rate, weigh)
    assert judged_before == found[:2]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    for name in CHANGING:
        np.testing.assert_allclose(fast[name], slow[name], rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("dim", [16, 100])
def test_the_bits_do_not_depend_on_the_number_of_threads(dim: int) -> None:
    one = arguments(dim, 4)
    several = [copied(one) for _ in range(3)]
    expected = call(one), judged(one)
    for threads, other in zip((2, 3, 16), several, strict=True):
        assert (call(other, threads=threads), judged(other, threads=threads)) == expected
        for name in CHANGING:
            np.testing.assert_array_equal(other[name], one[name])


def test_many_steps_keep_rows_on_the_sphere() -> None:
    given = arguments(24)
    losses = [call(given)[0] for _ in range(60)]
    assert losses[-1] < losses[0] - 5
    np.testing.assert_allclose(np.linalg.norm(given["matrix"], axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", ["matrix", "weights", "mean", "log_q", "numbers", "start", "strengths", "squares"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38, -1.0, 0.0])
def test_any_numbers_are_taken(name: str, value: float) -> None:
    given = arguments()
    given[name][:] = value
    call(given)
    judged(given)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"words": np.full(200, N_WORDS, np.int32)}, "words must be from 0 to below 40, not 40"),
        ({"words": np.full(200, -1, np.int32)}, "words must be from 0 .* not -1"),
        ({"words": np.zeros(5, np.int32)}, "begins and middles must rise, to the 5 words at most"),
        ({"words": np.zeros(200)}, "incompatible function arguments"),
        ({"begins": np.arange(N_PIECES + 1)[::-1].copy()}, "begins and middles must rise"),
        ({"begins": np.full(N_PIECES + 1, -(2**63))}, "begins and middles must rise"),
        ({"begins": np.arange(N_PIECES)}, "an array must have size 22"),
        ({"middles": np.full(N_PIECES, 2**62)}, "begins and middles must rise"),
        ({"middles": np.full(N_PIECES, -1)}, "begins and middles must rise"),
        ({"some": np.array([N_PIECES])}, "some must be from 0 to below 21, not 21"),
        ({"some": np.array([-1])}, "some must be from 0 to below 21, not -1"),
        ({"some": np.array([], np.int64)}, "some and drawn must not be empty"),
        ({"some": np.arange(40)[::2]}, "incompatible function arguments"),
        ({"drawn": np.zeros((0, 3), np.int32)}, "some and drawn must not be empty"),
        ({"drawn": np.zeros((3, 0), np.int32)}, "some and drawn must not be empty"),
        ({"drawn": np.full((2, 3), N_WORDS, np.int32)}, "drawn must be from 0 to below 40"),
        ({"drawn": np.zeros(3, np.int32)}, "incompatible function arguments"),
        ({"log_q": np.zeros(39, np.float32)}, "an array must have size 40"),
        ({"matrix": np.ones((40, 20))}, "incompatible function arguments"),
        ({"matrix": np.ones((40, 0), np.float32)}, "an array must have size 0|matrix must have columns"),
        ({"matrix": np.ones((40, 19), np.float32)}, "an array must have size 19"),
        ({"matrix": np.asfortranarray(np.ones((40, 20), np.float32))}, "incompatible function arguments"),
        ({"squares": np.ones(39, np.float32)}, "an array must have size 40"),
        ({"weights": np.ones(41, np.float32)}, "an array must have size 40"),
        ({"weight_squares": None}, "incompatible function arguments"),
        ({"numbers": np.ones(5)}, "an array must have size 6"),
        ({"start": np.ones((39, 20), np.float32)}, "an array must have size 40"),
        ({"start": np.ones((40, 21), np.float32)}, "an array must have size 20"),
        ({"strengths": np.ones(39, np.float32)}, "an array must have size 40"),
        ({"start_weights": np.ones(39, np.float32)}, "an array must have size 40"),
        ({"pull": "much"}, "incompatible function arguments"),
        ({"mean": np.frombuffer(bytes(80), np.float32)}, "incompatible function arguments"),
    ],
)
def test_a_wrong_call_is_refused(changed: dict[str, Any], message: str) -> None:
    given = arguments() | changed
    before = copied(given)
    with pytest.raises((ValueError, TypeError), match=message):
        call(given)
    for name in CHANGING:
        np.testing.assert_array_equal(given[name], before[name])


def test_wrong_tuples_and_threads_are_refused() -> None:
    given = arguments()
    pieces = given["words"], given["begins"], given["middles"]
    rest = given["some"], given["drawn"], given["log_q"]
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.judge(pieces[:2], *rest, parameters_of(given), 1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.judge(pieces, *rest, None, 1)
    for threads in (0, -1, 2**40):
        with pytest.raises(ValueError, match="threads must be from 1 to 1024"):
            _kernels.judge(pieces, *rest, parameters_of(given), threads)


def test_what_is_only_read_may_be_read_only() -> None:
    given = arguments()
    for name in (*CHANGING, "numbers", "words", "begins", "middles", "some", "drawn", "log_q"):
        given[name].flags.writeable = False
    assert judged(given)[1] > 0

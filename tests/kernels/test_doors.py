"""No call from Python reads or writes outside an array: each argument of each kernel, made wrong in every way."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import _kernels
from parasphere.model.solver import Numbers
from parasphere.sphere.bessel import packed_order
from parasphere.text import Tokenizer
from parasphere.text.tokens import _may_change

N, DIM = 5, 12
OFFSETS = np.array([0, 3, 3, 8])
DATA = np.frombuffer(b"the cat!", np.uint8)
FOLDING = Tokenizer().folding
TABLE = _kernels.WordTable(np.frombuffer(b"thecat", np.uint8), np.array([0, 3, 6]))
RUNS = _kernels.RunTable(np.array([1, 5]), 3)
PRIOR = Numbers(10.0, 5.0, 0.4, True, packed_order(DIM), 0.999)


def _floats(*shape: int) -> np.ndarray:
    return np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)


def _ids() -> np.ndarray:
    return np.array([0, 4, -1, 2, -7, 1], np.int32)


# For each kernel its arguments; those that are written to, and those that may be None, are named after it.
CALLS: dict[str, tuple[Callable[..., Any], Callable[[], dict[str, Any]], str, str]] = {
    "sum_rows": (
        _kernels.sum_rows,
        lambda: {
            "ids": _ids(), "ends": np.array([2, 2, 6]), "matrix": _floats(N, DIM).astype(np.float32),
            "weights": _floats(N), "hashed": 0.5, "sums": np.empty((3, DIM)), "lengths": np.empty(3),
            "squared_norms": np.empty(3), "unknown": np.empty(3, np.int64), "squared_weights": np.empty(3),
        },
        "sums lengths squared_norms unknown squared_weights",
        "weights",
    ),
    "add_hashed": (_kernels.add_hashed, lambda: {"word": -5, "weight": 1.0, "total": np.zeros(DIM)}, "total", ""),
    "count_ids": (_kernels.count_ids, lambda: {"ids": _ids(), "counts": np.zeros(N)}, "counts", ""),
    "unit_combinations": (
        _kernels.unit_combinations,
        lambda: {
            "rows": _floats(N, DIM), "factors": _floats(N), "shift": _floats(DIM), "otherwise": _floats(DIM),
            "out": np.empty((N, DIM)),
        },
        "out",
        "",
    ),
    "map_shifted_rows": (
        _kernels.map_shifted_rows,
        lambda: {
            "rows": _floats(N, DIM), "factors": _floats(N), "shift": _floats(DIM), "matrix": _floats(DIM, DIM),
            "silent": np.zeros(N, bool), "out": np.empty((N, DIM)),
        },
        "out",
        "matrix",
    ),
    "project": (
        _kernels.project,
        lambda: {"rows": _floats(N, DIM), "direction": _floats(DIM), "along": np.empty(N)},
        "along",
        "",
    ),
    "weighted_sum": (
        _kernels.weighted_sum,
        lambda: {"rows": _floats(N, DIM), "weights": _floats(N), "total": np.empty(DIM)},
        "total",
        "",
    ),
    "carry_digits": (_kernels.carry_digits, lambda: {"limbs": np.ones((7, 3), np.int64)}, "limbs", ""),
    "add_bits": (
        _kernels.add_bits,
        lambda: {"bits": _floats(N, 3).view(np.int64), "limbs": np.zeros((66, 3), np.int64)},
        "limbs",
        "",
    ),
    "add_bounded": (
        _kernels.add_bounded,
        lambda: {
            "rows": _floats(N, DIM), "factors": _floats(N), "shares": _floats(N), "common": _floats(DIM),
            "within": np.ones(N, bool), "fine": np.zeros(DIM, np.int64), "finer": np.zeros(DIM, np.int64),
        },
        "fine finer",
        "",
    ),
    "find_powers": (
        _kernels.find_powers,
        lambda: {"rows": _floats(N, DIM), "factors": _floats(N), "powers": np.empty(N, np.int64)},
        "powers",
        "",
    ),
    "split_rows": (
        _kernels.split_rows,
        lambda: {
            "rows": _floats(N, DIM), "factors": _floats(N), "chosen": np.array([4, 0]), "scale": 2.0,
            "halves": np.empty((2, 2 * DIM)),
        },
        "halves",
        "",
    ),
    "solve_each": (
        _kernels.solve_each,
        lambda: {
            "along": _floats(N), "squared": _floats(N), "lengths": _floats(N), "prior": PRIOR, "kappa": np.empty(N)
        },
        "kappa",
        "",
    ),
    "unit_offsets": (
        _kernels.unit_offsets,
        lambda: {
            "sums": _floats(N, DIM), "squared": _floats(N), "lengths": _floats(N), "mean": _floats(DIM),
            "prior": PRIOR, "common": 0.3, "whitening": _floats(DIM, DIM), "out": np.empty((N, DIM)),
        },
        "out",
        "whitening",
    ),
    "apply_formula": (
        _kernels.apply_formula,
        lambda: {"formula": "quotient", "x": _floats(N), "order": packed_order(DIM).copy(), "out": np.empty(N)},
        "out",
        "",
    ),
    "find_beginnings": (
        _kernels.find_beginnings,
        lambda: {
            "data": DATA.copy(), "offsets": OFFSETS.copy(), "beginnings": _may_change(), "found": np.empty(3, np.uint8)
        },
        "found",
        "",
    ),
    "ids_of_texts": (
        _kernels.ids_of_texts,
        lambda: {
            "data": DATA.copy(), "offsets": OFFSETS.copy(), "folding": FOLDING, "table": TABLE, "hashing": True,
            "ids": np.empty(6, np.int32), "ends": np.empty(3, np.int64),
        },
        "ids ends",
        "",
    ),
    "ids_of_words": (
        _kernels.ids_of_words,
        lambda: {
            "data": DATA.copy(), "offsets": OFFSETS.copy(), "table": TABLE, "hashing": True,
            "ids": np.empty(3, np.int32),
        },
        "ids",
        "",
    ),
    "WordTable": (
        _kernels.WordTable,
        lambda: {
            "data": DATA.copy(), "offsets": np.array([0, 3, 8]), "ids": np.array([7, 8], np.int32),
            "repeats": np.empty(2, np.int64),
        },
        "repeats",
        "ids repeats",
    ),
    "WordCounts.add": (
        lambda **arguments: _kernels.WordCounts().add(**arguments),
        lambda: {
            "data": DATA.copy(), "offsets": OFFSETS.copy(), "folding": FOLDING, "ids": np.empty(6, np.int32),
            "ends": np.empty(3, np.int64),
        },
        "ids ends",
        "",
    ),
    "WordCounts.read": (
        lambda **arguments: _counted().read(**arguments),
        lambda: {
            "data": np.empty(6, np.uint8), "offsets": np.empty(3, np.int64), "counts": np.empty(2, np.int64),
        },
        "data offsets counts",
        "",
    ),
    "RunTable": (_kernels.RunTable, lambda: {"runs": np.array([4, 9]), "first": 3}, "", ""),
    "join_phrases": (
        _kernels.join_phrases,
        lambda: {
            "ids": np.array([0, 1, 2, -1], np.int32), "ends": np.array([2, 4]), "n_words": 3, "runs": RUNS,
            "entries": np.array([0, 1, 2, 2, -1], np.int32), "begins": np.empty(4, np.int64),
        },
        "ids ends begins",
        "",
    ),
    "look_up": (
        _kernels.look_up,
        lambda: {
            "nodes": np.array([0, 1, 2, -1], np.int32), "words": np.array([0, 1, 2, -1], np.int32),
            "ends": np.array([2, 4]), "size": 2, "n_words": 3, "runs": RUNS, "longer": np.empty(4, np.int32),
        },
        "longer",
        "",
    ),
    "merge": (
        _kernels.merge, lambda: {"keys": np.array([1, 1, 3]), "counts": np.empty(3, np.int64)}, "keys counts", ""
    ),
    "fill_keys": (
        _kernels.fill_keys,
        lambda: {
            "columns": np.array([[0, 1, -1]], np.int32), "ends": np.array([1, 3]), "keys": np.empty(3, np.int64)
        },
        "keys",
        "",
    ),
    "hash_runs": (
        _kernels.hash_runs,
        lambda: {
            "data": DATA.copy(), "offsets": OFFSETS.copy(), "words": np.array([0, 2, -1], np.int32),
            "ends": np.array([1, 3]), "shortest": 1, "n_columns": 8, "columns": np.empty((2, 3), np.int32),
        },
        "columns",
        "",
    ),
}  # fmt: skip


def _counted() -> Any:
    counts = _kernels.WordCounts()
    counts.add(DATA, OFFSETS, FOLDING, np.empty(6, np.int32), np.empty(3, np.int64))
    return counts


def _wrong(array: np.ndarray, written: bool, optional: bool) -> Iterator[Any]:
    """Yield what must never be taken in place of an array."""
    yield array.astype(np.complex128)
    yield np.zeros(array.shape, np.float16)
    yield array.astype(array.dtype.newbyteorder()) if array.itemsize > 1 else array.astype(np.int16)
    yield array[None]
    yield array[0]
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield array.tolist()
    yield "text"
    yield array.astype(object)
    if not optional:
        yield None
    if array.itemsize > 1:
        unaligned = np.frombuffer(bytearray(array.nbytes + 1), np.uint8)[1:].view(array.dtype).reshape(array.shape)
        unaligned[...] = array
        yield unaligned
    if written:
        frozen = array.copy()
        frozen.flags.writeable = False
        yield frozen


@pytest.mark.parametrize("name", CALLS)
def test_a_right_call_is_taken(name: str) -> None:
    kernel, arguments, _, optional = CALLS[name]
    kernel(**arguments())
    for one in optional.split():
        kernel(**arguments() | {one: None})


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arrays_are_named(name: str) -> None:
    kernel, arguments, written, optional = CALLS[name]
    for argument, value in arguments().items():
        if not isinstance(value, np.ndarray):
            continue
        for wrong in _wrong(value, argument in written.split(), argument in optional.split()):
            with pytest.raises((ValueError, TypeError), match=rf"^{argument} (must|is)") as caught:
                kernel(**arguments() | {argument: wrong})
            assert "\n" not in str(caught.value)


# Arrays whose size is free, or only bounds what others hold.
FREE = {
    "count_ids": "ids counts", "add_hashed": "total", "carry_digits": "limbs", "RunTable": "runs",
    "find_beginnings": "data", "ids_of_texts": "data ids", "ids_of_words": "data", "WordTable": "data",
    "WordCounts.add": "data ids", "sum_rows": "ids", "join_phrases": "ids entries begins ends",
    "hash_runs": "data offsets ends", "look_up": "ends", "fill_keys": "ends keys",
}  # fmt: skip

FREE_AXES = {
    ("hash_runs", "columns", 0),
    ("fill_keys", "columns", 0),
    ("add_bits", "bits", 0),
    ("find_powers", "rows", 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_other_sizes_are_refused(name: str) -> None:
    kernel, arguments, _, _ = CALLS[name]
    for argument, value in arguments().items():
        if not isinstance(value, np.ndarray) or argument in FREE.get(name, "").split():
            continue
        for axis in range(value.ndim):
            for other in (
                np.concatenate([value, value.take([0], axis)], axis),
                value.take(range(value.shape[axis] - 1), axis),
            ):
                if (name, argument, axis) in FREE_AXES:
                    continue
                with pytest.raises(ValueError, match=r"must|lie"):
                    kernel(**arguments() | {argument: np.ascontiguousarray(other)})


def test_too_little_room_is_refused() -> None:
    for name, argument, room in (("ids_of_texts", "ids", 1), ("WordCounts.add", "ids", 1), ("fill_keys", "keys", 2)):
        kernel, arguments, *_ = CALLS[name]
        given = arguments()
        with pytest.raises(ValueError, match=f"{argument} must have room"):
            kernel(**given | {argument: given[argument][:room].copy()})
    kernel, arguments, *_ = CALLS["join_phrases"]
    with pytest.raises(ValueError, match="begins must be empty or have room for 4 units, not 3"):
        kernel(**arguments() | {"begins": np.empty(3, np.int64)})
    with pytest.raises(ValueError, match="entries must have one entry per node, but node 3"):
        kernel(**arguments() | {"entries": np.zeros(3, np.int32)})


offsets = st.lists(
    st.integers(-3, 12) | st.sampled_from([-(2**63), 2**63 - 1, 2**31, -1, 10**12]), min_size=1, max_size=8
).map(lambda numbers: np.array(numbers, np.int64))
ids = st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-4, 6), max_size=8).map(
    lambda numbers: np.array(numbers, np.int32)
)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_wild_indices_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    kernel, arguments, written, _ = CALLS[name]
    arguments_now = arguments()
    for argument, value in arguments_now.items():
        if isinstance(value, np.ndarray) and argument not in written.split() and data.draw(st.booleans()):
            if value.dtype == np.int64:
                drawn = data.draw(offsets)
            elif value.dtype == np.int32 and value.ndim == 1:
                drawn = data.draw(ids)
            else:
                continue
            arguments_now[argument] = np.resize(drawn, value.shape) if len(drawn) else drawn
        elif isinstance(value, int) and not isinstance(value, bool) and data.draw(st.booleans()):
            arguments_now[argument] = data.draw(st.sampled_from([-(2**63), -1, 0, 1, 2**31, 2**62]))
    with contextlib.suppress(ValueError, TypeError):
        kernel(**arguments_now)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(width=64), min_size=5, max_size=5),
    st.sampled_from(
        ["sum_rows", "unit_combinations", "solve_each", "unit_offsets", "split_rows", "add_bounded", "find_powers"]
    ),
)
def test_numbers_that_are_not_finite_do_no_harm(numbers: list[float], name: str) -> None:
    kernel, arguments, *_ = CALLS[name]
    with np.errstate(all="ignore"):
        wild = {
            argument: np.resize(np.array(numbers), value.shape).astype(value.dtype)
            if isinstance(value, np.ndarray) and value.dtype.kind == "f"
            else value
            for argument, value in arguments().items()
        }
        kernel(**wild)
        for number in numbers:
            if name in ("solve_each", "unit_offsets"):
                kernel(**wild | {"prior": PRIOR._replace(concentration=number, strength=number, longest=number)})


def test_wrong_numbers_of_a_prior_are_named() -> None:
    kernel, arguments, *_ = CALLS["solve_each"]
    for prior, said in (
        (None, "prior must be a tuple"),
        ((1.0, 2.0), "prior must be a tuple"),
        (PRIOR._replace(cosine="much"), "the cosine of the prior must be a number"),
        (PRIOR._replace(order=np.ones(3)), "the order of the prior must have size 61"),
    ):
        with pytest.raises(ValueError, match=said):
            kernel(**arguments() | {"prior": prior})
    with pytest.raises(ValueError, match="formula must be the name of one of bessel's formulas, not 'cosine'"):
        CALLS["apply_formula"][0](**CALLS["apply_formula"][1]() | {"formula": "cosine"})


def test_wrong_foldings_are_named() -> None:
    kernel, arguments, *_ = CALLS["ids_of_texts"]
    for folding, said in (
        (None, "folding must be a tuple"),
        (FOLDING._replace(fold=np.zeros(5, np.uint32)), "fold must have size 210048"),
        (FOLDING._replace(min_length="long"), "min_length must be a whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            kernel(**arguments() | {"folding": folding})


def test_ctrl_c_stops_a_long_loop() -> None:
    text = np.full(400_000_000, ord(" "), np.uint8)
    ids, ends = np.empty(1, np.int32), np.empty(1, np.int64)

    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    def read_often() -> None:
        for _ in range(100):
            _kernels.ids_of_texts(text, np.array([0, len(text)]), FOLDING, TABLE, False, ids, ends)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            read_often()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

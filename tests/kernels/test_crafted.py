"""Wrong calls of every compiled loop: each returns, or raises an error whose message is a sentence; none crashes.

Each function and class of the module has an honest call here. Some of its arguments are then replaced: by other things,
types, shapes, orders in memory, sizes and numbers, or by the memory of another argument. PARASPHERE_CRAFTED is the
number of calls in all; PARASPHERE_CRAFTED_TRACE=1 prints each before it is tried, which tells which one crashed.
"""

import array
import faulthandler
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from parasphere import _kernels
from parasphere.sphere import bessel

CALLS = int(os.environ.get("PARASPHERE_CRAFTED") or 4000)
TRACE = bool(os.environ.get("PARASPHERE_CRAFTED_TRACE"))
SANITIZED = bool(os.environ.get("PARASPHERE_TEST_KERNELS"))
STUCK_SECONDS = 60

Call = tuple[Callable[..., Any], list[Any]]
HONEST: dict[str, Callable[[], Call]] = {}

I4, I8, F4, F8 = np.int32, np.int64, np.float32, np.float64


def honest(name: str) -> Callable[[Callable[[], list[Any]]], Callable[[], list[Any]]]:
    """Register the arguments of an honest call of a function or class."""

    def register(arguments: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
        HONEST[name] = lambda: (getattr(_kernels, name), arguments())
        return arguments

    return register


def method(name: str) -> Callable[[Callable[[], tuple[Any, list[Any]]]], Callable[[], tuple[Any, list[Any]]]]:
    """Register an object, and the arguments of an honest call of a method, or of a property of it."""

    def register(build: Callable[[], tuple[Any, list[Any]]]) -> Callable[[], tuple[Any, list[Any]]]:
        def call() -> Call:
            owner, arguments = build()
            return getattr(getattr(_kernels, name.split(".")[0]), name.split(".")[1]), [owner, *arguments]

        HONEST[name] = call
        return build

    return register


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


# ---------------------------------------------------------------------------------- honest calls


STARTS, WORDS = np.array([0, 3, 5, 8]), np.array([0, 1, 2, 1, 2, 0, 1, 2], I4)


@honest("find_rare")
def find_rare() -> list[Any]:
    return [STARTS.copy(), np.full(8, 0.57), 0.8, np.zeros(3, I8), np.zeros(8, F4)]


@honest("find_pairs")
def find_pairs() -> list[Any]:
    postings = np.array([0, 2, 5, 8]), np.array([0, 2, 0, 1, 2, 0, 1, 2], I4), np.ones(8, F4)
    return [STARTS.copy(), WORDS.copy(), np.full(8, 0.57), STARTS[:-1].copy(), np.ones(8, F4), postings, 0.8, 0,
            np.zeros((9, 2), I8), np.zeros(9)]  # fmt: skip


@honest("nearest_in_cells")
def nearest_in_cells() -> list[Any]:
    cells, order, ends = np.array([[0, 1]] * 6), np.arange(6)[::-1].copy(), np.array([0, 2, 6])
    return [floats(6, 9).astype(F4), cells, order, ends, np.zeros((6, 3), I8)]


@honest("attract_and_repel")
def attract_and_repel() -> list[Any]:
    return [floats(6, 2), np.array([0, 1, 2]), np.array([3, 4, 5]), np.ones(3), 4, 1.5, 7]


def joint() -> list[Any]:
    rows = floats(8, 5).astype(F4)
    numbers = np.array([8.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    parameters = (rows, np.ones(8, F4), np.ones(8, F4), np.ones(8, F4), rows[0].copy(), numbers)
    pieces = np.array([0, 1, 2, 3, 4, 5, 6, 7, 0], I4), np.array([0, 3, 6, 9]), np.array([2, 5, 7])
    drawn = np.array([[1, 2, 3], [4, 5, 6]], I4)
    return [pieces, np.array([0, 2, 1]), drawn, np.full(8, -2.0, F4), parameters]


@honest("learn")
def learn() -> list[Any]:
    prior = floats(8, 5).astype(F4), np.ones(8, F4), np.ones(8, F4), 0.1
    return [*joint(), prior, 0.5, True, 2]


@honest("judge")
def judge() -> list[Any]:
    return [*joint(), 2]


@honest("cut")
def cut() -> list[Any]:
    ids, ends = np.arange(14, dtype=I4) % 10, np.array([0, 10, 11, 11, 14])
    return [ids, ends, np.arange(4), np.ones(10, F4), 4, 2, 0.25, np.array([7], np.uint64), np.zeros(14, I4),
            np.zeros(8, I8), np.zeros(7, I8)]  # fmt: skip


@honest("draw")
def draw() -> list[Any]:
    return [np.arange(7, dtype=I4), np.array([7], np.uint64), np.zeros(20, I4)]


def terms_and_postings() -> list[Any]:
    terms = np.array([1, 3]), np.array([0, 1, 2], I4), floats(3)
    postings = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 3, 2], I4), np.ones(5, np.uint16), np.ones(5, F4)
    return [terms, postings]


@honest("add_word_scores")
def add_word_scores() -> list[Any]:
    return [*terms_and_postings(), 2.2, 0.5, 0, np.array([0, 2, 4]), np.zeros((2, 5), F4), 5]


@honest("word_scores")
def word_scores() -> list[Any]:
    return [*terms_and_postings(), 2.2, np.array([[0, 1, 4], [3, 2, 1]]), np.zeros((2, 3))]


@honest("keep_best")
def keep_best() -> list[Any]:
    return [floats(2, 40).astype(F4), 40, 3, np.full((2, 3), -np.inf, F4), np.full((2, 3), -1)]


@honest("sum_rows")
def sum_rows() -> list[Any]:
    ids = np.array([0, 1, -1, -7, 3, 2, 2], I4)
    return [ids, np.array([2, 2, 7]), floats(4, 9).astype(F4), np.ones(4), 0.5, np.zeros((3, 9)), np.zeros(3),
            np.zeros(3), np.zeros(3, I8), np.zeros(3)]  # fmt: skip


@honest("add_hashed")
def add_hashed() -> list[Any]:
    return [-9, 0.5, np.zeros(70)]


@honest("count_ids")
def count_ids() -> list[Any]:
    return [np.array([0, 3, -1, 3], I4), np.zeros(4)]


@honest("unit_combinations")
def unit_combinations() -> list[Any]:
    return [floats(3, 9), np.ones(3), floats(9), floats(9), np.zeros((3, 9))]


@honest("map_shifted_rows")
def map_shifted_rows() -> list[Any]:
    return [floats(3, 9), np.ones(3), floats(9), floats(9, 9), np.array([True, False, False]), np.zeros((3, 9))]


@honest("project")
def project() -> list[Any]:
    return [floats(3, 9).astype(F4), floats(9), np.zeros(3)]


@honest("weighted_sum")
def weighted_sum() -> list[Any]:
    return [floats(3, 9).astype(F4), floats(3), np.zeros(9)]


@honest("outer_products")
def outer_products() -> list[Any]:
    return [floats(3, 9).astype(F4), floats(3), np.zeros((9, 9))]


@cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return a table of letters, folded to small ones, and one of pairs of bytes; both are read-only."""
    fold, beginnings = np.zeros(0x33480, np.uint32), np.zeros(65536, np.uint8)
    for code in range(0x250):
        if chr(code).isalnum() and len(chr(code).lower()) == 1:
            fold[code] = ord(chr(code).lower())
    fold[0x301] = 0x301 | 1 << 31
    beginnings[[0xCC81, 0xE4B8]] = 1, 0x80
    for table in (fold, beginnings):
        table.flags.writeable = False
    return fold, beginnings


def texts() -> list[Any]:
    return ["North ", "", "new-york, the ", "Äpfel e\u0301té 中文 x"]


def table_parts() -> list[Any]:
    data = np.frombuffer(bytearray(b"northnewyork"), np.uint8)
    return [data, np.array([0, 5, 8, 12]), np.array([4, -2, 6], I4), np.zeros(3, I8)]


def folding() -> tuple[Any, ...]:
    return tables()[0], True, True, 1


HONEST["WordTable"] = lambda: (_kernels.WordTable, table_parts())
HONEST["WordCounts"] = lambda: (_kernels.WordCounts, [])


@method("WordTable.__len__")
@method("WordTable.__reduce__")
def of_a_table() -> tuple[Any, list[Any]]:
    return _kernels.WordTable(*table_parts()), []


def counted() -> Any:
    counts = _kernels.WordCounts()
    counts.add(texts(), folding(), np.zeros(40, I4), np.zeros(4, I8))
    return counts


@method("WordCounts.__len__")
def of_counts() -> tuple[Any, list[Any]]:
    return counted(), []


@method("WordCounts.add")
def add() -> tuple[Any, list[Any]]:
    return counted(), [texts(), folding(), np.zeros(40, I4), np.zeros(4, I8)]


@method("WordCounts.read")
def read() -> tuple[Any, list[Any]]:
    counts = counted()
    return counts, [np.zeros(counts.n_bytes, np.uint8), np.zeros(len(counts) + 1, I8), np.zeros(len(counts), I8)]


@honest("find_beginnings")
def find_beginnings() -> list[Any]:
    return [texts(), tables()[1], np.zeros(4, np.uint8)]


@honest("ids_of_texts")
def ids_of_texts() -> list[Any]:
    return [texts(), folding(), _kernels.WordTable(*table_parts()), True, np.zeros(40, I4), np.zeros(4, I8)]


@honest("ids_of_words")
def ids_of_words() -> list[Any]:
    return [texts(), _kernels.WordTable(*table_parts()), True, np.zeros(4, I4)]


def prior_numbers() -> tuple[Any, ...]:
    return 5.0, 0.7, 0.4, True, np.array(bessel.order_of(9)), 0.99


@honest("solve_each")
def solve_each() -> list[Any]:
    return [floats(3), np.ones(3) * 9, np.full(3, 4.0), prior_numbers(), np.zeros(3)]


@honest("posteriors")
def posteriors() -> list[Any]:
    return [floats(3, 9), np.ones(3) * 9, np.full(3, 4.0), floats(9), prior_numbers(), np.zeros(3), np.zeros(3),
            np.zeros((3, 9))]  # fmt: skip


@honest("apply_formula")
def apply_formula() -> list[Any]:
    return ["mean_length", np.linspace(0, 50, 9), prior_numbers()[4], np.zeros(9)]


@honest("scan_text")
def scan_text() -> list[Any]:
    data = bytearray(b"sea 1 2.5 -3e4\n\nlake 123456789.123456789 1 x\nto 4 5 6\n")
    return [np.frombuffer(data, np.uint8), np.zeros((4, 3), F4), np.zeros((4, 3), I8), np.zeros(4, I8),
            np.zeros(4, bool)]  # fmt: skip


@honest("scan_binary")
def scan_binary() -> list[Any]:
    data = b"".join(word + b" " + bytes(range(12)) + b"\n" for word in (b"sea", b"lake", b"up"))
    return [np.frombuffer(bytearray(data), np.uint8), np.zeros((4, 12), np.uint8), np.zeros((4, 2), I8)]


@honest("first_not_unit")
def first_not_unit() -> list[Any]:
    return [np.eye(5, 7, dtype=F4)]


@honest("normalise")
def normalise() -> list[Any]:
    return [floats(9, 5).astype(F4), np.zeros(9)]


# ------------------------------------------------------------------------------------ wrong calls


class Odd:
    """Something that says nothing of what it is."""

    def __len__(self) -> int:
        return -1

    def __float__(self) -> float:
        raise ValueError("this number does not know what it is")

    def __index__(self) -> int:
        raise TypeError("this whole number does not know what it is")


HUGE = [2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 1000, -9, *HUGE, *(-number for number in HUGE), 0.5, -0.5, 1e-320, 1e300, -1e300,
           float("nan"), float("inf"), -float("inf"), True, np.float32(2), np.int8(3), np.uint64(2**63)]  # fmt: skip
THINGS = [None, "x", "", "\ud800", b"1 2\n", bytearray(9), [], [1.0], {}, (), (1, 2), object, Odd(), range(3), 1j,
          memoryview(b"abcdefgh"), memoryview(bytearray(16)).cast("d"), memoryview(b"ab\0\0").cast("I", (1, 1)),
          array.array("q", [0, 1]), array.array("f"), np.int64(3), np.array("word"), np.array([None, 1]),
          np.array(["a", "bc"]), np.zeros(3, "datetime64[s]"), np.zeros(3, [("x", "i4")]), np.zeros(3, np.float16),
          np.zeros(3, np.longdouble), np.zeros(3, complex), np.zeros((2, 3), ">f8"), np.ma.zeros(3)]  # fmt: skip
KINDS = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c16", ">f4", ">f8", ">i4", ">i8"]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e30, -1e30, 1e-30, 5e-324, 1e300]


def another_kind(values: np.ndarray, random: Random) -> Any:
    with np.errstate(all="ignore"):
        return values.astype(random.choice(KINDS))


def another_view(values: np.ndarray, random: Random) -> Any:
    """Return the same bytes as numbers of another type."""
    kind = np.dtype(random.choice(KINDS))
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return flat[: flat.size // kind.itemsize * kind.itemsize].view(kind)


def another_shape(values: np.ndarray, random: Random) -> Any:
    match random.randrange(5):
        case 0:
            return values.reshape(random.sample([*values.shape, 1], values.ndim + 1))
        case 1:
            return values.reshape(-1)
        case 2:
            return values.reshape(values.shape[::-1])
        case 3:
            return values.reshape(-1)[0:1].reshape(())
        case _:
            return np.ascontiguousarray(values.T)


def another_size(values: np.ndarray, random: Random) -> Any:
    axis = random.randrange(values.ndim)
    size = random.choice([0, 1, values.shape[axis] - 1, values.shape[axis] + 1, 2 * values.shape[axis], 70, 3000])
    return np.resize(values, (*values.shape[:axis], max(size, 0), *values.shape[axis + 1 :]))


def without_memory(values: np.ndarray, random: Random) -> Any:
    """Return an array of many numbers that takes no memory: all are the same, or there is an axis of size 0."""
    huge = random.choice([2**20, 2**31, 2**32 + 1, 2**40, 2**52])
    if random.random() < 0.5:
        return np.broadcast_to(values.reshape(-1)[:1], (huge,) if values.ndim == 1 else random.choice(
            [(huge, *values.shape[1:]), (1, huge), (huge, 1)]))  # fmt: skip
    # A kernel may want memory for one row although there is none. Sanitizers end the process where it cannot be had.
    wide = min(huge, 2**20) if SANITIZED else huge
    return np.empty(random.choice([(huge, 0), (0, wide)]), values.dtype)


def another_order(values: np.ndarray, random: Random) -> Any:
    match random.randrange(5):
        case 0:
            return np.repeat(values, 2, axis=-1)[..., ::2]
        case 1:
            return np.repeat(values, 2, axis=0)[::2]
        case 2:
            return np.asfortranarray(values)
        case 3:
            return values[::-1]
        case _:  # not aligned
            raw = np.zeros(values.nbytes + 1, np.uint8)
            raw[1:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
            return raw[1:].view(values.dtype).reshape(values.shape)


def read_only(values: np.ndarray, random: Random) -> Any:
    values = values.copy()
    values.flags.writeable = False
    return values


def other_numbers(values: np.ndarray, random: Random) -> Any:
    """Replace some numbers, or all."""
    values = values.copy()
    flat = values.reshape(-1)
    places = range(flat.size) if random.random() < 0.3 else random.choices(range(flat.size), k=random.randint(1, 3))
    same = random.random() < 0.3
    for place in places:
        if values.dtype.kind == "b":
            flat.view(np.uint8)[place] = random.choice([0, 1, 2, 255])
        elif values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                flat[place] = random.choice(FLOATS)
        else:
            limits = np.iinfo(values.dtype)
            near = [int(flat[place]) + step for step in (-2, -1, 1, 2)]
            odd = [0, 1, -1, -2, -3, 5, 9, 10, 100, 2**20, limits.max, limits.min, limits.max // 2, 2**40, *near]
            flat[place] = min(max(random.choice(odd), limits.min), limits.max)
    if same:
        flat[:] = flat[0]
    return values


def other_order_of_numbers(values: np.ndarray, random: Random) -> Any:
    if random.random() < 0.5:
        return np.ascontiguousarray(values[::-1])
    return np.random.default_rng(random.randrange(99)).permutation(values)


WAYS: list[Callable[[np.ndarray, Random], Any]] = [
    another_kind, another_view, another_shape, another_size, another_size, without_memory, another_order, read_only,
    other_numbers, other_numbers, other_numbers, other_order_of_numbers,
]  # fmt: skip


def other_texts(texts: list[Any], random: Random) -> Any:
    """Return other texts, in a list or a tuple."""
    odd = ["", "\ud800", "e\u0301\udfff", "x" * 2000, "\0", "中 " * 40, "north"]
    match random.randrange(4):
        case 0:
            return [*texts, random.choice([*THINGS, *NUMBERS])]
        case 1:
            return random.sample(texts, len(texts) - 1)
        case 2:
            return (*texts[1:], random.choice(odd))
        case _:
            return [random.choice(odd) for _ in texts]


def replacement(value: Any, random: Random) -> Any:
    if random.random() < 0.12:
        return random.choice(THINGS)
    if random.random() < 0.04:
        return random.choice(NUMBERS)
    if isinstance(value, np.ndarray) and value.ndim and 0 < value.size < 10**6 and value.dtype.kind in "fiub":
        return random.choice(WAYS)(value, random)
    if isinstance(value, tuple):
        return random.choice([value[:-1], (*value, value[0]), list(value), value[::-1], value[:1] * len(value)])
    if isinstance(value, list):
        return other_texts(value, random)
    if isinstance(value, bool | int | float):
        return random.choice(NUMBERS)
    if isinstance(value, str):
        return random.choice(["", "entropy", "quotient", "log_excess", "log_partition", "concentration", "e\0", "é"])
    return random.choice([*THINGS, type(value).__new__(type(value)) if isinstance(value, OWN) else None])


OWN = tuple(thing for thing in vars(_kernels).values() if isinstance(thing, type))
Place = tuple[int, ...]


def places_of(arguments: list[Any]) -> list[Place]:
    """Return where the arguments are, and the fields of those that are tuples."""
    fields = [(i, k) for i, value in enumerate(arguments) if isinstance(value, tuple) for k in range(len(value))]
    return [*((i,) for i in range(len(arguments))), *fields]


def at(arguments: list[Any], place: Place) -> Any:
    value = arguments
    for i in place:
        value = value[i]
    return value


def put(arguments: list[Any], place: Place, value: Any) -> None:
    if len(place) == 2:
        fields = list(arguments[place[0]])
        fields[place[1]] = value
        value = tuple(fields)
    arguments[place[0]] = value


def entwine(arguments: list[Any], random: Random) -> None:
    """Let two arrays, of the types and shapes that are due, be the same memory."""
    arrays = [place for place in places_of(arguments) if isinstance(at(arguments, place), np.ndarray)]
    if len(arrays) < 2:
        return
    pair = random.sample(arrays, 2)
    values = [at(arguments, place) for place in pair]
    if any(value.dtype.hasobject or not value.dtype.isnative for value in values):
        return
    memory = np.zeros(max(value.nbytes for value in values), np.uint8)
    for value in values:
        memory[: value.nbytes] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    for place, value in zip(pair, values, strict=True):
        put(arguments, place, memory[: value.nbytes].view(value.dtype).reshape(value.shape))


def craft(arguments: list[Any], random: Random) -> None:
    if random.random() < 0.2:
        entwine(arguments, random)
    changed: set[int] = set()  # what was replaced once is not made still larger
    for _ in range(random.choice([0, 1, 1, 1, 1, 2, 3])):
        places = [place for place in places_of(arguments) if place[0] not in changed]
        if places:
            place = random.choice(places)
            put(arguments, place, replacement(at(arguments, place), random))
            changed.add(place[0])
    if random.random() < 0.03:
        del arguments[random.randrange(len(arguments) + 1) :]
    if random.random() < 0.01:
        arguments.append(random.choice(THINGS))


class StoppedError(Exception):
    """A call has taken its time: it was asked for much work, and is interrupted as by Ctrl-C."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGALRM, stop)
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except StoppedError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def is_sentence(message: str) -> bool:
    return len(message.split()) >= 4 and message[0].isprintable() and "std::" not in message and "_M_" not in message


def try_case(name: str, number: int) -> None:
    """Try a call; raise if it raises anything but an error that says what is wrong."""
    random = Random(f"{name} {number}")
    function, arguments = HONEST[name]()
    craft(arguments, random)
    if TRACE:
        print(name, number, [getattr(value, "shape", value) for value in arguments], file=sys.__stderr__, flush=True)
    try:
        with at_most(0.3), warnings.catch_warnings(action="ignore"):
            function(*arguments)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        plain = type(error) in (ValueError, TypeError, OverflowError, MemoryError, UnicodeEncodeError)
        if not plain or not is_sentence(str(error)):
            raise AssertionError(f"{type(error).__name__} says {str(error)!r}") from error


def names() -> set[str]:
    """Return the names of all that the module has, methods of classes included, but for what every object has."""
    found = set()
    for name, thing in vars(_kernels).items():
        if isinstance(thing, type):
            found |= {f"{name}.{own}" for own in vars(thing) if callable(getattr(thing, own))}
        if not name.startswith("__"):
            found.add(name)
    return {name for name in found if not name.endswith(("__init__", "__new__"))}


def test_nothing_of_the_module_is_forgotten() -> None:
    assert names() == set(HONEST)


@pytest.mark.parametrize("name", HONEST)
def test_honest_calls_are_answered(name: str) -> None:
    function, arguments = HONEST[name]()
    function(*arguments)


@pytest.mark.parametrize("name", HONEST)
def test_wrong_calls_are_answered_by_sentences(name: str) -> None:
    for number in range(-(-CALLS // len(HONEST))):
        try:
            try_case(name, number)
        except Exception as error:
            error.add_note(f"to try it again: try_case({name!r}, {number})")
            raise


@pytest.mark.parametrize("kind", OWN)
def test_an_object_that_was_not_made_is_refused(kind: type) -> None:
    with pytest.raises(TypeError), warnings.catch_warnings(action="ignore"):  # nanobind warns, too
        len(kind.__new__(kind))


def test_calls_that_take_long_can_be_stopped() -> None:
    """Or else the calls above would not end."""
    points, heads, tails, every, _, *rest = attract_and_repel()
    with at_most(0.3):
        _kernels.attract_and_repel(points, heads, tails, every, 2**62, *rest)
        pytest.fail("this would take a thousand years")

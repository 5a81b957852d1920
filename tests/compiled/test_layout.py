"""The doors before compiled loops, tried from all sides: what does not fit never reaches them."""

import importlib
import inspect
import pkgutil
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba.core.registry import CPUDispatcher
from scipy import sparse

import parasphere
from parasphere import Bags, CorpusError, MovMF, SphericalParagraphModel, WordVectors
from parasphere.compiled.layout import LayoutError, fitting, layout
from parasphere.compiled.rows import sum_rows
from parasphere.errors import ParasphereError, VectorsError
from parasphere.features import Reader
from parasphere.text import Vocabulary, string_buffers

WORDS = ["north", "east", "west", "up"]
TEXTS = ["north east", "up west west", "north", "east up north"]


def modules() -> list[Any]:
    names = [module.name for module in pkgutil.walk_packages(parasphere.__path__, "parasphere.")]
    extras = ("__main__", "service", "explorer", "dask")  # which have no loops
    return [importlib.import_module(name) for name in names if not {*name.split(".")} & {*extras}]


def doors() -> dict[str, Any]:
    found = [thing for module in modules() for thing in vars(module).values() if hasattr(thing, "layouts")]
    return {f"{door.__module__}.{door.__name__}": door for door in found}


DOORS = doors()


def layouts(door: Any) -> dict[tuple[str, str | None], Any]:
    """Return the layouts of a door by argument and, for named tuples, by field."""
    fields = {name: {None: due} if isinstance(due, str) else due for name, due in door.layouts.items()}
    return {(name, field): layout(written) for name, each in fields.items() for field, written in each.items()}


def honest(door: Any) -> dict[tuple[str, str | None], Any]:
    """Return arrays that fit the layouts of a door; each axis name has a size of its own."""
    sizes: dict[str, int] = {}
    arrays = {}
    for name, due in layouts(door).items():
        shape = [
            sizes.setdefault(axis, 5 + len(sizes)) + more if axis else abs(more) if more >= 0 else 3
            for axis, more in due.axes
        ]
        arrays[name] = np.zeros(shape, due.dtypes[0])
    return arrays


def by_argument(arrays: dict[tuple[str, str | None], Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for (name, field), array in arrays.items():
        if field is None:
            arguments[name] = array
        else:
            setattr(arguments.setdefault(name, SimpleNamespace()), field, array)
    return arguments


def call(door: Any, arrays: dict[tuple[str, str | None], Any]) -> None:
    arguments = by_argument(arrays)
    door(*(arguments.get(name) for name in inspect.signature(door.__wrapped__).parameters))


def same_layout(lie: Any, array: Any) -> bool:
    return isinstance(lie, np.ndarray) and (lie.dtype, lie.shape, lie.flags.c_contiguous) == (
        array.dtype,
        array.shape,
        True,
    )


def strided(array: Any) -> Any:
    return np.repeat(array, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("name", DOORS)
def test_no_door_lets_through_what_does_not_fit(name: str) -> None:
    door = DOORS[name]
    arrays = honest(door)
    axes = Counter(axis for due in layouts(door).values() for axis, _ in due.axes)
    for argument, due in layouts(door).items():
        array = arrays[argument]
        lies = [array.astype("c8"), array[None], array.tolist(), array.astype(array.dtype.newbyteorder())]
        lies += [strided(array), np.asfortranarray(array)]
        for place, (axis, more) in enumerate(due.axes):
            if more >= 0 if axis is None else axes[axis] > 1:
                lies.append(np.zeros([size + (i == place) for i, size in enumerate(array.shape)], array.dtype))
        for lie in lies:
            if same_layout(lie, array):  # one byte has no order, one number no stride
                continue
            with pytest.raises(LayoutError, match="must"):
                call(door, arrays | {argument: lie})


@pytest.mark.parametrize("name", DOORS)
def test_what_fits_is_not_checked_twice(name: str) -> None:
    door = DOORS[name]
    arrays = honest(door)
    assert door.fits(*by_argument(arrays).values())
    for argument, due in layouts(door).items():
        assert door.fits(*by_argument(arrays | {argument: None}).values()) == due.optional


@pytest.mark.parametrize("first", [None, 2, 3])
@pytest.mark.parametrize("second", [None, 2, 3])
@pytest.mark.parametrize("third", [2, 3])
def test_a_size_that_an_optional_array_brings_binds_the_others(
    first: int | None, second: int | None, third: int
) -> None:
    sizes = [first, second, third]
    fits = fitting(x="f8[n]?", y="f8[n]?", z="f8[n]")(*(None if size is None else np.zeros(size) for size in sizes))
    assert fits == (len({size for size in sizes if size is not None}) == 1)


def test_every_loop_that_takes_addresses_is_behind_a_door() -> None:
    """Functions that compiled code alone calls get addresses, and Python cannot make these.

    Such code may call what is behind a door, by a private name.
    """
    behind = [vars(door)["__wrapped__"] for door in DOORS.values()]
    bare = [
        thing.__name__
        for module in modules()
        for name, thing in vars(module).items()
        if isinstance(thing, CPUDispatcher)
        and thing.__name__ != "address"
        and "address(" in inspect.getsource(thing.py_func)
        and not (name.startswith("_") and thing in behind)
    ]
    assert bare == []
    assert len(DOORS) > 20


def test_ids_and_places_beyond_the_arrays_are_refused() -> None:
    def add_up(ids: list[int], ends: list[int]) -> None:
        out = [np.zeros((1, 2)), np.zeros(1), np.zeros(1), np.zeros(1, np.int64), np.zeros(1)]
        sum_rows(np.array(ids, np.int32), np.array(ends), np.ones((3, 2), np.float32), None, 0.5, *out)

    add_up([0, -1, 2, -3, -(2**30) - 2], [5])
    for ids, ends in (([3], [1]), ([10**9], [1]), ([0], [2]), ([0], [-1]), ([], [10**12])):
        with pytest.raises(ValueError, match=r"row|ends of documents"):
            add_up(ids, ends)


def some_vectors(dim: int = 3) -> WordVectors:
    return WordVectors.from_arrays(WORDS, np.random.default_rng(dim).normal(size=(4, dim)))


# ---------------------------------------------------------------------------------------------------
# Arrays that are given


def test_word_vectors_of_any_layout_add_up_alike() -> None:
    vectors = some_vectors(12)
    expected = Reader(vectors).read(TEXTS).sums
    rows = vectors.matrix
    for matrix in (np.asfortranarray(rows), strided(rows), rows.astype(np.float64), rows.astype(">f4"), rows.tolist()):
        again = WordVectors(vectors.vocabulary, matrix, strided(vectors.norms))
        np.testing.assert_array_equal(Reader(again).read(TEXTS).sums, expected)
        assert again.matrix.dtype == np.float32
        assert not again.matrix.flags.writeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows, norms: (rows[:3], norms), "4 words need a matrix of numbers with one row each"),
        (lambda rows, norms: (rows[0], norms), "with one row each"),
        (lambda rows, norms: (rows[:, :0], norms), "with one row each"),
        (lambda rows, norms: (rows.astype(str), norms), "with one row each"),
        (lambda rows, norms: (2 * rows, norms), "row 0 has length 2"),
        (lambda rows, norms: (np.where(rows == rows[2, 1], np.nan, rows), norms), "row 2 has length nan"),
        (lambda rows, norms: (0 * rows, norms), "row 0 has length 0"),
        (lambda rows, norms: (rows, norms[:2]), "one norm each"),
        (lambda rows, norms: (rows, -norms), "norm 0 is -"),
        (lambda rows, norms: (rows, norms * np.inf), "norm 0 is inf"),
    ],
)
def test_word_vectors_that_do_not_fit_are_named(change: Any, message: str) -> None:
    vectors = some_vectors()
    with pytest.raises(VectorsError, match=message):
        WordVectors(vectors.vocabulary, *change(vectors.matrix, vectors.norms))


@pytest.mark.parametrize(
    "offsets", [[0, 2, 99], [0, 99, 3], [1, 2, 3], [0, 2, 1], [0, -5, 3], [0, 0, 3], [[0, 3]], [0.0, 3.0], []]
)
def test_words_whose_places_do_not_fit_their_bytes(offsets: list[Any]) -> None:
    kind = np.float64 if offsets and isinstance(offsets[-1], float) else np.int64
    with pytest.raises(ParasphereError):
        Vocabulary.from_buffers(np.frombuffer(b"abc", np.uint8), np.array(offsets, kind), trusted=True)


def test_words_cannot_be_changed_and_are_utf8() -> None:
    data, offsets = np.frombuffer("aé".encode(), np.uint8).copy(), np.array([0, 1, 3])
    vocabulary = Vocabulary.from_buffers(data, offsets)
    vocabulary.check_utf8()
    for array in (vocabulary.data, vocabulary.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for wrong in (np.array([0, 2, 3]), np.array([0, 1, 2])):
        with pytest.raises(VectorsError, match="not UTF-8"):
            Vocabulary.from_buffers(data, wrong).check_utf8()


def test_bags_of_any_layout_and_bags_that_lie() -> None:
    bags = Reader(some_vectors(), dtype=np.float64).read(TEXTS)
    model = SphericalParagraphModel(None, tol=1e-2).fit(bags)
    odd = Bags(np.asfortranarray(bags.sums), strided(bags.lengths), bags.squared_norms, bags.unknown)
    np.testing.assert_array_equal(model.transform(odd), model.transform(bags))
    sums = bags.sums.copy()
    sums[1, 0] = np.nan
    for lie in (
        Bags(sums, bags.lengths, bags.squared_norms, bags.unknown),
        Bags(bags.sums, -bags.lengths, bags.squared_norms, bags.unknown),
        Bags(bags.sums, bags.lengths, 2 * bags.squared_norms, bags.unknown),
        Bags(bags.sums, bags.lengths, bags.squared_norms, bags.unknown - 5),
    ):
        for use in (model.transform, SphericalParagraphModel(None).fit):
            with pytest.raises(ParasphereError, match=r"document|squared length"):
                use(lie)
    for lengths in (bags.lengths.astype(np.float32), bags.lengths[:, None], bags.lengths[:2]):
        with pytest.raises(ValueError, match=r"lengths|one number per document"):
            Bags(bags.sums, lengths, bags.squared_norms, bags.unknown)


def test_sparse_rows_whose_indices_lie() -> None:
    rows = sparse.random_array((6, 5), density=0.5, format="csr", rng=np.random.default_rng(0))
    mixture = MovMF(2, random_state=0).fit(rows)
    rows.indices[3] = 10**6
    for use in (mixture.predict, MovMF(2).fit):
        with pytest.raises(ValueError, match="ind"):
            use(rows)


def test_a_column_that_reaches_beyond_its_bytes() -> None:
    offsets = pa.py_buffer(np.array([0, 3, 1]))
    with pytest.raises(CorpusError, match="2 texts reaches beyond"):
        string_buffers(pa.LargeStringArray.from_buffers(2, offsets, pa.py_buffer(b"abc")))

from pathlib import Path

import numpy as np
import pytest
from blocksize import small_blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from parasphere import Bags, Tokenizer, WordVectors
from parasphere.model import Reader, reader

pytestmark = pytest.mark.filterwarnings("ignore::parasphere.CoverageWarning")  # texts with many unknown words are drawn

WORDS = ["north", "east", "south", "west", "up", "é"]


def some_vectors(dim: int) -> WordVectors:
    return WordVectors.from_arrays(WORDS, np.random.default_rng(dim).normal(size=(len(WORDS), dim)))


texts = st.lists(st.lists(st.sampled_from([*WORDS, "nowhere"]), max_size=40).map(" ".join), max_size=12)


def reference(text: str, vectors: WordVectors, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(vectors.dim)
    for word in text.split():
        if word in vectors:
            row = vectors.vocabulary.index(word)
            total += weights[row] * vectors.matrix[row].astype(np.float64)
    return total


@settings(max_examples=60)
@given(texts, st.sampled_from([2, 7, 8, 9, 50, 300]), st.booleans())
def test_bags_are_sums_in_the_order_of_the_words(corpus: list[str], dim: int, weighted: bool) -> None:
    vectors = some_vectors(dim)
    weights = np.linspace(0.1, 2, len(WORDS)) if weighted else np.ones(len(WORDS))
    result = Reader(vectors, weights=weights if weighted else None, dtype=np.float64).read(corpus)
    expected = np.array([reference(text, vectors, weights) for text in corpus]).reshape(-1, dim)
    assert np.array_equal(result.sums, expected)  # to the bit: the same additions in the same order
    known = [[vectors.vocabulary.index(w) for w in text.split() if w in vectors] for text in corpus]
    np.testing.assert_allclose(result.lengths, [weights[rows].sum() for rows in known], rtol=1e-14)
    assert result.unknown.tolist() == [text.split().count("nowhere") for text in corpus]
    np.testing.assert_allclose(result.squared_norms, (result.sums**2).sum(axis=1), rtol=1e-12, atol=1e-300)


def same_bits(a: Bags, b: Bags) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a._columns().values(), b._columns().values(), strict=True))


@settings(max_examples=20)
@given(texts, st.integers(1, 200), st.sampled_from([1, 2, 3]), st.sampled_from([np.float32, np.float64]))
def test_bits_depend_on_neither_threads_nor_batches(corpus: list[str], step: int, jobs: int, dtype: type) -> None:
    vectors = some_vectors(50)
    whole = Reader(vectors, dtype=dtype).read(corpus)
    before, reader.STEP_BYTES = reader.STEP_BYTES, step
    try:
        with small_blocks(step):
            split = Reader(vectors, dtype=dtype).read(iter(corpus), n_jobs=jobs)
    finally:
        reader.STEP_BYTES = before
    assert same_bits(whole, split)
    if corpus:
        assert same_bits(whole, Bags.concatenate([Reader(vectors, dtype=dtype).read([text]) for text in corpus]))


def test_float32_sums_are_rounded_once() -> None:
    vectors = some_vectors(20)
    exact = Reader(vectors, dtype=np.float64).read(["north east up " * 5000])
    kept = Reader(vectors).read(["north east up " * 5000])
    assert kept.sums.dtype == np.float32
    assert np.array_equal(kept.sums, exact.sums.astype(np.float32))


def test_a_million_words_add_up(rng: np.random.Generator) -> None:
    vectors = some_vectors(3)
    rows = rng.integers(len(WORDS), size=1_000_000)
    result = Reader(vectors, dtype=np.float64).read([" ".join(WORDS[row] for row in rows)])
    counts = np.bincount(rows)
    np.testing.assert_allclose(result.sums[0], counts @ vectors.matrix.astype(np.float64), rtol=1e-11)
    assert result.lengths[0] == 1_000_000


def test_token_lists_and_callables_give_the_same_bags() -> None:
    vectors = some_vectors(5)
    plain = Reader(vectors).read(["north east", "", "south nowhere"])
    assert same_bits(plain, Reader(vectors).read([["north", "east"], [], ["south", "nowhere"]]))
    assert same_bits(plain, Reader(vectors, tokenizer=str.split).read(["north east", "", "south nowhere"]))


def test_stop_words_count_nowhere() -> None:
    result = Reader(some_vectors(3), tokenizer=Tokenizer(stop_words=["of", "north"])).read(["north of east"])
    assert (result.lengths[0], result.unknown[0]) == (1, 0)


def test_an_empty_text_and_an_empty_corpus() -> None:
    vectors = some_vectors(4)
    nothing = Reader(vectors).read(["", "1234 !"])
    assert not nothing.sums.any()
    assert nothing.lengths.tolist() == nothing.unknown.tolist() == [0, 0]
    assert Reader(vectors).read([]).sums.shape == (0, 4)


def test_slices_masks_and_concatenation() -> None:
    whole = Reader(some_vectors(4)).read(["north", "east", "up up"])
    assert same_bits(whole, Bags.concatenate([whole[:1], whole[1:]]))
    assert whole[np.array([True, False, True])].lengths.tolist() == [1, 2]
    assert whole[[2, 0]].lengths.tolist() == [2, 1]
    assert len(whole[:0]) == 0
    with pytest.raises(ValueError, match="at least one part"):
        Bags.concatenate([])


def test_labels_and_ids_come_along(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("id,text,label\n1,north,a\n2,east,b\n")
    ((block, result),) = Reader(some_vectors(3), Tokenizer()).stream(path, label="label", id="id")
    assert (block.labels, block.ids, len(result)) == (["a", "b"], ["1", "2"], 2)
    assert same_bits(result, Reader(some_vectors(3)).read(["north", "east"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0]}, r"shape \(6\)"),
        ({"weights": [1, 1, -1, 1, 1, 1]}, "weight 2 is -1"),
        ({"weights": [1, 1, 1, np.nan, 1, 1]}, "weight 3 is nan"),
        ({"dtype": np.int32}, "float32 or float64"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    made = {name: value for name, value in options.items() if name != "n_jobs"}
    with pytest.raises(ValueError, match=message):
        Reader(some_vectors(3), **made).read(["north"], options.get("n_jobs"))  # type: ignore[arg-type]


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"sums \(2, 3\)"):
        Bags(np.zeros((2, 3)), np.zeros(1), np.zeros(2), np.zeros(2, np.int64))


def test_bags_are_the_sums_of_their_parts() -> None:
    vectors, texts = some_vectors(4), ["north north east", "", "up nowhere", "east up east"]
    weights = np.random.default_rng(0).gamma(1.0, size=len(vectors))
    words = Reader(vectors, Tokenizer(), weights=weights, dtype=np.float64)
    bags = words.bags(texts)
    for i, text in enumerate(texts):
        parts = list(words.parts(text))
        assert bags.lengths[i] == pytest.approx(sum(weight for _, weight, _ in parts))
        assert bags.squared_weights[i] == pytest.approx(sum(weight**2 for _, weight, _ in parts))
        total = sum((weight * row for _, weight, row in parts), np.zeros(4))
        np.testing.assert_allclose(bags.sums[i], total, atol=1e-12)
    plain = Reader(vectors).read(texts)
    np.testing.assert_array_equal(plain.squared_weights, plain.lengths)

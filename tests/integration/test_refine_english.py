"""The script that refines the English vectors, step by step."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from quantise_english import in_bytes, save_quantised
from reproduction.datasets import SentencePairs

from parasphere import SphericalParagraphModel, WordVectors, storage
from parasphere.sphere.rows import unit_rows
from parasphere.vectors.english import KIND


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("refine_english")


def rows_of(rng: np.random.Generator, n: int, dim: int) -> NDArray[np.float32]:
    return unit_rows(rng.normal(size=(n, dim)).astype(np.float32), np.float32)


def test_missing_words_are_frequent_or_defined(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "index.noun").write_text("  1 a licence\ncliche n 1 0 @ 1 0 01\nnew_york n 1 0 @ 1 0 02\n", "utf-8")
    (tmp_path / "index.sense").write_text("qwerty%1:10:00:: 06608277 1 0\n", "utf-8")  # not a list of words
    frequent = ["the", "a1", "riveting"]
    fill = [f"known{letter}" for letter in "abc"]
    glove = frequent + fill + ["x"] * (script.FREQUENT - 6) + ["qwerty", "cliche", "cats-eye", "new_york"]
    found = script.missing_words(["the", "x", *fill], glove, tmp_path)
    assert found == ["riveting", "cliche"]  # in the order of GloVe; letters alone


def test_a_folder_is_read_as_it_was_embedded(script: ModuleType, rng: np.random.Generator, tmp_path: Path) -> None:
    rows, weights = in_bytes(rows_of(rng, 3, 8)), np.array([0.5, 1, 2], np.float16)
    words = ["sea", "lake", "Äpfel"]
    arrays = {
        "rows": rows,
        "weights": weights,
        "lengths": np.array([3, 4, 6], np.uint8),
        "data": np.frombuffer("".join(words).encode(), np.uint8),
    }
    storage.save(tmp_path / "before", KIND, arrays, {})
    (tmp_path / "before" / "provenance.json").write_text('{"seed": 7}', "utf-8")
    taught, provenance = script.read(tmp_path / "before")
    assert (taught.words, provenance) == (words, {"seed": 7})
    np.testing.assert_allclose(taught.rows, unit_rows(rows, np.float32), atol=1e-6)
    np.testing.assert_array_equal(taught.weights, weights)

    save_quantised(tmp_path / "after", words, rows_of(rng, 3, 8), weights, 1.0)
    with pytest.raises(SystemExit, match="it is refined already"):
        script.read(tmp_path / "after")


def test_what_is_written_is_read(script: ModuleType, rng: np.random.Generator, tmp_path: Path) -> None:
    taught = script.Taught(["b", "a"], rows_of(rng, 2, 8), np.array([0.5, 2.0]))
    script.write(tmp_path / "one.npz", taught, np.array([3, 1]), {"seed": 7})
    found, provenance = script.read(tmp_path / "one.npz")
    assert (found.words, provenance) == (taught.words, {"seed": 7})
    np.testing.assert_allclose(found.rows, taught.rows, atol=0.01)
    np.testing.assert_allclose(found.weights, taught.weights)
    with np.load(tmp_path / "one.npz") as arrays:
        assert json.loads(bytes(arrays["provenance"].item())) == {"seed": 7}


def test_light_words_alone_become_heavier(script: ModuleType, rng: np.random.Generator) -> None:
    counts = np.array([1000, 10, 1])
    taught = script.Taught(["the", "sea", "lake"], rows_of(rng, 3, 4), np.array([0.1, 2.0, 3.0]))
    heavier = script.with_heavier(taught, counts, 0.5).weights
    assert heavier @ counts / counts.sum() == pytest.approx(1)
    assert heavier[2] / heavier[1] == pytest.approx(1.5)
    mean = taught.weights @ counts / counts.sum()
    assert heavier[0] / heavier[1] == pytest.approx((0.1 / mean) ** 0.5 / (2 / mean))
    np.testing.assert_allclose(script.with_heavier(taught, counts, 1.0).weights, taught.weights / mean)


def test_a_turn_changes_no_cosine(script: ModuleType, rng: np.random.Generator) -> None:
    taught = script.Taught(list("abcde"), rows_of(rng, 5, 16), np.ones(5))
    turned = script.turned(taught, 0)
    assert np.abs(turned.rows - taught.rows).max() > 0.1
    np.testing.assert_allclose(turned.rows @ turned.rows.T, taught.rows @ taught.rows.T, atol=1e-5)


def test_the_cosines_of_joined_rows_are_the_mean_of_both(script: ModuleType, rng: np.random.Generator) -> None:
    rows = np.zeros((7, 5), np.float32)
    rows[:, :2] = rows_of(rng, 7, 2)  # three axes are free for those of GloVe
    words, counts = list("abcdefg"), np.arange(7)
    weights = np.array([1, 1, 1, 1, 1, 1, 1e-9])  # the last word, which GloVe lacks, has no part in its mean
    taught, glove = script.Taught(words, rows, weights), rows_of(rng, 6, 3)
    joined = script.with_glove(taught, WordVectors.from_arrays(words[:6], glove), counts, 0.3).rows
    centred = unit_rows(glove - np.average(glove, axis=0, weights=counts[:6] + 1), np.float32)
    expected = 0.7 * rows[:6] @ rows[:6].T + 0.3 * centred @ centred.T
    np.testing.assert_allclose((joined @ joined.T)[:6, :6], expected, atol=1e-4)
    assert np.linalg.norm(joined[6]) == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:EM stopped")  # texts of random words have no directions to be found
def test_people_move_the_words_of_their_pairs_alone(script: ModuleType, rng: np.random.Generator) -> None:
    pytest.importorskip("torch", reason="an extra")
    words = [first + second for first in "abcdefghij" for second in "uvwxyz"]
    common = np.ones(16, np.float32) / 4
    taught = script.Taught(words, unit_rows(rows_of(rng, 60, 16) + common, np.float32), np.ones(60))
    truth = unit_rows(rows_of(rng, 60, 16) + common, np.float32)  # what people go by
    texts = [" ".join(rng.choice(words[:50], 6)) for _ in range(240)]
    pairs = SentencePairs("some", texts[:120], texts[120:], np.zeros(120))
    scores = (
        SphericalParagraphModel(WordVectors.from_arrays(words, truth), adapt=False)
        .fit(texts)
        .compare(pairs.first, pairs.second)
    )
    pairs = SentencePairs("some", pairs.first, pairs.second, np.asarray(scores))

    def agreement(found: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
        model = SphericalParagraphModel(WordVectors.from_arrays(words, found).with_weights(weights), adapt=False).fit(
            texts
        )
        return float(np.corrcoef(model.compare(pairs.first, pairs.second), pairs.scores)[0, 1])

    moved = script.with_pairs(taught, pairs, 0)
    again = script.with_pairs(taught, pairs, 0)
    assert agreement(moved.rows, moved.weights) > agreement(taught.rows, taught.weights) + 0.05
    np.testing.assert_array_equal(moved.rows[50:], taught.rows[50:])
    np.testing.assert_array_equal(moved.weights[50:], taught.weights[50:])
    np.testing.assert_array_equal(again.rows, moved.rows)

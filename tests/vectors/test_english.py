"""The word vectors that come with the library."""

import hashlib
import json
import pickle
from pathlib import Path

import embed_english
import numpy as np
import pytest
from quantise_english import FIRST, in_bytes, in_half_bytes, save_quantised

from parasphere import (
    SphericalParagraphModel,
    StoreError,
    Tokenizer,
    VectorsError,
    WordVectors,
    storage,
)
from parasphere.places import ENGLISH
from parasphere.vectors.english import KIND, decode_rows, english_folder, read_english

ROOT = Path(__file__).parents[2]
WORDS = ["sea", "lake", "Äpfel"]
ZERO = 0x88  # a byte with two numbers that are 0
NO_HALVES = np.empty((0, 64), np.uint8)


def loaded(folder: Path) -> WordVectors:
    vocabulary, matrix, weights, facts = read_english(folder)
    return WordVectors(vocabulary, matrix, weights=weights, unknown_weight=facts["unknown_weight"])


@pytest.fixture(scope="module")
def english() -> WordVectors:
    return WordVectors.load(ENGLISH)


def test_the_vectors_are_of_english_words(english: WordVectors) -> None:
    assert (len(english), english.dim, english.name, english.source) == (131_375, 128, ENGLISH, ENGLISH)
    assert english.words[:2] == ["the", "of"]
    assert english.words[:5000] == [word.lower() for word in english.words[:5000]]
    assert "lakes" in [word for word, _ in english.nearest("lake", 3)]
    assert english["river"] @ english["lake"] > english["river"] @ english["violin"] + 0.2


def test_stop_words_weigh_less_than_others(english: WordVectors) -> None:
    weights = english.weights
    assert weights is not None
    the, telescope = weights[english.vocabulary.get_many(["the", "telescope"])]
    assert 0 < the < 0.5 < 1 < telescope


def test_the_rows_are_unit_and_read_only(english: WordVectors) -> None:
    np.testing.assert_allclose(np.linalg.norm(english.matrix.astype(np.float64), axis=1), 1, atol=1e-6)
    assert not english.matrix.flags.writeable


def test_the_fingerprint_that_is_kept_is_that_of_the_numbers(english: WordVectors) -> None:
    options = {"weights": english.weights, "unknown_weight": english.unknown_weight}
    same = WordVectors(english.vocabulary, english.matrix, **options)
    assert same.fingerprint == english.fingerprint


def test_the_file_is_intact_and_small() -> None:
    facts = json.loads((english_folder() / storage.MANIFEST).read_text("utf-8"))
    assert hashlib.sha256((english_folder() / facts["data"]).read_bytes()).hexdigest() == facts["sha256"]
    assert sum(path.stat().st_size for path in english_folder().iterdir()) <= 12_000_000


def test_where_the_vectors_come_from_is_written_beside_them(english: WordVectors) -> None:
    facts = json.loads((english_folder() / "provenance.json").read_text("utf-8"))
    assert {"teacher", "teachers_sha256", "files", "script", "seed", "commit", "made_from_sha256"} <= set(facts)
    assert (facts["words"], facts["dim"]) == (len(english), english.dim)
    licence = (english_folder() / "LICENCE.txt").read_text("utf-8")
    assert all(name in licence for name in ("gte-small", "MIT", "Wikipedia", "CC BY-SA", "GloVe", "PDDL", "WordNet"))


def test_nothing_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    WordVectors.load(ENGLISH)
    assert not (tmp_path / "cache").exists()


def test_pickles_refer_to_the_vectors_by_name(english: WordVectors) -> None:
    pickled = pickle.dumps(english)
    assert len(pickled) < 1000
    assert pickle.loads(pickled).fingerprint == english.fingerprint


def test_a_model_refers_to_the_vectors_by_name_and_checksum(english: WordVectors, tmp_path: Path) -> None:
    texts = [f"the {one} of the {other}" for one in ("sea", "lake") for other in "hill fire wood road river".split()]
    model = SphericalParagraphModel(tol=1e-2).fit(texts)
    assert model.vectors_ is not None
    assert model.vectors_.fingerprint == english.fingerprint
    assert model.encoder_.reader is not None
    assert model.encoder_.reader.tokenizer == Tokenizer(digits=True)  # stop words are weighed, not dropped
    model.save(tmp_path / "model")
    assert sum(path.stat().st_size for path in (tmp_path / "model").iterdir()) < 1_000_000
    again = SphericalParagraphModel.load(tmp_path / "model")
    assert again.vectors_ is not None
    assert again.vectors_.source == ENGLISH
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))
    with pytest.raises(StoreError, match=r"the word vectors were english-128 \(.* are different"):
        SphericalParagraphModel.load(tmp_path / "model", vectors=english.with_weights(None))


def test_unweighted_words_are_read_without_stop_words() -> None:
    texts = [f"the {one} of the {other}" for one in ("sea", "lake") for other in "hill fire wood road river".split()]
    assert SphericalParagraphModel(weighted=False).read(texts).lengths.tolist() == [2.0] * 10


def test_rows_of_bytes_are_close(rng: np.random.Generator) -> None:
    matrix = rng.normal(size=(3000, 128)).astype(np.float32) * rng.uniform(0.01, 100, (3000, 1)).astype(np.float32)
    rows = in_bytes(matrix)
    assert (np.abs(rows.astype(int)).max(axis=1) == 127).all()
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    assert (np.abs(rows * (largest / 127) - matrix) <= largest * (0.5 + 1e-4) / 127).all()
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    assert (np.abs(decode_rows(rows, NO_HALVES) - unit) <= np.abs(unit).max(axis=1, keepdims=True) / 127).all()
    np.testing.assert_array_equal(in_bytes(rows.astype(np.float32)), rows)


def test_rows_of_half_bytes_are_close(rng: np.random.Generator) -> None:
    matrix = rng.normal(size=(9000, 128)).astype(np.float32) * rng.uniform(0.01, 100, (9000, 1)).astype(np.float32)
    halves = in_half_bytes(matrix)
    assert halves.shape == (9000, 64)
    rows = np.hstack([halves & 15, halves >> 4]).astype(int) - 8
    assert (np.abs(rows).max(axis=1) == 7).all()
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    first = rng.integers(-127, 128, (5000, 128)).astype(np.int8)
    both = decode_rows(first, halves)
    np.testing.assert_array_equal(both[:5000], decode_rows(first, NO_HALVES))
    np.testing.assert_allclose(both[5000:], expected, atol=1e-7)
    exact = matrix.astype(np.float64)
    plain = np.rint(exact * (7 / np.abs(exact).max(axis=1, keepdims=True)))
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    cosines = np.vecdot(expected, unit)
    assert (cosines >= np.vecdot(plain, unit) / np.linalg.norm(plain, axis=1) - 1e-12).all()  # the scale is chosen
    assert cosines.min() > 0.98
    assert cosines.mean() > 0.993


def test_rounded_rows_need_a_direction() -> None:
    for rounded, number in ((one, number) for one in (in_bytes, in_half_bytes) for number in (0, np.nan, np.inf)):
        with pytest.raises(VectorsError, match=r"row 1 has .* as its largest number; it must be finite"):
            rounded(np.array([[1, 2], [0, number]], np.float32))
    zero = np.repeat([0x99, ZERO, 0x99], [1500, 1, 99]).astype(np.uint8)[:, None]
    with pytest.raises(VectorsError, match="row 1,600 is zero"):
        decode_rows(np.ones((100, 2), np.int8), zero)
    with pytest.raises(VectorsError, match="the rows have 3 numbers; it must be even"):
        in_half_bytes(np.ones((2, 3), np.float32))
    with pytest.raises(VectorsError, match="some rows have 4 numbers and others 2"):
        decode_rows(np.ones((1, 4), np.int8), zero)


def test_saving_gives_the_same_bytes_and_vectors(tmp_path: Path) -> None:
    rows = np.array([[3, 4], [4, 3], [-1, 0]], np.float32)
    for folder in ("one", "two"):
        save_quantised(tmp_path / folder, WORDS, rows, [0.5, 1.0, 2.1], 1.5)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    vectors = loaded(tmp_path / "one")
    assert vectors.words == WORDS
    assert vectors.weights is not None
    assert vectors.unknown_weight == 1.5
    np.testing.assert_allclose(vectors.weights, [0.5, 1.0, 2.1], rtol=2**-11)
    np.testing.assert_allclose(vectors.matrix, [[0.6, 0.8], [0.8, 0.6], [-1, 0]], atol=1 / 127)


def test_words_beyond_the_first_are_rounded_more(tmp_path: Path, rng: np.random.Generator) -> None:
    rows = rng.normal(size=(FIRST + 10, 4)).astype(np.float32)
    save_quantised(tmp_path / "many", [f"w{n}" for n in range(len(rows))], rows, np.ones(len(rows)), 0.0)
    vectors = loaded(tmp_path / "many")
    errors = np.abs(vectors.matrix - rows / np.linalg.norm(rows, axis=1, keepdims=True)).max(axis=1)
    assert errors[:FIRST].max() < 0.01 < errors[FIRST:].max() < 0.15


def test_a_word_may_not_be_too_long(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="has 256 bytes; the limit is 255"):
        save_quantised(tmp_path / "long", ["a" * 256], np.ones((1, 2), np.float32), [1.0], 0.0)


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        ({"rows": np.zeros((1, 2), np.int8)}, "row 0 is zero"),
        ({"halves": np.full((1, 1), ZERO, np.uint8)}, "row 1 is zero"),
        ({"rows": np.ones((2, 2), np.float32)}, "rows must be int8"),
        ({"lengths": np.array([1, 9], np.uint8)}, "offsets"),
        ({"data": np.frombuffer(b"\xffb", np.uint8)}, "not UTF-8"),
    ],
)
def test_a_folder_that_is_not_as_it_was(damaged: dict[str, np.ndarray], said: str, tmp_path: Path) -> None:
    arrays = {"rows": np.ones((1, 2), np.int8), "halves": np.ones((1, 1), np.uint8), "weights": np.ones(2, np.float16)}
    arrays |= {"lengths": np.ones(2, np.uint8), "data": np.frombuffer(b"ab", np.uint8)}
    storage.save(tmp_path / "good", KIND, arrays, {"fingerprint": "", "unknown_weight": 0.0})
    assert loaded(tmp_path / "good").words == ["a", "b"]
    storage.save(tmp_path / "bad", KIND, arrays | damaged, {"fingerprint": "", "unknown_weight": 0.0})
    with pytest.raises(StoreError, match=said):
        read_english(tmp_path / "bad")
    storage.save(tmp_path / "none", KIND, arrays, {})
    with pytest.raises(StoreError, match="fingerprint"):
        read_english(tmp_path / "none")


def test_the_script_embeds_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ENGLISH
    monkeypatch.setattr(embed_english, "english_folder", lambda: folder)  # rather than into the package
    taught = tmp_path / "taught.npz"
    rows = np.array([[127, 0], [0, 127], [127, 127]], np.int8)
    given = {"u": rows, "scale": np.array([0.1, 0.3, 0.3], np.float32), "counts": np.array([6, 2, 0])}
    np.savez(taught, words=np.array("\n".join(WORDS).encode()), **given)
    with pytest.raises(SystemExit, match="has no fact teachers, files, script, seed, commit"):
        embed_english.embed(taught, {})
    assert not folder.exists()
    facts = dict(embed_english._fact(f"{name}=mine") for name in ("teachers", "files", "script", "seed", "commit"))
    assert embed_english.embed(taught, facts) == sum(path.stat().st_size for path in folder.iterdir())
    vectors = loaded(folder)
    assert vectors.words == WORDS
    assert vectors.weights is not None
    np.testing.assert_allclose(vectors.weights, np.array([1, 3, 3 * np.sqrt(2)]) / 1.5, rtol=1e-3)
    np.testing.assert_allclose(vectors.matrix[2], np.sqrt([0.5, 0.5]), rtol=1e-6)
    assert json.loads((folder / "provenance.json").read_text())["teachers"] == "mine"

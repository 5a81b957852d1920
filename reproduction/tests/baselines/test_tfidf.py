"""Tf-idf of n-grams, beside scikit-learn's and beside plain Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_union

from parasphere import Tokenizer
from parasphere.corpus import blocks
from parasphere.errors import CorpusError, StoreError
from reproduction.baselines import LatentSemanticIndex, TfIdf
from reproduction.baselines.base import smoothed_idf
from reproduction.baselines.tfidf import weighted
from reproduction.text.ngrams import Ngrams, hashed_counts, learn_ngrams

LETTERS = r"[^\W\d_]+"
TEXTS = ["the new york times", "new york, new jersey", "a new car", "", "york 9 new", "ça va là-bas"]
word = st.sampled_from(["a", "b", "c", "the", "new", "york", "newer", "ça", "B"])
text = st.lists(word, max_size=9).map(" ".join)
texts = st.lists(text, min_size=1, max_size=8)
ranges = st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4), (3, 3)])


def theirs(ngram_range: tuple[int, int], **more: Any) -> TfidfVectorizer:
    return TfidfVectorizer(token_pattern=LETTERS, ngram_range=ngram_range, **more)


@given(texts, texts, ranges, st.booleans(), st.sampled_from([None, ("the", "b")]))
@settings(deadline=None, max_examples=50)
def test_it_is_scikit_learns(
    known: list[str], new: list[str], sizes: tuple[int, int], sublinear: bool, stop: Any
) -> None:
    ours = TfIdf(sizes, sublinear, tokenizer=Tokenizer(stop_words=stop))
    reference = theirs(sizes, sublinear_tf=sublinear, stop_words=stop and list(stop))
    try:
        expected = reference.fit_transform(known)
    except ValueError:  # nothing is left
        with pytest.raises(CorpusError):
            ours.fit(known)
        return
    found = ours.fit_transform(known)
    names = ours.get_feature_names_out().tolist()
    assert sorted(names) == reference.get_feature_names_out().tolist()
    order = [reference.vocabulary_[name] for name in names]
    np.testing.assert_allclose(found.toarray(), expected.toarray()[:, order], rtol=1e-12, atol=0)
    after = ours.transform(new)
    np.testing.assert_allclose(after.toarray(), reference.transform(new).toarray()[:, order], rtol=1e-12, atol=0)
    for rows in (found, after):
        assert (rows.format, rows.dtype, rows.indices.dtype, rows.indptr.dtype) == ("csr", float, np.int32, np.int32)
        assert sparse.csr_array((rows.data, rows.indices, rows.indptr), rows.shape).has_canonical_format
    same(ours.transform(known), found)


@given(texts, ranges, st.integers(1, 6))
@settings(deadline=None, max_examples=50)
def test_the_most_frequent_come_first_and_stay(known: list[str], sizes: tuple[int, int], max_words: int) -> None:
    counter = CountVectorizer(token_pattern=LETTERS, ngram_range=sizes)
    try:
        totals = np.asarray(counter.fit_transform(known).sum(axis=0)).ravel()
    except ValueError:
        return
    names = counter.get_feature_names_out().tolist()
    order = sorted(names, key=lambda name: (-totals[names.index(name)], name.count(" "), name))
    everything = TfIdf(sizes, tokenizer=Tokenizer()).fit(known)
    assert everything.vocabulary_.words == order
    ours = TfIdf(sizes, max_words=max_words, tokenizer=Tokenizer()).fit(known)
    assert ours.vocabulary_.words == order[:max_words]
    # A column means the same whether its words and beginnings have columns of their own or not.
    chosen = theirs(sizes, vocabulary=order[:max_words]).fit(known)
    for new in (known, known[::-1]):
        np.testing.assert_allclose(ours.transform(new).toarray(), chosen.transform(new).toarray(), rtol=1e-12)


def fnv(name: str) -> int:
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        state = (state ^ (state >> 33)) * factor % 2**64
    return state ^ (state >> 33)


@given(texts, ranges, st.integers(1, 20), st.booleans())
@settings(deadline=None, max_examples=50)
def test_hashing_folds_the_columns(known: list[str], sizes: tuple[int, int], n_features: int, sublinear: bool) -> None:
    ours = TfIdf(sizes, sublinear, n_features=n_features, tokenizer=Tokenizer(stop_words=["the"]))
    counter = CountVectorizer(token_pattern=LETTERS, ngram_range=sizes, stop_words=["the"])
    try:
        counts = counter.fit_transform(known).toarray()
    except ValueError:
        with pytest.raises(CorpusError, match="in a row"):
            ours.fit(known)
        return
    folded = np.zeros((len(known), n_features))
    for column, name in enumerate(counter.get_feature_names_out()):
        folded[:, fnv(name) % n_features] += counts[:, column]
    expected = TfidfTransformer(sublinear_tf=sublinear).fit_transform(sparse.csr_array(folded))
    found = ours.fit_transform(known)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)
    same(ours.transform(known), found)


def test_the_hash_is_the_same_for_ever() -> None:
    counts = hashed_counts(["new york", "ça"], Tokenizer(), (1, 2), 2**20)
    assert counts[[0]].indices.tolist() == sorted([fnv(name) % 2**20 for name in ("new", "york", "new york")])
    assert (fnv("new york"), counts[[1]].indices.tolist()) == (0xEF0286FD6CFD1875, [907752])


@pytest.mark.parametrize("more", [{}, {"ngram_range": (1, 3)}, {"n_features": 30, "ngram_range": (2, 2)}])
def test_all_that_texts_can_be(more: dict[str, Any]) -> None:
    words = Tokenizer(min_length=2)
    expected = TfIdf(tokenizer=words, **more).fit_transform(TEXTS)
    tokens = [words(text) for text in TEXTS]
    small = [block.part(i, i + 1) for block in blocks(TEXTS) for i in range(len(block))]
    assert len(small) > 3
    for source in (iter(TEXTS), pa.array(TEXTS), np.array(TEXTS)[:, None], small, tokens):
        ours = TfIdf(tokenizer=words, **more)
        source = list(source) if source is small else source
        same(ours.fit_transform(source), expected)
        same(ours.transform(small), expected)
        same(ours.transform(tokens), expected)
        same(sparse.vstack([ours.transform([text]) for text in TEXTS]), expected)
    same(TfIdf(tokenizer=words.__call__, **more).fit_transform(TEXTS), expected)
    assert ours.transform([]).shape == (0, expected.shape[1])


def test_what_is_no_word_is_no_neighbour() -> None:
    pairs = TfIdf((1, 2), tokenizer=Tokenizer()).fit(["north sea", "x" * 1025 + " south pole"])
    assert pairs.vocabulary_.words == ["north", "pole", "sea", "south", "north sea", "south pole"]
    unseen, long = pairs.transform(["north grey sea", f"north {'x' * 1025} sea"]).toarray()
    assert np.flatnonzero(unseen).tolist() == np.flatnonzero(long).tolist() == [0, 2]
    lists = TfIdf((1, 2)).fit([["north", "", "sea"], ["the", "north"], ["y" * 1025]])  # "the" is a stop word
    assert lists.vocabulary_.words == ["north", "sea"]
    hashed = TfIdf((2, 2), n_features=5).fit([["a b", "c"], ["north", "", "sea", "the", "north"]])
    assert hashed.transform([["north", "", "sea", "the", "north"]]).nnz == 0


@pytest.mark.parametrize("more", [{}, {"max_words": 4}, {"n_features": 16}])
def test_what_is_saved_comes_back(more: dict[str, Any], tmp_path: Path) -> None:
    fitted = TfIdf((1, 2), True, tokenizer=Tokenizer(), **more).fit(TEXTS)
    fitted.save(tmp_path / "saved")
    loaded = TfIdf.load(tmp_path / "saved")
    same(loaded.transform(TEXTS), fitted.transform(TEXTS))
    assert loaded.get_params() == fitted.get_params()
    assert loaded.ngram_range_ == (1, 2)
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert loaded.set_params(ngram_range=(1, 1)).transform(TEXTS).shape == (6, len(fitted.idf_))
    same(clone(fitted).fit_transform(TEXTS), fitted.transform(TEXTS))


def test_damage_is_found_out(tmp_path: Path) -> None:
    fitted = TfIdf((1, 2)).fit(TEXTS)
    fitted.idf_ = fitted.idf_[:-1]
    fitted.save(tmp_path / "saved")
    with pytest.raises(StoreError, match="idf do not fit each other"):
        TfIdf.load(tmp_path / "saved")
    parts = learn_ngrams(TEXTS, Tokenizer(), (1, 2))[0].to_fields()
    Ngrams(**parts)
    wrong = {
        "longer": [parts["longer"][::-1], parts["longer"] + 10_000, -1 - parts["longer"], parts["longer"][:-1]],
        "columns": [parts["columns"][1:], parts["columns"] * 2, np.zeros_like(parts["columns"])],
    }
    for sizes in [(0, 2), (2, 1)]:
        with pytest.raises(StoreError, match="damaged"):
            Ngrams(**parts | {"ngram_range": sizes})
    for name, some in wrong.items():
        for array in [*some, parts[name].astype(float), parts[name][..., None]]:
            with pytest.raises(StoreError, match="damaged"):
                Ngrams(**parts | {name: array})


def test_it_stands_beside_others() -> None:
    union = make_union(LatentSemanticIndex(2), TfIdf((1, 2)))
    rows = union.fit_transform(TEXTS)
    assert (rows.format, rows.shape[0]) == ("csr", 6)
    assert "tfidf__new york" in union.get_feature_names_out()
    hashed = TfIdf(n_features=3).fit(TEXTS)
    assert hashed.get_feature_names_out().tolist() == ["tfidf0", "tfidf1", "tfidf2"]
    assert not hasattr(hashed, "vocabulary_")


def test_one_weighting_for_all() -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.3, (40, 30)).astype(np.int32))
    for sublinear in (False, True):
        scheme = TfidfTransformer(sublinear_tf=sublinear).fit(counts)
        np.testing.assert_array_equal(smoothed_idf(counts), scheme.idf_)
        found = weighted(counts, scheme.idf_, sublinear_tf=sublinear)
        np.testing.assert_array_equal(found.toarray(), scheme.transform(counts.astype(float)).toarray())
    with pytest.raises(ValueError, match="counts of 30 words do not fit the idf of 29"):
        weighted(counts, scheme.idf_[1:], sublinear_tf=True)


def test_faults_are_told() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"ngram_range": (0, 1)}, r"ngram_range must be two whole numbers, 1 <= shortest <= longest, not \(0, 1\)"),
        ({"ngram_range": (2, 1)}, r"ngram_range .* not \(2, 1\)"),
        ({"ngram_range": (1, 1.5)}, r"ngram_range .* not \(1, 1.5\)"),
        ({"n_features": 2**31}, "'n_features' .* Got 2147483648"),
        ({"n_features": 9, "max_words": 9}, "max_words and n_features exclude each other"),
    ]
    for parameters, message in wrong:
        with pytest.raises(ValueError, match=message):
            TfIdf(**parameters).fit(TEXTS)
    with pytest.raises(CorpusError, match="none of the texts has 7 words in a row; at least one must"):
        TfIdf((7, 7)).fit(TEXTS)
    for nothing in ([], ["", "12"], [[]], ["the"]):
        with pytest.raises(CorpusError, match="none of the texts has a word"):
            TfIdf((1, 2)).fit(nothing)


def same(found: Any, expected: Any) -> None:
    """Insist on the same bits in the same places."""
    assert found.shape == expected.shape
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))

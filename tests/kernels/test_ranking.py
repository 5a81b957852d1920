"""Scores of words and the best documents, beside the same in numpy, number by number."""

from typing import Any

import numpy as np
import pytest

from parasphere import _kernels

F4 = np.float32


def postings(docs: int = 50, words: int = 9, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    held = [np.sort(rng.choice(docs, rng.integers(0, docs), replace=False)) for _ in range(words)]
    starts = np.cumsum([0, *map(len, held)])
    documents = np.concatenate(held).astype(np.int32)
    counts = rng.integers(1, 9, len(documents)).astype(np.uint16)
    return [starts, documents, counts, rng.uniform(0.3, 4, docs).astype(F4)]


def query_terms(queries: int = 4, words: int = 9, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(0, 5, queries))
    return [ends, rng.integers(0, words, ends[-1]).astype(np.int32), rng.normal(size=ends[-1])]


@pytest.mark.parametrize("width", [1, 7, 50, 80])
def test_scores_of_words_block_by_block(width: int) -> None:
    (starts, documents, counts, norms), (ends, words, weights) = postings(), query_terms()
    due = np.ones((len(ends), 50), F4)
    first = 0
    for query, end in enumerate(ends):
        for word, weight in zip(words[first:end], weights[first:end], strict=True):
            for at in range(starts[word], starts[word + 1]):
                doc = documents[at]
                value = F4(2.2) * F4(counts[at]) / (F4(counts[at]) + norms[doc])
                due[query, doc] += F4(0.4 * weight) * value
        first = end
    cursors = starts[words]
    found = []
    for begin in range(0, 50, width):
        scores = np.ones((len(ends), width), F4)
        given = tuple(query_terms()), tuple(postings()), 2.2, 0.4, begin, cursors, scores, begin + width
        _kernels.add_word_scores(*given)
        found.append(scores)
    assert np.concatenate(found, axis=1)[:, :50].tobytes() == due.tobytes()
    assert (cursors == starts[words + 1]).all()


def ranked(queries: Any, documents: Any, k: int, a: Any = None, p: Any = None, **changed: Any) -> tuple[Any, Any, Any]:
    """Call ``_kernels.rank`` and return positions, cosines and scores."""
    of = {"weight": 0.6, "scale": 0.4, "admitted": None, "candidates": None, "spare": 8, "threads": 2, **changed}
    shape = len(queries), k
    positions, cosines, scores = np.full(shape, -1), np.empty(shape), np.empty(shape)
    _kernels.rank(
        queries, documents, of["weight"], None if a is None else tuple(a), None if p is None else tuple(p), 2.2,
        of["scale"], of["admitted"], of["candidates"], of["spare"], of["threads"], positions, cosines, scores,
    )  # fmt: skip
    return positions, cosines, scores


def scores_of_words(docs: int) -> np.ndarray:
    (starts, documents, counts, norms), (ends, words, weights) = postings(docs), query_terms()
    due = np.zeros((len(ends), docs))
    first = 0
    for query, end in enumerate(ends):
        for word, weight in zip(words[first:end], weights[first:end], strict=True):
            for at in range(starts[word], starts[word + 1]):
                count, flat = float(counts[at]), float(norms[documents[at]])
                due[query, documents[at]] += weight * (2.2 * count / (count + flat))
        first = end
    return due


@pytest.mark.parametrize("docs", [50, 5000])
@pytest.mark.parametrize("dim", [3, 16, 33])
@pytest.mark.parametrize("half", [False, True])
def test_the_best_are_those_of_numpy(docs: int, dim: int, half: bool) -> None:
    rng = np.random.default_rng(docs + dim)
    queries, documents = rng.normal(size=(4, dim)), rng.normal(size=(docs, dim)).astype(np.float16 if half else F4)
    queries[2] = 0
    rows = documents.view(np.uint16) if half else documents
    cosines = queries @ documents.astype(float).T
    admitted = rng.random(docs) < 0.7
    for mask in (None, admitted):
        for words in (False, True):
            due = 0.6 * cosines + (0.4 * scores_of_words(docs) if words else 0)
            due[:, ~admitted] = due[:, ~admitted] if mask is None else -np.inf
            terms = (query_terms(), postings(docs)) if words else ()
            order = np.argsort(-due, axis=1, kind="stable")[:, :9]
            for threads in (1, 5):
                found, of, scores = ranked(queries, rows, 9, *terms, admitted=mask, threads=threads)
                assert (found == order).all()
                np.testing.assert_allclose(scores, np.take_along_axis(due, order, 1), atol=1e-12)
                np.testing.assert_allclose(of, np.take_along_axis(cosines, order, 1), atol=1e-12)


def test_given_candidates_are_ranked_and_no_others() -> None:
    rng = np.random.default_rng(3)
    queries, documents = rng.normal(size=(4, 7)), rng.normal(size=(50, 7)).astype(F4)
    near = rng.integers(0, 50, (4, 30))
    due = 0.6 * (queries @ documents.astype(float).T) + 0.4 * scores_of_words(50)
    found, _, scores = ranked(queries, documents, 5, query_terms(), postings(), candidates=near)
    for own, candidates, all_scores, positions in zip(scores, near, due, found, strict=True):
        best = sorted(set(candidates.tolist()), key=lambda doc: -all_scores[doc])[:5]
        assert positions.tolist() == best
        np.testing.assert_allclose(own, all_scores[best], atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 40])
def test_of_equal_scores_the_first_comes_first(k: int) -> None:
    queries, documents = np.ones((20, 1)), np.round(np.random.default_rng(k).normal(size=(5000, 1)), 1).astype(F4)
    due = np.argsort(-documents[:, 0], kind="stable")[:k]
    positions = np.empty((20, k), np.int64)
    for threads in (1, 7):
        _kernels.largest_products(queries, documents, threads, positions)
        assert (positions == due).all()


class TestWrong:
    """Nothing is read or written beyond an array, whatever a file has."""

    @staticmethod
    def both(a: list[Any], p: list[Any], **changed: Any) -> None:
        queries = len(a[0])
        of = {"most": 2.2, "scale": 1.0, "begin": 0, "end": 50, **changed}
        cursors = of.get("cursors", np.zeros(len(a[1]), np.int64))
        scores = of.get("scores", np.zeros((queries, 50), F4))
        _kernels.add_word_scores(tuple(a), tuple(p), of["most"], of["scale"], of["begin"], cursors, scores, of["end"])

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            (0, np.array([0, 999, *[999] * 8]), "starts must rise from 0 to at most"),
            (0, np.array([5, 3, 4, 4, 4, 4, 4, 4, 4, 4]), "starts must rise from 0 to at most"),
            (0, np.array([-5, 3, 4, 4, 4, 4, 4, 4, 4, 4]), "starts must rise from 0 to at most"),
            (0, np.array([0, 2**62, 2**62, 4, 4, 4, 4, 4, 4, 4]), "starts must rise from 0 to at most"),
            (0, np.empty(0, np.int64), "starts must have one number more"),
            (0, np.zeros(2, np.int32), "incompatible function arguments"),
            (1, np.zeros(3, np.int64), "incompatible function arguments"),
            (2, np.zeros(3, np.uint16), "an array must have size .*one per posting"),
            (2, None, "incompatible function arguments"),
            (3, np.ones((5, 1), F4), "incompatible function arguments"),
        ],
    )
    def test_postings(self, field: int, value: Any, message: str) -> None:
        mine = [np.array([3]), np.array([0, 1, 2], np.int32), np.ones(3)]
        own = postings()
        own[field] = value
        with pytest.raises((ValueError, TypeError), match=message):
            self.both(mine, own)
        with pytest.raises((ValueError, TypeError), match=message):
            ranked(np.ones((1, 3)), np.ones((50, 3), F4), 3, mine, own)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            (0, np.array([4]), "ends must rise from 0 to at most 3, but 4 follows 0"),
            (0, np.array([-1]), "ends must rise from 0 to at most 3, but -1 follows 0"),
            (0, np.array([1], np.int32), "incompatible function arguments"),
            (1, np.array([0, 1, 9], np.int32), "words must be from 0 to below 9, not 9"),
            (1, np.array([0, 1, -1], np.int32), "words must be from 0 to below 9, not -1"),
            (2, np.ones(4), "an array must have size 3"),
        ],
    )
    def test_query_terms(self, field: int, value: Any, message: str) -> None:
        mine: list[Any] = [np.array([3]), np.array([0, 1, 2], np.int32), np.ones(3)]
        mine[field] = value
        with pytest.raises((ValueError, TypeError), match=message):
            self.both(mine, postings())
        with pytest.raises((ValueError, TypeError), match=message):
            ranked(np.ones((1, 3)), np.ones((50, 3), F4), 3, mine, postings())

    def test_documents_that_do_not_exist_or_do_not_rise(self) -> None:
        mine = [np.array([1]), np.array([0], np.int32), np.ones(1)]
        for documents in ([-1, 2], [3, 1], [2**31 - 1, 0], [-(2**31), 0]):
            own = [np.array([0, 2]), np.array(documents, np.int32), np.ones(2, np.uint16), np.ones(5, F4)]
            scores = np.zeros((1, 3), F4)
            for begin in (0, 1, 2, 4, 5, 2**62):
                try:
                    self.both(mine, own, begin=begin, end=2**63 - 1, scores=scores)
                except ValueError as error:
                    assert "documents of a word must rise" in str(error)  # noqa: PT017
            ranked(np.ones((1, 3)), np.ones((5, 3), F4), 5, mine, own)

    def test_numbers(self) -> None:
        with pytest.raises(ValueError, match="begin must be at least 0, not -1"):
            self.both(query_terms(), postings(), begin=-1)
        for cursor in (-1, 2**62):
            with pytest.raises(ValueError, match="cursors must be from 0 to below"):
                self.both(query_terms(), postings(), cursors=np.full(query_terms()[0][-1], cursor))
        cursors = np.zeros(query_terms()[0][-1], np.int64)
        cursors.flags.writeable = False
        with pytest.raises(TypeError, match="incompatible function arguments"):
            self.both(query_terms(), postings(), cursors=cursors)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            self.both(query_terms(), postings(), scores=np.zeros((4, 9), F4)[:, ::2])
        with pytest.raises(TypeError):
            self.both(query_terms(), postings(), begin=2**63)
        self.both(query_terms(), postings(), most=np.nan, scale=np.inf)
        own = postings()
        own[2][:], own[3][:] = 0, 0
        with pytest.raises(ValueError, match="counts must be above 0 where norms are 0"):
            self.both([np.array([9]), np.arange(9, dtype=np.int32), np.ones(9)], own)

    def test_tuples(self) -> None:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            self.both(query_terms(), postings()[:3])
        with pytest.raises(TypeError, match="incompatible function arguments"):
            self.both([*query_terms(), 3], postings())

    @pytest.mark.parametrize("position", [-1, 50, 2**62, -(2**63)])
    def test_positions(self, position: int) -> None:
        with pytest.raises(ValueError, match="candidates must be from 0 to below 50, not"):
            ranked(np.ones((1, 3)), np.ones((50, 3), F4), 1, candidates=np.array([[position]]))

    def test_one_array_twice(self) -> None:
        """Cursors that overwrite the ends of queries while these are read."""
        ends = np.arange(1, 10)
        mine = [ends, np.arange(9, dtype=np.int32)[::-1].copy(), np.ones(9)]
        with pytest.raises(ValueError, match="must"):
            self.both(mine, postings(), cursors=ends)

    def test_shapes_and_numbers(self) -> None:
        queries, documents = np.ones((2, 3)), np.ones((5, 3), F4)
        with pytest.raises(ValueError, match="positions must have at most as many columns as there are documents, 5"):
            ranked(queries, documents, 6)
        with pytest.raises(ValueError, match="an array must have size 3 along axis 1"):
            ranked(queries, np.ones((5, 4), F4), 2)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ranked(queries, documents.astype(float), 2)
        with pytest.raises(ValueError, match="threads must be from 1 to 1024, not 0"):
            ranked(queries, documents, 2, threads=0)
        with pytest.raises(ValueError, match="an array must have size 5"):
            ranked(queries, documents, 2, admitted=np.ones(4, bool))
        with pytest.raises(ValueError, match="query 0 has a score with 1 documents only"):
            ranked(queries, documents, 2, admitted=np.arange(5) == 3)
        with pytest.raises(ValueError, match="the rows must be finite"):
            ranked(queries, documents * np.nan, 2)

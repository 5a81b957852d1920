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


def test_scores_of_words_of_some_documents() -> None:
    (starts, documents, counts, norms), (ends, words, weights) = postings(), query_terms()
    positions = np.random.default_rng(1).integers(0, 50, (len(ends), 30))
    due = np.zeros(positions.shape)
    first = 0
    for query, end in enumerate(ends):
        for column, doc in enumerate(positions[query]):
            for word, weight in zip(words[first:end], weights[first:end], strict=True):
                for at in range(starts[word], starts[word + 1]):
                    if documents[at] == doc:
                        count, flat = float(counts[at]), float(norms[doc])
                        due[query, column] += weight * (2.2 * count / (count + flat))
        first = end
    scores = np.full(positions.shape, np.nan)
    _kernels.word_scores(tuple(query_terms()), tuple(postings()), 2.2, positions, scores)
    assert scores.tobytes() == due.tobytes()


@pytest.mark.parametrize("k", [1, 2, 5, 40])
@pytest.mark.parametrize("size", [1, 31, 64, 5000])
def test_the_best_of_all_are_kept(k: int, size: int) -> None:
    scores = np.random.default_rng(k).integers(-9, 900, (3, size)).astype(F4)
    scores[0, ::3] = np.nan
    best, positions = np.full((3, k), -np.inf, F4), np.full((3, k), -1)
    for begin in range(0, size, 700):
        part = np.ascontiguousarray(scores[:, begin : begin + 700])
        _kernels.keep_best(part, part.shape[1], begin, best, positions)
    for row, own, places in zip(scores, best, positions, strict=True):
        present = np.flatnonzero(~np.isnan(row))
        due = present[np.lexsort((present, -row[present]))][:k]
        kept = places >= 0
        order = np.lexsort((places[kept], -own[kept]))
        assert places[kept][order].tolist() == due.tolist()
        assert own[kept][order].tolist() == row[due].tolist()


def test_no_best_are_asked_for() -> None:
    _kernels.keep_best(np.ones((2, 3), F4), 3, 0, np.ones((2, 0), F4), np.ones((2, 0), np.int64))


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
            _kernels.word_scores(tuple(mine), tuple(own), 2.2, np.zeros((1, 3), np.int64), np.zeros((1, 3)))

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
            _kernels.word_scores(tuple(mine), tuple(postings()), 2.2, np.zeros((1, 3), np.int64), np.zeros((1, 3)))

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
            _kernels.word_scores(tuple(mine), tuple(own), 2.2, np.arange(5)[None], np.zeros((1, 5)))

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
        with pytest.raises(TypeError):
            _kernels.word_scores(None, tuple(postings()), 2.2, np.zeros((1, 3), np.int64), np.zeros((1, 3)))

    @pytest.mark.parametrize("position", [-1, 50, 2**62, -(2**63)])
    def test_positions(self, position: int) -> None:
        mine = [np.array([1]), np.array([0], np.int32), np.ones(1)]
        with pytest.raises(ValueError, match="positions must be from 0 to below 50, not"):
            _kernels.word_scores(tuple(mine), tuple(postings()), 2.2, np.array([[position]]), np.zeros((1, 1)))

    def test_one_array_twice(self) -> None:
        """Cursors that overwrite the ends of queries while these are read."""
        ends = np.arange(1, 10)
        mine = [ends, np.arange(9, dtype=np.int32)[::-1].copy(), np.ones(9)]
        with pytest.raises(ValueError, match="must"):
            self.both(mine, postings(), cursors=ends)

    def test_keep_best(self) -> None:
        scores, best, positions = np.ones((2, 5), F4), np.ones((2, 3), F4), np.ones((2, 3), np.int64)
        for size in (-1, 6, 2**62):
            with pytest.raises(ValueError, match="size must be from 0 to the 5 scores of a row"):
                _kernels.keep_best(scores, size, 0, best, positions)
        for begin in (-1, 2**63 - 1):
            with pytest.raises(ValueError, match="begin must be the position of a document"):
                _kernels.keep_best(scores, 5, begin, best, positions)
        with pytest.raises(ValueError, match="an array must have size 2 along axis 0"):
            _kernels.keep_best(scores, 5, 0, best[:1], positions)
        with pytest.raises(ValueError, match="an array must have size 3 along axis 1"):
            _kernels.keep_best(scores, 5, 0, best, np.ones((2, 2), np.int64))
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _kernels.keep_best(scores.astype(float), 5, 0, best, positions)

"""Exact ranking of many documents for many queries, by cosines, by words, or by both."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import add_word_scores, keep_best, word_scores
from .lexical import Asked, Lexical

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUERIES = 128  # that are multiplied with a block at once
BLOCK = 8192  # documents in a block: its scores stay in the cache
SPARE = 8  # candidates that rounding may have put in the wrong place


class Question(NamedTuple):
    """Queries, and what counts: the score is ``of_cosines * cosine + of_words * words``.

    Attributes
    ----------
    offsets : (n_queries, dim) float64
        Unit rows, or 0 for queries without known words.
    asked : Asked or None
        The words of the queries; None if they do not count.
    of_cosines, of_words : float
        The factors of the two scores.
    """

    offsets: Floats
    asked: Asked | None
    of_cosines: float
    of_words: float

    def parts(self) -> Iterator["Question"]:
        """Yield the queries, some at a time."""
        for begin in range(0, len(self.offsets), QUERIES):
            end = min(begin + QUERIES, len(self.offsets))
            asked = None if self.asked is None else self.asked.part(begin, end)
            yield self._replace(offsets=self.offsets[begin:end], asked=asked)


class Ranked(NamedTuple):
    """The best documents per query, best first; each (n_queries, k)."""

    positions: Ints
    cosines: Floats
    scores: Floats


def rank(question: Question, documents: NDArray[Any], lexical: Lexical | None, k: int, threads: int) -> Ranked:
    """Return the ``k`` best documents of each query; the earlier of two equal ones comes first.

    Products of matrices in float32 find the candidates. Their last bits depend on how many rows are multiplied at once,
    so the scores of the candidates are computed again, one by one, in float64.

    Parameters
    ----------
    question : Question
    documents : (n_docs, dim) float32 or float16
        Unit rows, or 0 for documents without known words.
    lexical : Lexical or None
        The words of the documents, if words count.
    k : int
    threads : int
        Number of threads; each ranks a part of the documents.
    """
    k = min(k, len(documents))
    count = min(k + SPARE, len(documents))
    parts = [_rank(part, documents, lexical, k, count, threads) for part in question.parts()]
    return Ranked(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def rank_among(
    near: Ints, question: Question, documents: NDArray[Any], lexical: Lexical | None, k: int, threads: int
) -> Ranked:
    """Return the ``k`` best documents of each query among those with given positions and those that words find.

    Parameters
    ----------
    near : (n_queries, n) int64
        Positions of documents whose offsets are close to those of each query, at least ``k`` or all of them.
    question, documents, lexical, k, threads
        As in :func:`rank`.
    """
    positions = near
    if question.asked is not None and lexical is not None:
        by_words = rank(question._replace(of_cosines=0.0, of_words=1.0), documents, lexical, near.shape[1], threads)
        positions = np.concatenate([near, by_words.positions], axis=1)
    positions = np.sort(positions, axis=1)
    cosines, scores = _exact(question, documents, lexical, positions)
    scores[:, 1:][positions[:, 1:] == positions[:, :-1]] = -np.inf  # found in both ways
    return _ordered(positions, cosines, scores, min(k, len(documents)))


def _rank(
    question: Question, documents: NDArray[Any], lexical: Lexical | None, k: int, count: int, threads: int
) -> Ranked:
    cuts = np.linspace(0, len(documents), max(1, min(threads, len(documents) // BLOCK)) + 1).astype(int)

    def find(part: int) -> tuple[NDArray[np.float32], Ints]:
        return _candidates(question, documents, lexical, count, int(cuts[part]), int(cuts[part + 1]))

    if len(cuts) == 2:
        found = [find(0)]
    else:
        with ThreadPoolExecutor(len(cuts) - 1) as pool:
            found = list(pool.map(find, range(len(cuts) - 1)))
    positions = np.concatenate([each for _, each in found], axis=1)
    if len(found) > 1:
        rough = np.concatenate([each for each, _ in found], axis=1)
        chosen = np.lexsort((positions, -rough), axis=1)[:, :count]
        positions = np.take_along_axis(positions, chosen, 1)
    cosines, scores = _exact(question, documents, lexical, positions)
    return _ordered(positions, cosines, scores, k)


def _ordered(positions: Ints, cosines: Floats, scores: Floats, k: int) -> Ranked:
    """Return the ``k`` best candidates of each query, best first."""
    order = np.lexsort((positions, -scores), axis=1)[:, :k]
    columns: tuple[NDArray[Any], ...] = (positions, cosines, scores)
    return Ranked(*(np.take_along_axis(column, order, 1) for column in columns))


def _candidates(
    question: Question, documents: NDArray[Any], lexical: Lexical | None, count: int, first: int, last: int
) -> tuple[NDArray[np.float32], Ints]:
    """Return rough scores and positions, (n_queries, count), of the best documents from ``first`` up to ``last``."""
    queries = (question.of_cosines * question.offsets).astype(np.float32)
    best = np.full((len(queries), count), -np.inf, np.float32)
    positions = np.zeros((len(queries), count), np.int64)
    scores = np.zeros((len(queries), min(BLOCK, last - first)), np.float32)
    cursors = _cursors(question.asked, lexical, first)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        if question.of_cosines:
            rows = np.asarray(documents[begin:end], np.float32)
            if end - begin == scores.shape[1]:
                np.dot(queries, rows.T, out=scores)
            else:
                scores[:, : end - begin] = queries @ rows.T
        else:
            scores[:] = 0.0
        if question.asked is not None and lexical is not None:
            add_word_scores(
                question.asked, lexical.postings, lexical.most, question.of_words, begin, cursors, scores, end
            )
        keep_best(scores, end - begin, begin, best, positions)
    return best, positions


def _cursors(asked: Asked | None, lexical: Lexical | None, first: int) -> Ints:
    """Return the first posting of each asked word in a document that is not before ``first``."""
    if asked is None or lexical is None:
        return np.empty(0, np.int64)
    cursors = lexical.starts[asked.words]
    if first:
        ends = lexical.starts[asked.words + 1]
        for i, (begin, end) in enumerate(zip(cursors, ends, strict=True)):
            cursors[i] = begin + np.searchsorted(lexical.documents[begin:end], first)
    return cursors


def _exact(
    question: Question, documents: NDArray[Any], lexical: Lexical | None, positions: Ints
) -> tuple[Floats, Floats]:
    """Return cosines and scores of candidates, (n_queries, count), whose bits depend on nothing else."""
    cosines = np.empty(positions.shape)
    for query, chosen in enumerate(positions):  # one query at a time: the rows of many candidates take room
        cosines[query] = np.einsum("d,kd->k", question.offsets[query], documents[chosen].astype(np.float64))
    scores = question.of_cosines * cosines
    if question.asked is not None and lexical is not None:
        words = np.empty(positions.shape)
        word_scores(question.asked, lexical.postings, lexical.most, positions, words)
        scores = scores + question.of_words * words
    return cosines, scores

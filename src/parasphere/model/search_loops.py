"""The compiled loops of search: scores of words, and the best documents so far."""

from typing import Any

import numpy as np

from ..compiled import compiled, guarded

POSTINGS = {"starts": "i8[words+1]", "documents": "i4[postings]", "counts": "u2[postings]", "flatness": "f4[docs]"}
ASKED = {"ends": "i8[queries]", "words": "i4[asked]", "weights": "f8[asked]"}


@compiled(forceinline=True)
def _saturated(count: Any, flatness: Any, most: Any) -> Any:
    """Return what a word counts for in a document: less than ``most``, however often it occurs."""
    return most * count / (count + flatness)


@guarded(asked=ASKED, postings=POSTINGS, cursors="i8[asked]", scores="f4[queries,width]")
@compiled
def add_word_scores(
    asked: Any, postings: Any, most: Any, scale: Any, begin: Any, cursors: Any, scores: Any, end: Any
) -> None:
    """Add the scores of words, times ``scale``, to those of documents from ``begin`` to ``end``: (n_queries, width).

    ``cursors`` has the first posting of each word that is not before ``begin``, and is moved beyond these documents.
    """
    starts, documents, counts, flatness = postings
    end = min(end, begin + scores.shape[1], flatness.shape[0])
    first = 0
    for query in range(asked.ends.shape[0]):
        for i in range(first, asked.ends[query]):
            weight = np.float32(scale * asked.weights[i])
            at, last = cursors[i], starts[asked.words[i] + 1]
            if at < 0 or last > documents.shape[0]:
                raise ValueError("the postings of a word are beyond the last")
            while at < last and documents[at] < end:
                doc = documents[at]
                if doc < begin:
                    raise ValueError("the documents of a word must rise")
                value = _saturated(np.float32(counts[at]), flatness[doc], np.float32(most))
                scores[query, doc - begin] += weight * value
                at += 1
            cursors[i] = at
        first = asked.ends[query]


@guarded(asked=ASKED, postings=POSTINGS, positions="i8[queries,k]", scores="f8[queries,k]")
@compiled
def word_scores(asked: Any, postings: Any, most: Any, positions: Any, scores: Any) -> None:
    """Write the scores of the words of some documents per query, in float64, (n_queries, k)."""
    starts, documents, counts, flatness = postings
    first = 0
    for query in range(asked.ends.shape[0]):
        for column in range(positions.shape[1]):
            doc, total = positions[query, column], 0.0
            for i in range(first, asked.ends[query]):
                low, last = starts[asked.words[i]], starts[asked.words[i] + 1]
                if low < 0 or last > documents.shape[0]:
                    raise ValueError("the postings of a word are beyond the last")
                high = last
                while low < high:
                    middle = (low + high) // 2
                    if documents[middle] < doc:
                        low = middle + 1
                    else:
                        high = middle
                if low < last and documents[low] == doc and doc < flatness.shape[0]:
                    total += asked.weights[i] * _saturated(np.float64(counts[low]), np.float64(flatness[doc]), most)
            scores[query, column] = total
        first = asked.ends[query]


@compiled(forceinline=True)
def _is_worse(score: Any, position: Any, than_score: Any, than_position: Any) -> Any:
    """Tell whether a document is worse than another; the later of two equal ones is."""
    return score < than_score or (score == than_score and position > than_position)


@guarded(scores="f4[queries,width]", best="f4[queries,k]", positions="i8[queries,k]")
@compiled
def keep_best(scores: Any, size: Any, begin: Any, best: Any, positions: Any) -> None:
    """Update the best documents of each query, a heap with the worst of them first, by the first ``size`` scores."""
    k = best.shape[1]
    for query in range(scores.shape[0]):
        heap, places = best[query], positions[query]
        for i in range(min(size, scores.shape[1])):
            score = scores[query, i]
            if score > heap[0]:
                at = 0
                while 2 * at + 1 < k:
                    child = 2 * at + 1
                    if child + 1 < k and _is_worse(heap[child + 1], places[child + 1], heap[child], places[child]):
                        child += 1
                    if not _is_worse(heap[child], places[child], score, begin + i):
                        break
                    heap[at] = heap[child]
                    places[at] = places[child]
                    at = child
                heap[at] = score
                places[at] = begin + i

"""Selections of documents: their characteristic words, their typical texts, and a table to export."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..printable import visible
from ..search import BM25
from ..topics.words import likelihood_ratio
from .documents import DAY, Documents, Facet
from .highlighting import EXCERPT, Marked, located, pieces
from .landscape import Landscape

SHOWN = 60  # texts of a selection that are listed
WORDS, MARKED = 24, 12  # words that distinguish a selection, and how many of them are marked in its texts
SHARES = 6  # topics and labels of a selection that are listed

Rows = NDArray[np.int64]


def check_rows(rows: Rows, n_docs: int) -> None:
    """Raise unless rows are valid and different."""
    if not len(rows):
        raise ParasphereError("no text is selected; draw around some points")
    if rows.min() < 0 or rows.max() >= n_docs:
        bad = rows[(rows < 0) | (rows >= n_docs)][0]
        raise ParasphereError(f"there is no text {bad}; rows are from 0 to {n_docs - 1}")
    if len(np.unique(rows)) < len(rows):
        raise ParasphereError("a text is selected twice; give each row once")


def summary(documents: Documents, landscape: Landscape, rows: Rows) -> dict[str, Any]:
    """Return the words that distinguish documents, their topics and columns, and the most typical of them."""
    check_rows(rows, len(documents))
    bm25 = landscape.index.bm25
    assert bm25 is not None
    words = words_apart(bm25, rows)
    typical = _typical_first(landscape, rows)[:SHOWN]
    keys = bm25.keys([word["word"] for word in words[:MARKED]])
    scores = {key: word["score"] for key, word in zip(keys, words, strict=False)}
    return {
        "count": len(rows),
        "words": [word | {"word": visible(word["word"])} for word in words],
        "topics": [{"topic": code, "count": count} for code, count in _largest(landscape.topic[rows])],
        "facets": [
            {
                "name": visible(facet.name),
                "values": [
                    {"name": visible(facet.names[code]), "count": count} for code, count in _largest(facet.values[rows])
                ],
            }
            for facet in documents.facets
            if facet.kind == "words"
        ],
        "texts": [_listed(documents, landscape, scores, int(row)) for row in typical],
    }


def words_apart(bm25: BM25, rows: Rows, k: int = WORDS) -> list[dict[str, Any]]:
    """Return the words that distinguish some documents from the others best, best first.

    They are those with the largest shares in the log-likelihood ratio between these documents and all of them
    (:func:`parasphere.topics.words.likelihood_ratio`).

    Returns
    -------
    list of dict
        ``word``, ``score``, 0 to 1, and in how many of these documents (``inside``) and of the others (``outside``) it
        occurs. Nothing if all documents are chosen.
    """
    if len(rows) == len(bm25):
        return []
    chosen = np.zeros(len(bm25), bool)
    chosen[rows] = True
    (inside, texts_inside), (outside, texts_outside) = bm25.frequencies(chosen), bm25.frequencies(~chosen)
    scores = likelihood_ratio(np.stack([inside, outside]).astype(np.float64))[0]
    best = np.argsort(-scores, kind="stable")[:k]
    return [
        {
            "word": bm25.forms[int(w)],
            "score": float(scores[w] / scores[best[0]]),
            "inside": int(texts_inside[w]),
            "outside": int(texts_outside[w]),
        }
        for w in best
        if scores[w] > 0
    ]


def export_table(documents: Documents, landscape: Landscape, rows: Rows) -> dict[str, list[Any]]:
    """Return the columns of documents, with their positions, topics and certainties.

    Parameters
    ----------
    documents : Documents
    landscape : Landscape
    rows : (n,) int64
    """
    check_rows(rows, len(documents))
    topics, found = landscape.topic[rows].tolist(), landscape.topics
    large = found.at(found.levels_[0])
    columns: dict[str, list[Any]] = {
        "row": rows.tolist(),
        "id": documents.ids.take(rows).tolist(),
        "text": documents.texts.take(rows).tolist(),
        "topic": [topic if topic >= 0 else None for topic in topics],
        "topic_name": [name or None for name in found.text_names(topics)],
        "large_topic_name": [name or None for name in large.text_names(large.labels_[rows].tolist())],
        "x": landscape.points[rows, 0].tolist(),
        "y": landscape.points[rows, 1].tolist(),
        "certainty": landscape.certainty[rows].tolist(),
    }
    for facet in documents.facets:
        name = facet.name if facet.name not in columns else f"{facet.name} (column)"
        columns[name] = [_exported(facet, value) for value in facet.values[rows].tolist()]
    return columns


def _exported(facet: Facet, value: float) -> Any:
    if np.isnan(value):
        return None
    if facet.kind == "words":
        return facet.names[int(value)]
    if facet.kind == "number":
        return int(value) if value == int(value) else value
    return datetime.fromtimestamp(value * DAY, UTC).replace(tzinfo=None)


def _typical_first(own: Landscape, rows: Rows) -> Rows:
    """Return rows in the order of their cosines with the mean of all of them, largest first."""
    offsets = own.index.offsets[rows].astype(np.float32)
    return np.asarray(rows[np.argsort(-(offsets @ offsets.mean(axis=0)), kind="stable")])


def _largest(codes: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the most frequent codes of 0 or more, and how often each occurs."""
    counts = np.bincount(codes[codes >= 0].astype(np.int64))
    best = np.argsort(-counts, kind="stable")[:SHARES]
    return [(int(code), int(counts[code])) for code in best if counts[code]]


def _listed(documents: Documents, landscape: Landscape, scores: dict[str, float], row: int) -> dict[str, Any]:
    bm25 = landscape.index.bm25
    assert bm25 is not None
    text = documents.texts[row]
    words = bm25.tokenizer(text)
    marked = [(word, scores[key]) for word, key in zip(words, bm25.keys(words), strict=True) if key in scores]
    spans = located(text, [word for word, _ in marked], bm25.tokenizer)
    marks = [Marked(*span, score) for span, (_, score) in zip(spans, marked, strict=True) if span is not None]
    return {
        "row": row,
        "id": visible(documents.ids[row]),
        "topic": int(landscape.topic[row]),
        "pieces": pieces(text, marks, EXCERPT),
    }

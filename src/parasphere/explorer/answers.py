"""The answers to what the page asks."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import without_surrogates
from ..errors import CoverageWarning, ParasphereError
from ..model import Match
from ..plots import place_among
from ..plots.layout import median
from ..printable import visible
from .documents import Documents, iso_date
from .highlighting import EXCERPT, Marked, located, marked, pieces
from .landscape import Landscape
from .selecting import export_table, summary

MOST_NAMES = 40  # labels that are named on the map
NEAR = 15  # texts by which a new text is placed on the map
SHOWN_TOPICS, LEAST_SHARE = 4, 0.03  # topics of a text that are named
LONGEST = 20_000  # characters of a text that is typed
SHARED = 0.5  # how strongly a word is marked that both texts have and that has no vector
WORDS = 8  # that name a topic
GLANCE = 200  # characters of a text under the pointer
SAMPLE = 2000  # points by which the middle of a group is found


class Explorer:
    """Documents and what one or two models make of them; every method returns what the page is sent.

    Parameters
    ----------
    documents : Documents
    landscapes : sequence of Landscape
        One per model, of the same documents.
    title : str, default=""
    """

    def __init__(self, documents: Documents, landscapes: Sequence[Landscape], title: str = "") -> None:
        sizes = {len(documents), *map(len, landscapes)}
        if len(sizes) > 1 or not landscapes:
            raise ParasphereError(f"models must be of the same documents, not of {sorted(sizes)}; give at least one")
        self.documents, self.landscapes, self.title = documents, list(landscapes), title
        self._sorted = [np.sort(each.certainty) for each in landscapes]
        self._names = [each.topics.topic_words(WORDS) for each in landscapes]

    def about(self) -> dict[str, Any]:
        """Return what the page needs to begin."""
        documents = self.documents
        counts = np.bincount(documents.labels[documents.labels >= 0], minlength=len(documents.label_names))
        return {
            "title": visible(self.title),
            "n": len(documents),
            "labels": [
                {"name": visible(name), "size": int(size)}
                for name, size in zip(documents.label_names, counts, strict=True)
            ],
            "dated": documents.dates is not None,
            "models": [self._described(place) for place in range(len(self.landscapes))],
        }

    def array(self, place: int, name: str) -> NDArray[Any]:
        """Return the numbers of all documents: points, topic or certainty of a model, or label or date."""
        shared = {"label": self.documents.labels, "date": self.documents.dates}
        own = self.landscapes[place]
        arrays = {"points": own.points, "topic": own.topic, "certainty": own.certainty} | shared
        found = arrays.get(name)
        if found is None:
            raise ParasphereError(f"there is no {name!r} here; there are {', '.join(arrays)}")
        return np.ascontiguousarray(found)

    def search(self, text: str, k: int = 12) -> dict[str, Any]:
        """Return where a text belongs on each map, what is near to it and why, and its topics."""
        if not text.strip():
            raise ParasphereError("there is nothing to search for; type a few words")
        text = without_surrogates(text)  # without lone surrogates, which JSON may hold
        if len(text) > LONGEST:
            raise ParasphereError(f"a text of {len(text):,} characters is too long; the limit is {LONGEST:,}")
        with _unknown_words_allowed():
            return {
                "text": visible(text),
                "models": [self._seen(place, text, k) for place in range(len(self.landscapes))],
            }

    def document(self, row: int, k: int = 12, asked: str = "") -> dict[str, Any]:
        """Return all that is known of a document, and what is near to it; ``asked`` marks its part in a match."""
        text = self._text(row)
        asked = without_surrogates(asked[:LONGEST])
        with _unknown_words_allowed():
            models = [
                self._seen(place, text, k, row) | {"pieces": self._marked(place, asked, text, None)}
                for place in range(len(self.landscapes))
            ]
        return self._facts(row) | {"models": models}

    def glance(self, row: int) -> dict[str, Any]:
        """Return the beginning of a document, and what is known of it."""
        return {"text": visible(" ".join(self._text(row)[: 2 * GLANCE].split())[:GLANCE]), **self._facts(row)}

    def selection(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return what some documents have in common, and the most typical of them."""
        return summary(self.documents, self.landscapes, rows)

    def table(self, rows: NDArray[np.int64]) -> Any:
        """Return some documents as an Arrow table, to be exported."""
        return export_table(self.documents, self.landscapes, self._names, rows)

    def _described(self, place: int) -> dict[str, Any]:
        """Return a model and its topics."""
        own = self.landscapes[place]
        sizes = np.bincount(own.topic[own.topic >= 0], minlength=len(self._names[place]))
        low, high = np.quantile(own.certainty, [0.02, 0.98]).tolist()
        labels = range(min(MOST_NAMES, len(self.documents.label_names)))
        return {
            "name": visible(own.name),
            "dim": own.index.offsets.shape[1],
            "topics": [
                {
                    "words": [visible(word) for word in words],
                    "size": int(size),
                    "place": _middle(own.points[own.topic == topic]),
                }
                for topic, (words, size) in enumerate(zip(self._names[place], sizes, strict=True))
            ],
            "label_places": [_middle(own.points[self.documents.labels == label]) for label in labels],
            "certainty": [low, high],
        }

    def _seen(self, place: int, text: str, k: int, row: int | None = None) -> dict[str, Any]:
        """Return a text as a model sees it; ``row`` is its place if it is one of the documents."""
        own = self.landscapes[place]
        posterior = own.index.encoder.posterior([text])
        certainty = float(posterior.mean_length[0])
        facts = {
            "certainty": certainty,
            "rank": float(np.searchsorted(self._sorted[place], np.float32(certainty)) / len(own)),
            "information": float(posterior.information[0]),
            "unknown": self._unknown(own, text),
            "topics": self._topics(place, text),
        }
        found = own.index.search(text, max(k, NEAR) + 1)
        if not found:  # no word is known
            spot = None if row is None else own.points[row].tolist()
            return facts | {"place": spot, "matches": [], "topics": [], "information": 0.0}
        near = [match for match in found if match.position != row]
        rows = [match.position for match in near[:NEAR]]
        if row is not None or not rows:
            spot = own.points[row or 0]
        else:
            spot = place_among(own.points[rows], [match.similarity for match in near[:NEAR]])
        return facts | {"place": spot.tolist(), "matches": [self._match(place, text, match) for match in near[:k]]}

    def _match(self, place: int, text: str, match: Match) -> dict[str, Any]:
        assert match.text is not None
        return {
            **self._facts(match.position),
            "similarity": match.similarity,
            "topic": int(self.landscapes[place].topic[match.position]),
            "pieces": self._marked(place, text, match.text, EXCERPT),
        }

    def _marked(self, place: int, asked: str, text: str, length: int | None) -> list[list[str | float]]:
        """Return a text in pieces; those that made it match what was asked are marked."""
        if not asked.strip():
            return pieces(text, [], length)
        index = self.landscapes[place].index
        words = index.encoder.explain_match(asked, text).words_b
        marks = marked(text, words, index.encoder.text_reader.tokenizer)
        bm25 = index.bm25
        assert bm25 is not None
        split, shared = bm25.tokenizer, set(bm25.keys(bm25.tokenizer(asked)))
        found = split(text)
        also = [word for word, key in zip(found, bm25.keys(found), strict=True) if key in shared]
        taken = {mark.begin for mark in marks}
        marks += [
            Marked(*span, SHARED) for span in located(text, also, split) if span is not None and span[0] not in taken
        ]
        return pieces(text, sorted(marks), length)

    def _topics(self, place: int, text: str) -> list[dict[str, Any]]:
        """Return the likeliest topics of a text, the likeliest first; none for a text that says nothing."""
        topics = self.landscapes[place].topics
        if not topics.vectors([text]).any():
            return []
        shares = topics.transform([text])[0]
        best = np.argsort(-shares, kind="stable")[:SHOWN_TOPICS]
        return [{"topic": int(t), "share": float(shares[t])} for t in best if shares[t] >= LEAST_SHARE]

    @staticmethod
    def _unknown(own: Landscape, text: str) -> list[str]:
        """Return the words of a text that have no vector, each once."""
        units = own.index.encoder.text_reader.lookup.units(text)
        return [visible(word) for word in dict.fromkeys(word for word, row in units if row < 0)][:20]

    def _text(self, row: int) -> str:
        if not 0 <= row < len(self.documents):
            raise ParasphereError(f"there is no text {row}; rows are from 0 to {len(self.documents) - 1}")
        return str(self.documents.texts[row])

    def _facts(self, row: int) -> dict[str, Any]:
        documents = self.documents
        label = int(documents.labels[row])
        return {
            "row": row,
            "id": visible(documents.ids[row]),
            "label": None if label < 0 else visible(documents.label_names[label]),
            "date": None if documents.dates is None else iso_date(float(documents.dates[row])),
        }


@contextmanager
def _unknown_words_allowed() -> Iterator[None]:
    """Do not warn of words without vectors: the page says which they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        yield


def _middle(points: NDArray[np.float32]) -> list[float] | None:
    """Return where a group is named; None if it has no points."""
    step = max(1, len(points) // SAMPLE)
    return median(points[::step].astype(np.float64)).tolist() if len(points) else None

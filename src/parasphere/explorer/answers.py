"""The answers to the requests of the page."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..corpus import without_surrogates
from ..errors import CoverageWarning, ParasphereError
from ..model import Encoder, Match
from ..model.estimator import SphericalParagraphModel
from ..plots import place_among
from ..plots.colours import text_colour, topic_colours
from ..plots.layout import median
from ..printable import visible
from ..search import Index
from ..topics import SphericalTopics
from .documents import Documents, Facet, read_documents
from .highlighting import EXCERPT, Marked, located, marked, pieces
from .landscape import Landscape, landscape_of
from .selecting import check_rows, export_table, summary

NEAR = 15  # neighbours by which a new text is placed on the map
SHOWN_TOPICS, LEAST_SHARE = 4, 0.03  # most topics of a text that are shown, and least share of each
LONGEST = 20_000  # most characters of a query
SHARED = 0.5  # strength of the mark of a shared word without a vector
WORDS = 8  # of a topic
GLANCE = 600  # characters of a text under the pointer
VALUES = 100  # of a column of words that can be selected; rarer ones are selected together
COLOURED = 12  # values that have a colour of their own
SAMPLE = 2000  # most points from which the middle of a group is computed


class Explorer:
    """The documents and the landscape behind a page; each method returns the answer to one of its requests.

    Parameters
    ----------
    documents : Documents
    landscape : Landscape
        Of the same documents.
    title : str, default=""
    """

    def __init__(self, documents: Documents, landscape: Landscape, title: str = "") -> None:
        if len(documents) != len(landscape):
            raise ParasphereError(
                f"the landscape has {len(landscape):,} texts, and {len(documents):,} documents are given"
            )
        self.documents, self.landscape, self.title = documents, landscape, title
        self._sorted = np.sort(landscape.certainty)

    @classmethod
    def of(
        cls,
        model: Encoder | SphericalParagraphModel | Index | SphericalTopics,
        texts: Any,
        *,
        columns: Sequence[str] | Mapping[str, Sequence[Any]] = (),
        id: str | Sequence[Any] | None = None,
        title: str = "",
    ) -> Self:
        """Return the explorer of a corpus.

        Parameters
        ----------
        model : Encoder, SphericalParagraphModel, Index or SphericalTopics
            An encoder or a fitted model, or an index or topics of these texts.
        texts : texts, columns or path
            What :func:`parasphere.corpus.blocks` takes.
        columns : sequence of str or dict of sequences, default=()
            Columns to filter by: their names, or their names and values.
        id : str or sequence, default=None
            Name of the column with the ids, or the ids themselves. Without ids texts are numbered from 1.
        title : str, default=""

        Examples
        --------
        >>> from parasphere import SphericalTopics, datasets
        >>> corpus = datasets.load("docstrings")
        >>> topics = SphericalTopics(n_topics=12).fit(corpus.texts)
        >>> explorer = Explorer.of(topics, corpus.texts, id=corpus.ids)
        >>> explorer.search("least squares")["matches"][0]["id"].startswith("scipy.optimize")
        True
        """
        documents = read_documents(texts, columns=columns, id=id)
        return cls(documents, landscape_of(model, documents), title)

    def about(self) -> dict[str, Any]:
        """Return what the page needs to start.

        ``topics`` are the finest topics; ``levels`` are the coarser ones, the coarsest first, with the topic that each
        finest topic is part of.
        """
        low, high = np.quantile(self.landscape.certainty, [0.02, 0.98]).tolist()
        return {
            "title": visible(self.title),
            "n": len(self.documents),
            **self._named,
            "none": _colour([-1])[0],
            "facets": [_facet(facet) for facet in self.documents.facets],
            "certainty": [low, high],
            "exports": ["csv", "parquet"],
        }

    def array(self, name: str) -> NDArray[Any]:
        """Return the numbers of all documents: points, topic, certainty, or a column, such as facet0."""
        own = self.landscape
        arrays: dict[str, NDArray[Any]] = {"points": own.points, "topic": own.topic, "certainty": own.certainty}
        arrays |= {f"facet{i}": _values(facet) for i, facet in enumerate(self.documents.facets)}
        found = arrays.get(name)
        if found is None:
            raise ParasphereError(f"there is no array {name!r}; the arrays are {', '.join(arrays)}")
        return np.ascontiguousarray(found)

    def search(self, text: str, rows: NDArray[np.int64] | None = None, k: int = 12) -> dict[str, Any]:
        """Return the position of a text on the map, its topics, and the nearest texts among some rows, and why."""
        if not text.strip():
            raise ParasphereError("there is nothing to search for; type a few words")
        text = without_surrogates(text)  # without lone surrogates, which JSON may hold
        if len(text) > LONGEST:
            raise ParasphereError(f"a text of {len(text):,} characters is too long; the limit is {LONGEST:,}")
        admitted = None
        if rows is not None:
            check_rows(rows, len(self.documents))
            admitted = np.zeros(len(self.documents), bool)
            admitted[rows] = True
        with _unknown_words_allowed():
            seen = self._seen(text, k)
            if admitted is not None and seen["matches"]:
                found = self.landscape.index.search(text, k, where=admitted)
                seen["matches"] = [self._match(text, match) for match in found]
        return {"text": visible(text), **seen}

    def document(self, row: int, k: int = 12, asked: str = "") -> dict[str, Any]:
        """Return a document and its nearest texts; the words by which it matches the query ``asked`` are marked."""
        text = self._text(row)
        asked = without_surrogates(asked[:LONGEST])
        with _unknown_words_allowed():
            return self._facts(row) | self._seen(text, k, row) | {"pieces": self._marked(asked, text, None)}

    def glance(self, row: int) -> dict[str, Any]:
        """Return the beginning of a document, with its id, topic and columns."""
        text = " ".join(self._text(row)[: 2 * GLANCE].split())
        return {"text": visible(text[:GLANCE]) + (" …" if len(text) > GLANCE else ""), **self._facts(row)}

    def selection(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return what some documents have in common, and the most typical of them."""
        return summary(self.documents, self.landscape, rows)

    def table(self, rows: NDArray[np.int64]) -> Any:
        """Return some documents as an Arrow table, to be exported."""
        return export_table(self.documents, self.landscape, rows)

    @cached_property
    def _named(self) -> dict[str, Any]:
        """The topics of all levels, cached, because merging and describing them takes a while."""
        found = self.landscape.topics
        large = found.groups(found.levels_[0])
        levels = [self._level(n, large) for n in found.levels_[:-1]]
        return {"topics": self._topics_at(np.arange(len(large)), large), "levels": levels}

    def _level(self, n_topics: int, large: NDArray[np.int64]) -> dict[str, Any]:
        """Return the topics of a level, and which of them each finest topic is part of."""
        groups = self.landscape.topics.groups(n_topics)
        parents = np.empty(n_topics, np.int64)
        parents[groups] = large
        return {"topics": self._topics_at(groups, parents), "groups": groups.tolist()}

    def _topics_at(self, groups: NDArray[np.int64], large: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return topics merged from groups of the finest, each in a shade of its large topic."""
        own = self.landscape
        labels = np.where(own.topic < 0, -1, groups[own.topic])
        fewer = own.topics.at(len(large))
        return [
            {
                "name": visible(name),
                "words": [visible(word) for word in words],
                "size": int((labels == topic).sum()),
                "place": _middle(own.points[labels == topic]),
                "colour": colour,
            }
            for topic, (name, words, colour) in enumerate(
                zip(fewer.names_, fewer.topic_words(WORDS), _colour(large), strict=True)
            )
        ]

    def _seen(self, text: str, k: int, row: int | None = None) -> dict[str, Any]:
        """Return certainty, topics, position and matches of a text; ``row`` is its row if it is a document."""
        own = self.landscape
        posterior = own.index.encoder.posterior([text])
        certainty = float(posterior.mean_length[0])
        facts = {
            "certainty": certainty,
            "rank": float(np.searchsorted(self._sorted, np.float32(certainty)) / len(own)),
            "information": float(posterior.information[0]),
            "unknown": self._unknown(text),
            "topics": self._topics(text),
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
        return facts | {"place": spot.tolist(), "matches": [self._match(text, match) for match in near[:k]]}

    def _match(self, text: str, match: Match) -> dict[str, Any]:
        assert match.text is not None
        return {
            **self._facts(match.position),
            "similarity": match.similarity,
            "score": match.score,
            "pieces": self._marked(text, match.text, EXCERPT),
        }

    def _marked(self, asked: str, text: str, length: int | None) -> list[list[str | float]]:
        """Return a text in pieces, with the words by which it matches the query ``asked`` marked."""
        if not asked.strip():
            return pieces(text, [], length)
        index = self.landscape.index
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

    def _topics(self, text: str) -> list[dict[str, Any]]:
        """Return the most likely topics of a text, most likely first; none for a text without known words."""
        topics = self.landscape.topics
        if not topics.vectors([text]).any():
            return []
        shares = topics.transform([text])[0]
        best = np.argsort(-shares, kind="stable")[:SHOWN_TOPICS]
        return [{"topic": int(t), "share": float(shares[t])} for t in best if shares[t] >= LEAST_SHARE]

    def _unknown(self, text: str) -> list[str]:
        """Return the words of a text that have no vector, each once."""
        units = self.landscape.index.encoder.text_reader.lookup.units(text)
        return [visible(word) for word in dict.fromkeys(word for word, row in units if row < 0)][:20]

    def _text(self, row: int) -> str:
        if not 0 <= row < len(self.documents):
            raise ParasphereError(f"there is no text {row}; rows are from 0 to {len(self.documents) - 1}")
        return str(self.documents.texts[row])

    def _facts(self, row: int) -> dict[str, Any]:
        """Return the id, the topic and the columns of a document."""
        columns = [(visible(facet.name), facet.value(row)) for facet in self.documents.facets]
        return {
            "row": row,
            "id": visible(self.documents.ids[row]),
            "topic": int(self.landscape.topic[row]),
            "columns": [[name, visible(value)] for name, value in columns if value is not None],
        }


@contextmanager
def _unknown_words_allowed() -> Iterator[None]:
    """Do not warn of words without vectors, which the page shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        yield


def _middle(points: NDArray[np.float32]) -> list[float] | None:
    """Return the middle of a group, where its name is; None if it has no points."""
    step = max(1, len(points) // SAMPLE)
    return median(points[::step].astype(np.float64)).tolist() if len(points) else None


def _colour(large: ArrayLike) -> list[dict[str, str]]:
    """Return the colours of topics on light and dark backgrounds, and those of their names."""
    light, dark = topic_colours(large), topic_colours(large, dark=True)
    return [
        {"light": one, "dark": other, "light_text": text_colour(one), "dark_text": text_colour(other, dark=True)}
        for one, other in zip(light, dark, strict=True)
    ]


def _values(facet: Facet) -> NDArray[np.float64]:
    """Return the values of a column, with one number for all the rare words."""
    return np.minimum(facet.values, VALUES) if facet.kind == "words" else facet.values


def _facet(facet: Facet) -> dict[str, Any]:
    """Return a column: its most frequent words, or its least and largest number or date."""
    values = _values(facet)
    there = values[~np.isnan(values)]
    found: dict[str, Any] = {"name": visible(facet.name), "kind": facet.kind}
    if facet.kind != "words":
        return found | {"range": np.quantile(there, [0.01, 0.99], method="nearest").tolist()}
    names = [visible(name) for name in facet.names[:VALUES]]
    if len(facet.names) > VALUES:
        names.append(f"{len(facet.names) - VALUES:,} rarer ones")
    sizes = np.bincount(there.astype(np.int64), minlength=len(names))
    colours = _colour(range(min(len(names), COLOURED)))
    return found | {
        "values": [
            {"name": name, "size": int(size), "colour": colours[i] if i < COLOURED else None}
            for i, (name, size) in enumerate(zip(names, sizes, strict=True))
        ]
    }

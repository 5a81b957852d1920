"""BM25: scores of documents by the words that they share with a query.

Offsets show what a text is about, but miss the words that have no vector: names, numbers, codes. The score of a
document is BM25, divided by a norm of the query, so that it has the scale of a single word::

    sum_w n_w idf_w c_w (k1 + 1) / (c_w + k1 (1 - b + b l / mean l)) / sqrt(sum_w n_w idf_w^2)

where ``n_w`` and ``c_w`` are the counts of word ``w`` in the query and in the document, ``l`` is the number of words of
the document, and ``idf_w = log(1 + (n_docs - df_w + 1/2) / (df_w + 1/2))``. Only counts are stored, so that adding and
removing documents is exact.

Words are the stems of a language (Snowball's), so that "connected" finds "connections"; without a language, they
are what the tokenizer returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import add_word_scores
from ..errors import ParasphereError
from ..storage import check_layouts
from ..text import (
    AnyTokenizer,
    Strings,
    Tokenizer,
    Vocabulary,
    WordIds,
    check_language,
    distinct_words,
    stems,
)

K1, B = 1.5, 0.75  # the usual constants
MAX_GAIN = K1 + 1  # the limit of the gain of a word as its count grows
MAX_COUNT = 2**16 - 1  # larger counts have no effect on a score


class QueryTerms(NamedTuple):
    """The words of queries that occur in a document, each once per query.

    Attributes
    ----------
    ends : (n_queries,) int64
        Where the words of each query end.
    words : (n_terms,) int32
    weights : (n_terms,) float64
    """

    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    weights: NDArray[np.float64]

    def of(self, batch: slice) -> "QueryTerms":
        """Return the words of some successive queries."""
        begin, end, _ = batch.indices(len(self.ends))
        first = int(self.ends[begin - 1]) if begin else 0
        last = int(self.ends[end - 1])
        return QueryTerms(self.ends[begin:end] - first, self.words[first:last], self.weights[first:last])


class Postings(NamedTuple):
    """The arrays that the compiled loops read: those of :class:`BM25`, and the length norm of each document."""

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]
    norms: NDArray[np.float32]


class TfIdf(NamedTuple):
    """Unit rows of tf-idf weights, (n_docs, n_words), in compressed form.

    Attributes
    ----------
    starts : (n_docs + 1,) int64
    words : (n_entries,) int32
        Ascending in each row.
    values : (n_entries,) float64
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BM25:
    """The inverted index of a corpus: the documents of each word.

    Attributes
    ----------
    tokenizer : Tokenizer or callable
    language : str or None
        Words are the stems of this language; None: as the tokenizer returns them.
    words : Vocabulary
        What is compared: stems, or words.
    forms : Strings
        The shortest word of the documents with each stem, to be shown; if there is no language, the words.
    starts : (n_words + 1,) int64
        Where the postings of each word begin.
    documents : (n_postings,) int32
        The documents in which each word occurs, in ascending order.
    counts : (n_postings,) uint16
        How often it occurs in each.
    lengths : (n_docs,) int32
        Number of words per document.
    """

    tokenizer: AnyTokenizer
    language: str | None
    words: Vocabulary
    forms: Strings
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int32]

    def __post_init__(self) -> None:
        for name in ("starts", "documents", "counts", "lengths"):
            array = getattr(self, name).view()
            array.flags.writeable = False  # as mapped ones are
            object.__setattr__(self, name, array)
        check_layouts(vars(self), {"starts": "i8[words+1]", "documents": "i4[n]", "counts": "u2[n]",
                                   "lengths": "i4[docs]"}, {"words": len(self.words)})  # fmt: skip
        if len(self.forms) != len(self.words):
            raise ParasphereError(f"there are {len(self.forms):,} forms for {len(self.words):,} words")

    @classmethod
    def from_texts(cls, texts: list[Any], tokenizer: AnyTokenizer, language: str | None = None) -> "BM25":
        """Count the words of texts or token lists."""
        check_language(language)
        words, tokens = distinct_words(texts, tokenizer)
        ids, documents = _known(tokens)
        forms = Strings(words.data, words.offsets)
        if language is not None:
            rows, words, forms = _by_stem(words.words, language)
            ids = rows[ids]
        present, counts = _counted(ids * len(tokens.ends) + documents)
        word, document = np.divmod(present, max(len(tokens.ends), 1))
        return cls(
            tokenizer,
            language,
            words,
            forms,
            _starts(word, len(words)),
            document.astype(np.int32),
            np.minimum(counts, MAX_COUNT).astype(np.uint16),
            np.bincount(documents, minlength=len(tokens.ends)).astype(np.int32),
        )

    @classmethod
    def concatenate(cls, parts: Sequence["BM25"]) -> "BM25":
        """Join corpora: the documents of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        rows: dict[str, int] = {}
        forms: list[str] = []
        word_ids = []
        for part in parts:
            own = np.empty(len(part.words), np.int64)
            for i, (word, form) in enumerate(zip(part.words.words, part.forms, strict=True)):
                row = own[i] = rows.setdefault(word, len(rows))
                if row == len(forms):
                    forms.append(form)
                elif form != forms[row]:
                    forms[row] = min(form, forms[row], key=_by_length)
            word_ids.append(own)
        words = Strings.of(rows)
        vocabulary = Vocabulary.from_buffers(words.data, words.offsets, trusted=True)
        sizes = np.zeros(len(vocabulary), np.int64)
        for ids, part in zip(word_ids, parts, strict=True):
            sizes[ids] += np.diff(part.starts)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        documents, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
        free, first = starts[:-1].copy(), 0  # the next free posting of each word
        for ids, part in zip(word_ids, parts, strict=True):
            own = np.diff(part.starts)
            places = np.repeat(free[ids] - part.starts[:-1], own) + np.arange(len(part.documents))
            documents[places], counts[places] = part.documents + np.int32(first), part.counts
            free[ids] += own
            first += len(part)
        lengths = np.concatenate([part.lengths for part in parts])
        some = parts[0]
        shown = words if some.language is None else Strings.of(forms)
        return cls(some.tokenizer, some.language, vocabulary, shown, starts, documents, counts, lengths)

    def select(self, documents: NDArray[np.bool_]) -> "BM25":
        """Return the documents of a mask, (n_docs,); words that none of them has stay."""
        chosen = documents[self.documents]
        starts = np.concatenate([[0], np.cumsum(chosen)])[self.starts]
        renumbered = (np.cumsum(documents) - 1).astype(np.int32)[self.documents[chosen]]
        return replace(
            self, starts=starts, documents=renumbered, counts=self.counts[chosen], lengths=self.lengths[documents]
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def idf(self, words: Any = slice(None)) -> NDArray[np.float64]:
        """Return the inverse document frequencies of some words, or of all."""
        frequencies = self.starts[1:][words] - self.starts[:-1][words]
        return np.asarray(np.log1p((len(self) - frequencies + 0.5) / (frequencies + 0.5)))

    @cached_property
    def postings(self) -> Postings:
        """The arrays that the compiled loops read."""
        mean = float(self.lengths.mean()) if len(self) else 0.0
        norms = K1 * (1 - B + B * self.lengths / (mean or 1.0))
        return Postings(self.starts, self.documents, self.counts, norms.astype(np.float32))

    def keys(self, words: Sequence[str]) -> list[str]:
        """Return what words are compared by: their stems, or themselves."""
        return stems(words, self.language)

    def terms(self, queries: Any) -> QueryTerms:
        """Return the words of texts or token lists that occur in a document, with their weights."""
        spelled, tokens = distinct_words(queries, self.tokenizer)
        rows = self.words.get_many(self.keys(spelled.words))
        rows = np.append(rows, np.int32(-1))  # for unknown words
        ids, query_of_id = _known(WordIds(rows[tokens.ids], tokens.ends))
        n_words = max(len(self.words), 1)
        present, counts = _counted(query_of_id * n_words + ids)
        query, words = np.divmod(present, n_words)
        idf = self.idf(words)
        norms = np.sqrt(np.bincount(query, counts * idf**2, minlength=len(queries)))
        return QueryTerms(_starts(query, len(queries))[1:], words.astype(np.int32), counts * idf / norms[query])

    def shared(self, words: NDArray[np.int32], positions: NDArray[np.int64]) -> list[tuple[str, ...]]:
        """Return which of the words each of the documents has, in the forms to be shown."""
        found: list[list[str]] = [[] for _ in positions]
        for word in words.tolist():
            own = self.documents[self.starts[word] : self.starts[word + 1]]
            places = np.searchsorted(own, positions)
            has = places < len(own)
            has[has] = own[places[has]] == positions[has]
            form = self.forms[word]
            for place in np.flatnonzero(has).tolist():
                found[place].append(form)
        return list(map(tuple, found))

    def scores(self, terms: QueryTerms) -> NDArray[np.float32]:
        """Return the scores of all documents, (n_queries, n_docs)."""
        scores = np.zeros((len(terms.ends), len(self)), np.float32)
        add_word_scores(terms, self.postings, MAX_GAIN, 1.0, 0, self.starts[terms.words], scores, len(self))
        return scores

    def frequencies(self, documents: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the words of the documents of a mask, (n_docs,).

        Returns
        -------
        occurrences, document_frequencies : (n_words,) int64
            How often each word occurs in these documents, and in how many of them.
        """
        chosen = documents[self.documents]
        sums = [np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])[self.starts]
                for numbers in (np.where(chosen, self.counts, 0), chosen)]  # fmt: skip
        return np.diff(sums[0]), np.diff(sums[1])

    def tfidf(self) -> TfIdf:
        """Return unit rows of ``(1 + log count) idf``."""
        values = (1 + np.log(self.counts, dtype=np.float64)) * np.repeat(self.idf(), np.diff(self.starts))
        words = np.repeat(np.arange(len(self.words), dtype=np.int32), np.diff(self.starts))
        keys = self.documents.astype(np.int64) * 2**32 + np.arange(len(words))  # whose order is that of a stable sort
        order = np.sort(keys) % 2**32
        values, starts = values[order], _starts(self.documents, len(self))
        filled = np.flatnonzero(np.diff(starts))
        norms = np.zeros(len(self))
        norms[filled] = np.sqrt(np.add.reduceat(values**2, starts[filled])) if len(filled) else 0.0
        scales = 1 / np.where(norms > 0, norms, 1)
        return TfIdf(starts, words[order], values * np.repeat(scales, np.diff(starts)))

    def check(self) -> None:
        """Raise unless all postings are valid: they may come from a file."""
        starts, documents = self.starts, self.documents
        sound = starts[0] == 0 and starts[-1] == len(documents) and (np.diff(starts) >= 0).all()
        if sound and len(documents):
            inner = np.ones(len(documents), bool)
            inner[starts[:-1][np.diff(starts) > 0]] = False  # the first posting of a word follows nothing
            sound = documents.min() >= 0 and documents.max() < len(self) and (np.diff(documents)[inner[1:]] > 0).all()
        if not (sound and (self.lengths >= 0).all() and (self.counts > 0).all()):
            raise ParasphereError("the postings of its words are inconsistent")


def bm25_tokenizer(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Return the tokenizer for words that need no vector.

    It is that of the model, except that digits are part of words and that English stop words are dropped if no others
    are: their postings are long, and they would count in the length of a query.
    """
    if not isinstance(tokenizer, Tokenizer):
        return tokenizer
    return replace(tokenizer, digits=True, stop_words=tokenizer.stop_words or "english")


def default_language(tokenizer: AnyTokenizer) -> str | None:
    """Return the language of the words of a tokenizer: English if English stop words are dropped, else unknown."""
    words = bm25_tokenizer(tokenizer)
    english = isinstance(words, Tokenizer) and words.stop_words == Tokenizer(stop_words="english").stop_words
    return "english" if english else None


def _by_length(word: str) -> tuple[int, str]:
    return len(word), word


def _by_stem(words: list[str], language: str) -> tuple[NDArray[np.int64], Vocabulary, Strings]:
    """Return the row of each word, the different stems, and the shortest word with each."""
    forms: dict[str, str] = {}
    found = stems(words, language)
    for stem, word in zip(found, words, strict=True):
        forms[stem] = min(forms.get(stem, word), word, key=_by_length)
    rows = {stem: row for row, stem in enumerate(forms)}
    return np.array([rows[stem] for stem in found], np.int64), Vocabulary(forms), Strings.of(forms.values())


def _known(tokens: WordIds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of known words, and the number of the text of each."""
    texts = np.repeat(np.arange(len(tokens.ends)), np.diff(tokens.ends, prepend=0))
    known = tokens.ids >= 0
    return tokens.ids[known].astype(np.int64), texts[known]


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in ascending order, and how often each occurs; the keys are sorted in place."""
    keys.sort()
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begins], np.diff(begins, append=len(keys))


def _starts(rows: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Return where each row of a table in compressed form begins, (n_rows + 1,), given the row of each entry."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])

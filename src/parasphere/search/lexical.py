"""The words of the documents of an index, by which BM25 finds them.

Offsets know what a text is about, and nothing of words that have no vector: names, numbers, codes. The score of a query
``q`` in a document by its words is BM25, divided by a length of the query so that its scale is that of one word::

    sum_w n_w idf_w c_w (k1 + 1) / (c_w + k1 (1 - b + b l / mean l)) / sqrt(sum_w n_w idf_w^2)

where ``n_w`` and ``c_w`` are the numbers of times that word ``w`` occurs in query and document, ``l`` is the number of
words of the document, and ``idf_w = log(1 + (n_docs - df_w + 1/2) / (df_w + 1/2))``. All of it is computed from counts
when a query is asked, so that documents can be added and removed without a trace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from .._kernels import add_word_scores
from ..corpus import strings
from ..errors import ParasphereError
from ..storage import check_layouts
from ..text import (
    AnyTokenizer,
    DividingTokenizer,
    Lookup,
    Tokenizer,
    Vocabulary,
    WordIds,
    count_rows,
    distinct_words,
    string_buffers,
)

K1, B = 1.5, 0.75  # the usual constants of BM25
MOST_COUNTS = 2**16 - 1  # of a word in a document; more have no effect on a score


class Asked(NamedTuple):
    """The words of queries: those of query i end at ``ends[i]``."""

    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    weights: NDArray[np.float64]

    def part(self, begin: int, end: int) -> "Asked":
        """Return the queries from ``begin`` up to ``end``."""
        first = int(self.ends[begin - 1]) if begin else 0
        last = int(self.ends[end - 1])
        return Asked(self.ends[begin:end] - first, self.words[first:last], self.weights[first:last])


class Postings(NamedTuple):
    """What the compiled loops read: as :class:`Lexical`, and how slowly the counts of each document saturate."""

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]
    flatness: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Lexical:
    """The words of documents, word by word.

    Attributes
    ----------
    tokenizer : Tokenizer or callable
    words : Vocabulary
    starts : (n_words + 1,) int64
        Where the postings of each word begin.
    documents : (n_postings,) int32
        The documents in which each word occurs, in ascending order.
    counts : (n_postings,) uint16
        How often it does.
    lengths : (n_docs,) int32
        Number of words per document.
    """

    tokenizer: AnyTokenizer
    words: Vocabulary
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

    @classmethod
    def of(cls, texts: pa.Array, tokenizer: AnyTokenizer) -> "Lexical":
        """Return the words of a column of texts or token lists."""
        words, found = distinct_words(texts, tokenizer)
        data, offsets = string_buffers(words)
        vocabulary = Vocabulary.from_buffers(data[offsets[0] : offsets[-1]], offsets - offsets[0], trusted=True)
        counts = count_rows(WordIds(found.ids.astype(np.int32), found.ends), len(words))
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        return cls(tokenizer, vocabulary, *_by_word(counts.tocsc()), lengths.astype(np.int32))

    @classmethod
    def joined(cls, parts: Sequence["Lexical"]) -> "Lexical":
        """Return the words of the documents of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        met = pa.concat_arrays([part.words.arrow for part in parts]).dictionary_encode()
        data, offsets = string_buffers(met.dictionary)
        vocabulary = Vocabulary.from_buffers(data, offsets, trusted=True)
        rows = np.repeat(np.asarray(met.indices), np.concatenate([np.diff(part.starts) for part in parts]))
        begins = np.cumsum([0, *(len(part) for part in parts)])
        documents = np.concatenate([part.documents + begin for part, begin in zip(parts, begins, strict=False)])
        counts = np.concatenate([part.counts for part in parts])
        table = sparse.coo_array((counts, (rows, documents)), shape=(len(vocabulary), int(begins[-1]))).tocsr()
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(parts[0].tokenizer, vocabulary, *_by_word(table), lengths)

    def kept(self, documents: NDArray[np.bool_]) -> "Lexical":
        """Return the words of the documents of a mask, (n_docs,)."""
        chosen = documents[self.documents]
        starts = np.concatenate([[0], np.cumsum(chosen)])[self.starts]
        renumbered = (np.cumsum(documents) - 1).astype(np.int32)[self.documents[chosen]]
        return replace(
            self, starts=starts, documents=renumbered, counts=self.counts[chosen], lengths=self.lengths[documents]
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def most(self) -> float:
        """What a word counts for at most in a document."""
        return K1 + 1

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """The weight of each word, (n_words,)."""
        frequencies = np.diff(self.starts)
        return np.log1p((len(self) - frequencies + 0.5) / (frequencies + 0.5))

    @cached_property
    def postings(self) -> Postings:
        """What the compiled loops read."""
        mean = float(self.lengths.mean()) if len(self) else 0.0
        flatness = K1 * (1 - B + B * self.lengths / (mean or 1.0))
        return Postings(self.starts, self.documents, self.counts, flatness.astype(np.float32))

    def asked(self, texts: Sequence[str]) -> Asked:
        """Return the words of queries that some document has, with their weights."""
        return self.asked_ids(self.lookup.ids(strings(texts)))

    def asked_ids(self, found: WordIds) -> Asked:
        """Return the words of queries that are given by the ids of their words."""
        counts = count_rows(found, len(self.words))
        query = np.repeat(np.arange(len(found.ends)), np.diff(counts.indptr))
        idf = self.idf[counts.indices]
        norms = np.sqrt(np.bincount(query, counts.data * idf**2, minlength=len(found.ends)))
        weights = counts.data * idf / norms[query]
        return Asked(counts.indptr[1:].astype(np.int64), counts.indices.astype(np.int32), weights)

    def scores(self, asked: Asked) -> NDArray[np.float32]:
        """Return the scores of all documents, (n_queries, n_docs)."""
        scores = np.zeros((len(asked.ends), len(self)), np.float32)
        add_word_scores(asked, self.postings, self.most, 1.0, 0, self.starts[asked.words], scores, len(self))
        return scores

    def tfidf(self) -> sparse.csr_array:
        """Return unit rows of ``(1 + log count) idf``, (n_docs, n_words) float64."""
        values = (1 + np.log(self.counts, dtype=np.float64)) * np.repeat(self.idf, np.diff(self.starts))
        rows = sparse.csc_array((values, self.documents, self.starts), shape=(len(self), len(self.words))).tocsr()
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ rows)

    def check(self) -> None:
        """Raise unless all postings are possible: they may come from a file."""
        starts, documents = self.starts, self.documents
        sound = starts[0] == 0 and starts[-1] == len(documents) and (np.diff(starts) >= 0).all()
        if sound and len(documents):
            inner = np.ones(len(documents), bool)
            inner[starts[:-1][np.diff(starts) > 0]] = False  # the first posting of a word follows nothing
            sound = documents.min() >= 0 and documents.max() < len(self) and (np.diff(documents)[inner[1:]] > 0).all()
        if not (sound and (self.lengths >= 0).all() and (self.counts > 0).all()):
            raise ParasphereError("the words of its documents do not fit each other")

    @cached_property
    def lookup(self) -> Lookup:
        """Finds the words of queries."""
        return Lookup(self.words, self.tokenizer, phrases=False)


def lexical_tokenizer(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Return the tokenizer for words that need no vector.

    It is that of the model, except that digits are part of words and that English stop words are dropped if no others
    are: they have long lists of documents, say little, and would count in the length of a query.
    """
    if isinstance(tokenizer, DividingTokenizer):
        tokenizer = tokenizer.words
    if not isinstance(tokenizer, Tokenizer):
        return tokenizer
    return replace(tokenizer, digits=True, stop_words=tokenizer.stop_words or "english")


def _by_word(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]:
    """Return starts, documents and counts of a table of counts in compressed form, one row or column per word."""
    counts = np.minimum(table.data, MOST_COUNTS).astype(np.uint16)
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), counts

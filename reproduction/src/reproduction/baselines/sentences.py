"""Ordered text: sentences and their neighbours, for encoders that learn from them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parasphere.corpus import blocks, is_tokenised, one_text
from parasphere.errors import CorpusError
from parasphere.progress import progress
from parasphere.text import AnyTokenizer, Lookup, Vocabulary, WordCounter

_BREAK = re.compile(r"""[.!?]["'”’)\]]*(\s+)["'“‘(\[]*(\w)""")
_NO_END = frozenset("Mr Mrs Ms Dr Prof St Sgt Col Gen Lt Capt Rev Hon Sen Rep Gov Mt No vs cf ca".split())


class Sentences(NamedTuple):
    """The sentences of ordered text as word ids, end to end; none is empty."""

    ids: NDArray[np.int32]  # (n_words,): a row of the vocabulary, or -1 for an unknown word
    ends: NDArray[np.int64]  # (n_sentences,): where the ids of each sentence end; those of the first begin at 0
    documents: NDArray[np.int64]  # (n_sentences,): the document of each; neighbours are of the same document

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where the ids of each sentence begin, (n_sentences,)."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[: len(self.ends)]

    def known(self) -> "Sentences":
        """Return them without unknown words, and without sentences that have no known ones."""
        return _dense(self.ids, self.ends, self.documents, self.ids >= 0)


@dataclass(frozen=True)
class OrderedText:
    r"""Text in its order: one sentence or paragraph per line, a blank line between documents.

    Examples
    --------
    >>> text = OrderedText.read(["A cat sat. It slept.", "", "Dogs ran."])
    >>> text.sentences, [numbers.tolist() for numbers in text.documents]
    ([['A cat sat.', 'It slept.', 'Dogs ran.']], [[0, 0, 1]])
    """

    sentences: list[list[Any]]  # texts, or lists of tokens, of each block; none blank
    documents: list[NDArray[np.int64]]  # the document of each sentence of a column

    @classmethod
    def read(cls, source: Any, split: bool = True, *, verbose: bool = False) -> "OrderedText":
        """Read ordered text.

        Parameters
        ----------
        source
            Whatever :func:`parasphere.corpus.blocks` takes, in its order. An empty text separates documents.
        split : bool, default=True
            Split each line into sentences (see :func:`split_sentences`). A list of tokens is one sentence.
        verbose : bool, default=False
            Show progress.
        """
        sentences, documents = [], []
        document = 0
        for lines in _columns(source, verbose):
            column, numbers = _sentences(lines, split, document)
            document += int(_blank(lines).sum())
            sentences.append(column)
            documents.append(numbers)
        return cls(sentences, documents)

    def count_words(self, tokenizer: AnyTokenizer) -> tuple[list[str], NDArray[np.int64]]:
        """Return the words, most frequent first (ties in alphabetical order), and their counts."""
        counter = WordCounter(tokenizer)
        for column in self.sentences:
            counter.add(column)
        words, counts = counter.words_and_counts()
        if not words:
            raise CorpusError("the training text has no word; at least two sentences are needed")
        return words, counts

    def ids(self, vocabulary: Vocabulary, tokenizer: AnyTokenizer) -> Sentences:
        """Return the sentences as word ids; those without any word are left out."""
        lookup = Lookup(vocabulary, tokenizer)
        parts = [lookup.ids(column) for column in self.sentences]
        offsets = np.cumsum([0, *(len(part.ids) for part in parts)])
        ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)])
        ends = [part.ends + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
        documents = np.concatenate([np.empty(0, np.int64), *self.documents])
        return _dense(ids, np.concatenate([np.empty(0, np.int64), *ends]), documents, np.ones(len(ids), bool))


def split_sentences(text: str) -> list[str]:
    """Split a text where ``.``, ``!`` or ``?`` is followed by white space and a capital.

    An initial or a title before the full stop ("J. Smith", "Dr. Who") ends no sentence.

    Examples
    --------
    >>> split_sentences('Dr. A. Who came. "He left!" Nobody saw it, e.g. the cat. 3 dogs?')
    ['Dr. A. Who came.', '"He left!"', 'Nobody saw it, e.g. the cat. 3 dogs?']
    """
    sentences, begin = [], 0
    for match in _BREAK.finditer(one_text(text, "what is split into sentences")):
        if not match[2].isupper():
            continue
        word = text[max(begin, text.rfind(" ", begin, match.start()) + 1) : match.start()].lstrip("\"'“‘([")
        if word not in _NO_END and not (len(word) == 1 and word.isupper()):
            sentences.append(text[begin : match.start(1)])
            begin = match.end(1)
    return [*sentences, text[begin:]]


def split_column(texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Split texts into sentences; return them and the row of the text of each."""
    lists = [split_sentences(text) for text in texts]
    rows = np.repeat(np.arange(len(lists)), [len(sentences) for sentences in lists])
    return [sentence for sentences in lists for sentence in sentences], rows


def _sentences(lines: list[Any], split: bool, first: int) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the sentences of some lines and the number of the document of each, counted from ``first``."""
    blank = _blank(lines)
    documents = first + np.cumsum(blank)[~blank]
    lines = [line for line, skipped in zip(lines, blank.tolist(), strict=True) if not skipped]
    if not split or is_tokenised(lines):
        return lines, documents
    sentences, rows = split_column(lines)
    return sentences, documents[rows]


def _blank(lines: list[Any]) -> NDArray[np.bool_]:
    return np.array([not (line.strip() if isinstance(line, str) else line) for line in lines], bool)


def _columns(source: Any, verbose: bool) -> Iterator[list[Any]]:
    file = Path(source) if isinstance(source, os.PathLike) and Path(source).is_file() else None
    total = file.stat().st_size if file else None
    before = 0
    with progress("reading text", total, shown=verbose) as advance:

        def at(position: int) -> None:
            nonlocal before
            advance(position - before)
            before = position

        for block in blocks(source, progress=at):
            yield block.texts


def _dense(
    ids: NDArray[np.int32], ends: NDArray[np.int64], documents: NDArray[np.int64], kept: NDArray[np.bool_]
) -> Sentences:
    """Keep some of the words, and the sentences that still have one."""
    ends = np.concatenate([[0], np.cumsum(kept)])[ends]
    full = np.diff(ends, prepend=0) > 0
    return Sentences(ids[kept], ends[full], documents[full])

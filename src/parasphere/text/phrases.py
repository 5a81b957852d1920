"""Phrases: vocabulary entries of several words, such as "new york", which texts are matched against.

An entry with a space in it is a phrase. Texts are looked up word by word; then, from left to right, the longest run of
words that spells a phrase is replaced by it. No phrase extends across an unknown word or the end of a text; stop words
were removed before, so that phrases do extend across them. Tokens that are given are taken as they are.

The table is a trie. A node is a run of words; the first nodes are the words themselves, by their rows.
"""

import numpy as np
from numpy.typing import NDArray

from .._kernels import PhraseTable
from .vocabulary import Vocabulary

SPACE = 32  # the byte


def phrase_rows(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the rows of the entries that are phrases."""
    spaces = np.flatnonzero(vocabulary.data[: vocabulary.offsets[-1]] == SPACE)
    return np.unique(np.searchsorted(vocabulary.offsets, spaces, side="right") - 1)


def phrase_table(vocabulary: Vocabulary) -> PhraseTable | None:
    """Return the table of the phrases of a vocabulary; None if no text can have one.

    A phrase is only matched if each of its words is an entry too.
    """
    rows = phrase_rows(vocabulary)
    if not len(rows):
        return None
    spelled = [vocabulary.word(int(row)).split(" ") for row in rows]
    parts = vocabulary.get_many([word or " " for words in spelled for word in words])
    ends = np.cumsum([len(words) for words in spelled])
    children: dict[tuple[int, int], int] = {}
    entries = list(range(len(vocabulary)))
    for row, words in zip(rows.tolist(), np.split(parts, ends[:-1]), strict=True):
        if (words < 0).any():
            continue
        node, *rest = words.tolist()
        for word in rest:
            if (node, word) not in children:
                children[node, word] = len(entries)
                entries.append(-1)
            node = children[node, word]
        entries[node] = row
    if not children:
        return None
    parents, last = np.array(list(children), np.int64).T
    return PhraseTable(np.ascontiguousarray(parents), last.astype(np.int32), np.array(entries, np.int32))


def find_phrases(
    ids: NDArray[np.int32], ends: NDArray[np.int64], words: list[str], longest: int, min_count: int, min_score: float
) -> list[str]:
    """Return the frequent phrases of texts.

    Parameters
    ----------
    ids, ends : (n,) and (n_texts,)
        Concatenated texts, as rows of ``words`` or -1, and where each text ends.
    words : list of str
        The words.
    longest : int
        Largest number of words. Phrases of two words are found first; longer ones are made of these and further words.
    min_count : int
        How often the two parts of a phrase must follow each other.
    min_score : float
        How much more often than by chance: the least normalised pointwise mutual information,
        ``log(p_ab / (p_a p_b)) / -log p_ab``, which is 0 for independent parts and 1 for parts that always occur
        together. With -1 only the count matters.

    Examples
    --------
    >>> ids = np.array([0, 1, 2, 0, 1, 3, 0, 1, 2], np.int32)
    >>> find_phrases(ids, np.array([3, 6, 9]), ["new", "york", "city", "times"], 3, 2, 0.0)
    ['new york', 'york city', 'new york city']
    """
    units, known = list(words), set(words)
    sizes = np.ones(len(units), np.int64)
    joined, ends_now = ids, ends
    for size in range(2, longest + 1):
        pairs, counts = _pairs(joined, ends_now, len(units))
        left, right = pairs // len(units), pairs % len(units)
        often = (counts >= min_count) & (sizes[left] + sizes[right] == size)
        left, right, counts = left[often], right[often], counts[often]
        totals = np.bincount(joined[joined >= 0], minlength=len(units))
        share = counts / max(int(totals.sum()), 1)
        chance = np.log(totals[left] / totals.sum()) + np.log(totals[right] / totals.sum())
        score = (np.log(share) - chance) / np.maximum(-np.log(share), 1e-12)
        chosen = np.flatnonzero(score >= min_score)
        spelled = dict.fromkeys(f"{units[a]} {units[b]}" for a, b in zip(left[chosen], right[chosen], strict=True))
        new = [phrase for phrase in spelled if phrase not in known]
        if new:
            units += new
            known.update(new)
            sizes = np.concatenate([sizes, np.full(len(new), size)])
            table = phrase_table(Vocabulary(units))
            assert table is not None
            joined, ends_now = ids.copy(), ends.copy()
            joined = joined[: table.join(joined, ends_now)]
    return units[len(words) :]


def _pairs(
    ids: NDArray[np.int32], ends: NDArray[np.int64], n_units: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of known units that follow each other in a text, as ``left * n_units + right``, and counts."""
    apart = np.zeros(len(ids) + 1, bool)
    apart[ends] = True  # the next unit begins another text
    follows = (ids[:-1] >= 0) & (ids[1:] >= 0) & ~apart[1 : len(ids)]
    return np.unique(ids[:-1][follows].astype(np.int64) * n_units + ids[1:][follows], return_counts=True)

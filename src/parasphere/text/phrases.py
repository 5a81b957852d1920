"""Entries of several words: a vocabulary's "new york" is one unit wherever a text says those two words in a row.

An entry with a space in it is a phrase. Texts are looked up word by word; then, from left to right, the longest run of
words that a phrase spells becomes that phrase. Words of which the vocabulary knows nothing, and the ends of texts, are
never bridged; stop words are gone by then, and are. Tokens that come from elsewhere are taken as they are.

The table is a trie. A node is a run of words; the first nodes are the words themselves, by their rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled.jit import compiled
from ..compiled.layout import guarded
from .vocabulary import Vocabulary

SPACE = 32  # the byte
_EMPTY = -1


class PhraseTable(NamedTuple):
    """What the compiled loop searches.

    Attributes
    ----------
    keys, nodes : (capacity,) int64
        An open table from ``node * n_words + row of the next word`` to the node they make; -1 where it is empty.
    entries : (n_nodes,) int32
        The row that a node spells, or -1 if no entry does.
    """

    keys: NDArray[np.int64]
    nodes: NDArray[np.int64]
    entries: NDArray[np.int32]


def phrase_rows(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the rows of the entries that are phrases."""
    spaces = np.flatnonzero(vocabulary.data[: vocabulary.offsets[-1]] == SPACE)
    return np.unique(np.searchsorted(vocabulary.offsets, spaces, side="right") - 1)


def phrase_table(vocabulary: Vocabulary) -> PhraseTable | None:
    """Return the table of a vocabulary's phrases; None if no text can have one.

    A phrase can only be met if each of its words is an entry of its own.
    """
    rows = phrase_rows(vocabulary)
    if not len(rows):
        return None
    spelled = [vocabulary.word(int(row)).split(" ") for row in rows]
    found = vocabulary.get_many([word or " " for words in spelled for word in words])
    ends = np.cumsum([len(words) for words in spelled])
    children: dict[tuple[int, int], int] = {}
    entries = list(range(len(vocabulary)))
    for row, words in zip(rows.tolist(), np.split(found, ends[:-1]), strict=True):
        if (words < 0).any():
            continue
        node, *rest = words.tolist()
        for word in rest:
            if (node, word) not in children:
                children[node, word] = len(entries)
                entries.append(_EMPTY)
            node = children[node, word]
        entries[node] = row
    if not children:
        return None
    keys = np.array([node * len(vocabulary) + word for node, word in children], np.int64)
    capacity = 1 << (2 * len(keys)).bit_length()
    table = PhraseTable(np.full(capacity, _EMPTY), np.zeros(capacity, np.int64), np.array(entries, np.int32))
    _fill(keys, np.fromiter(children.values(), np.int64, len(keys)), table.keys, table.nodes)
    return table


@compiled(inline="always")
def _slot(key: Any, keys: Any) -> Any:
    """Return where a key is, or where it would be."""
    mask = keys.shape[0] - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while keys[slot] != _EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@guarded(new_keys="i8[n]", values="i8[n]", keys="i8[capacity]", nodes="i8[capacity]")
@compiled
def _fill(new_keys: Any, values: Any, keys: Any, nodes: Any) -> None:
    for i in range(new_keys.shape[0]):
        slot = _slot(new_keys[i], keys)
        keys[slot] = new_keys[i]
        nodes[slot] = values[i]


@guarded(ids="i4[n]", ends="i8[texts]", keys="i8[capacity]", nodes="i8[capacity]", entries="i4[nodes]", begins="i8[*]")
@compiled
def join_phrases(ids: Any, ends: Any, n_words: Any, keys: Any, nodes: Any, entries: Any, begins: Any) -> Any:
    """Put phrases in the place of their words, in place.

    Parameters
    ----------
    ids : (n,) int32
        Rows, or -1 for unknown words, of texts end to end.
    ends : (n_texts,) int64
        Where each text ends; moved along.
    n_words : int
        Size of the vocabulary.
    keys, nodes, entries
        A :class:`PhraseTable`.
    begins : (n,) int64, or empty
        Written to unless it is empty: where each unit's first word was.

    Returns
    -------
    int
        How many units there are now.
    """
    count, begin = 0, 0
    for text in range(ends.shape[0]):
        end = ends[text]
        i = begin
        while i < end:
            best, after = ids[i], i + 1
            node, k = np.int64(ids[i]), i + 1
            while node >= 0 and k < end and ids[k] >= 0:
                slot = _slot(node * n_words + ids[k], keys)
                if keys[slot] == _EMPTY:
                    break
                node = nodes[slot]
                k += 1
                if entries[node] >= 0:
                    best, after = entries[node], k
            if begins.shape[0]:
                begins[count] = i
            ids[count] = best
            count += 1
            i = after
        begin = end
        ends[text] = count
    return count


def find_phrases(
    ids: NDArray[np.int32], ends: NDArray[np.int64], words: list[str], longest: int, min_count: int, min_score: float
) -> list[str]:
    """Return the phrases that texts use often, each at most ``longest`` words.

    Parameters
    ----------
    ids, ends : (n,) and (n_texts,)
        Texts end to end, as rows of ``words`` or -1.
    words : list of str
    longest : int
        Phrases of two words are found first; of these and further words, or of two of these, longer ones.
    min_count : int
        How often its two parts must follow each other.
    min_score : float
        How much more often than by chance: the normalised pointwise mutual information,
        ``log(p_ab / (p_a p_b)) / -log p_ab``, which is 0 for parts that are independent and 1 for parts that are
        never apart. -1 asks for the count alone.

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
            joined = joined[: join_phrases(joined, ends_now, len(units), *table, np.empty(0, np.int64))]
    return units[len(words) :]


def _pairs(
    ids: NDArray[np.int32], ends: NDArray[np.int64], n_units: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which known units follow each other within a text, as ``left * n_units + right``, and how often."""
    apart = np.zeros(len(ids) + 1, bool)
    apart[ends] = True  # the next begins another text
    follows = (ids[:-1] >= 0) & (ids[1:] >= 0) & ~apart[1 : len(ids)]
    return np.unique(ids[:-1][follows].astype(np.int64) * n_units + ids[1:][follows], return_counts=True)

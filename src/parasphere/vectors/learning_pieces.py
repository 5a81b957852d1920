"""Pieces of texts, the examples of joint learning: some words of each are predicted from the others."""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, guarded


class Cutting(NamedTuple):
    """How documents are cut: they are shuffled and cut into pieces of at most ``context + targets`` words.

    A ``share`` of each piece (at least one word, at most ``targets``) is held out.
    """

    context: int
    targets: int
    share: float


class Pieces(NamedTuple):
    """Pieces of texts, one after the other; the held-out words of each come last."""

    words: Any  # (n_words,) int32
    begins: Any  # (n_pieces + 1,) int64, where each piece begins and ends
    middles: Any  # (n_pieces,) int64, where the held-out words of each begin


@compiled(inline="always")
def next_bits(state: Any) -> Any:
    """Return 31 random bits (xorshift64)."""
    s = state[0]
    s ^= s << np.uint64(13)
    s ^= s >> np.uint64(7)
    s ^= s << np.uint64(17)
    state[0] = s
    return np.int64(s >> np.uint64(33))


@guarded(ids="i4[n]", ends="i8[*]", order="i8[*]", keep="f4[*]", state="u8[1]")
@compiled
def _cut(ids: Any, ends: Any, order: Any, keep: Any, context: Any, targets: Any, share: Any, state: Any) -> Any:
    room = 0
    for n in order:
        room += ends[n + 1] - ends[n]
    words = np.empty(room, np.int32)
    begins, middles = np.empty(room // 2 + 2, np.int64), np.empty(room // 2 + 1, np.int64)
    longest = context + targets
    at, done = 0, 0
    begins[0] = 0
    for n in order:
        first = at
        for i in range(ends[n], ends[n + 1]):
            if next_bits(state) < keep[ids[i]] * 2147483648.0:
                words[at] = ids[i]
                at += 1
        m = at - first
        if m < 2:  # nothing to predict a word from
            at = first
            continue
        for i in range(m - 1, 0, -1):
            j = next_bits(state) % (i + 1)
            words[first + i], words[first + j] = words[first + j], words[first + i]
        pieces = (m + longest - 1) // longest
        for piece in range(pieces):
            begin, end = piece * m // pieces, (piece + 1) * m // pieces
            middles[done] = first + end - max(1, min(targets, int((end - begin) * share + 0.5)))
            done += 1
            begins[done] = first + end
    return words[:at], begins[: done + 1], middles[:done]


def cut(ids: Any, ends: Any, order: Any, keep: Any, how: Cutting, state: Any) -> Pieces:
    """Leave out words of each text at random, shuffle the others, and cut them into pieces of at least two words.

    Parameters
    ----------
    ids, ends : (n_words,) int32 and (n_docs + 1,) int64
        Documents as word ids, and where each begins and ends.
    order : (n,) int64
        The documents to cut.
    keep : (n_vocabulary,) float32
        The probability that an occurrence of a word is used.
    how : Cutting
        The lengths of pieces.
    state : (1,) uint64
        The state of the random numbers, which changes.

    Examples
    --------
    >>> ids, ends, state = np.arange(5, dtype=np.int32), np.array([0, 3, 5]), np.array([1], np.uint64)
    >>> pieces = cut(ids, ends, np.arange(2), np.ones(5, np.float32), Cutting(2, 1, 0.2), state)
    >>> pieces.begins, pieces.middles, sorted(pieces.words[:3].tolist())
    (array([0, 3, 5]), array([2, 4]), [0, 1, 2])
    """
    return Pieces(*_cut(ids, ends, order, keep, *how, state))

"""What a word has of its own: a direction that it shares with no other, beside the one that says what it means.

Word vectors say that "car" and "automobile" are all but the same. For telling topics apart that is a gift to the words
of which little is known, and a loss for the others: texts that use the very same word have more in common than texts
whose words are merely near. So let a word be

    (sqrt(1 - s) w, sqrt(s) e_w),

with its vector w and a direction e_w of its own in further dimensions. That is a unit vector again. The cosine of two
different words is 1 - s times what it was, that of a word with itself still 1: s = 0 would be SPM (``own=None``), s = 1
is the bag of words on the sphere, and all of SPM stays exact in between. Pairs of neighbouring words have directions of
their own too, and nothing else: what "not good" says is not in "not" and "good". Neighbours are words that stand side
by side once stop words are gone, so that who wants "not good" keeps these: ``tokenizer=Tokenizer()``.

The directions are axes, drawn by a hash of the words' numbers, so that nothing is stored; two words have the same axis
with probability 1 / dim, with equal or opposite signs.
"""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled.jit import compiled

_WORD, _PAIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_NO_WORD = np.uint64(1) << np.uint64(63)


@dataclass(frozen=True)
class Own:
    """How much words have of their own.

    Attributes
    ----------
    share : float
        s, from 0 to 1.
    dim : int
        In how many further dimensions own directions lie.
    pairs : float
        How much a pair of neighbouring words counts, as a part of the (geometric) mean weight of its words; 0: nothing.
    """

    share: float = 0.7
    dim: int = 8192
    pairs: float = 0.5

    def __post_init__(self) -> None:
        given: tuple[Any, Any, Any] = (self.share, self.dim, self.pairs)
        share, dim, pairs = given
        if not isinstance(share, numbers.Real) or not 0 < float(share) <= 1:
            raise ValueError(f"the share that is a word's own must be above 0 and at most 1, not {self.share!r}")
        if not isinstance(dim, numbers.Integral) or int(dim) < 1:
            raise ValueError(f"own directions need a whole number of dimensions from 1 on, not {self.dim!r}")
        if not isinstance(pairs, numbers.Real) or not 0 <= float(pairs) < float("inf"):
            raise ValueError(f"pairs must count 0 or more, not {self.pairs!r}")
        for name, value in (("share", float(share)), ("dim", int(dim)), ("pairs", float(pairs))):
            object.__setattr__(self, name, value)  # plain numbers, which can be written and compiled


@compiled
def _scattered(bits: Any) -> Any:
    """Mix 64 bits well (splitmix64's last steps)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@compiled
def word_key(word: Any) -> Any:
    """Return the number of a word among all words and pairs."""
    return np.uint64(word) + np.uint64(1)


@compiled
def pair_key(first: Any, second: Any) -> Any:
    """Return the number of a pair of words, which no word has."""
    return _scattered(word_key(first) * _PAIR + word_key(second)) | _NO_WORD


@compiled
def own_axis(key: Any, dim: Any) -> tuple[Any, Any]:
    """Return the axis, of ``dim``, that is a word's or a pair's own, and which way along it: 1 or -1."""
    bits = _scattered(key * _WORD)
    return np.int64((bits >> np.uint64(1)) % np.uint64(dim)), 1.0 - 2.0 * np.float64(bits & np.uint64(1))


@compiled
def gain(time: Any) -> Any:
    """Return what a word adds to its count, 1 + log n, when it is said for the n-th time: 1, log 2, log 3/2, ..."""
    return 1.0 if time < 2 else np.log(time / (time - 1.0))


@compiled
def count_again(keys: Any, times: Any, size: Any, key: Any) -> Any:
    """Count a word or pair once more, in a table of which ``size`` (a power of 2) places are in use; return how often.

    A place whose key is 0 is free.
    """
    mask = np.uint64(size - 1)
    place = _scattered(key) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    keys[place] = key
    times[place] += 1
    return times[place]

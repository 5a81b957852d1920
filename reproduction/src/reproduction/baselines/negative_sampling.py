"""The compiled loops of FastSent: negative sampling, with sums of word vectors as inputs.

They run in one thread and have their own random numbers: the same start leads to the same vectors.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..loops import compiled

LOSS_EVERY = 16  # the loss is computed for every sixteenth sentence: logarithms are slow
LONGEST = 512  # words of a sentence that are learned from
MAX_STEP = 1.0  # by which the sum of a sentence may follow a gradient; more diverges in long sentences


class Text(NamedTuple):
    """Sentences as word ids, end to end."""

    ids: NDArray[np.int32]  # (n_ids,)
    begins: NDArray[np.int64]  # (n_sentences,): where the ids of each sentence begin
    ends: NDArray[np.int64]  # and end
    first: NDArray[np.int64]  # (n_sentences,): the first sentence of the document of each
    last: NDArray[np.int64]  # and the one after the document's last
    keep: NDArray[np.float32]  # (n_words,): the probability with which an occurrence of each word is used


class Weights(NamedTuple):
    """What is learned, and what noise words are drawn with; all but the noise table changes in place."""

    inputs: NDArray[np.float32]  # (n_words, dim)
    outputs: NDArray[np.float32]  # (n_words, dim)
    share: NDArray[np.float32]  # as in :func:`noise_table`
    other: NDArray[np.int32]
    state: NDArray[np.uint64]  # (1,): of the random numbers


def noise_table(counts: NDArray[np.int64], power: float = 0.75) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return a table to draw words in proportion to a power of their counts, in constant time (Walker's alias method).

    A word is drawn uniformly. With the probability ``share``, (n_words,), it is the result; otherwise its ``other``,
    (n_words,), is. The two are returned.

    Examples
    --------
    >>> noise_table(np.array([3, 1]), power=1.0)
    (array([1. , 0.5], dtype=float32), array([0, 0], dtype=int32))
    """
    weights = counts.astype(np.float64) ** power
    share = weights * len(weights) / weights.sum()
    other = np.arange(len(weights), dtype=np.int32)
    _fill_alias(share, other)
    return share.astype(np.float32), other


def keep_probabilities(counts: NDArray[np.int64], sample: float) -> NDArray[np.float32]:
    """Return the probability with which an occurrence of each word is used, as in word2vec."""
    if sample == 0:
        return np.ones(len(counts), np.float32)
    over = sample * counts.sum() / counts
    return np.asarray(np.minimum(np.sqrt(over) + over, 1.0), np.float32)


@compiled
def _fill_alias(share: Any, other: Any) -> None:
    """Let words with a share above 1 fill up those below; ``share`` is 1 on average."""
    small = [i for i in range(len(share)) if share[i] < 1.0]
    large = [i for i in range(len(share)) if share[i] >= 1.0]
    while small and large:
        poor, rich = small.pop(), large[-1]
        other[poor] = rich
        share[rich] -= 1.0 - share[poor]
        if share[rich] < 1.0:
            large.pop()
            small.append(rich)
    for i in small + large:  # the rest have a share of 1 but for rounding
        share[i] = 1.0


@compiled
def _random(state: Any) -> Any:
    """Return 64 random bits (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@compiled
def _share(bits: Any) -> Any:
    """Return a number from 0 to 1, made of the upper 24 bits."""
    return np.float32(bits >> np.uint64(40)) * np.float32(2.0**-24)


@compiled(fastmath=True, error_model="numpy")
def learn_sentence(words: Any, targets: Any, labels: Any, rate: Any, inputs: Any, outputs: Any, room: Any) -> Any:
    """Take one gradient step per predicted word of a sentence, one after another.

    ``words`` (n,) is the sentence; ``targets`` (m,) are words, whose ``labels`` are 1 for those to be predicted and 0
    for the noise words after each. ``inputs`` and ``outputs`` (n_words, dim) change in place; ``room`` (3, dim) is
    scratch memory.
    """
    total, change, step = room[0], room[1], room[2]
    _begin(words, inputs, room)
    squares = _squares(words)
    one = inputs.dtype.type(1)  # so that nothing is widened to float64
    rate = min(rate, inputs.dtype.type(MAX_STEP) / inputs.dtype.type(squares))
    for i in range(len(targets)):
        if labels[i]:
            _move(total, change, step, squares)
        row = outputs[targets[i]]
        _pull(total, row, step, rate * (labels[i] - one / (one + np.exp(-_dot(total, row)))))
    _move(total, change, step, squares)
    for i in range(len(words)):
        row = inputs[words[i]]
        for j in range(len(row)):
            row[j] += change[j]


@compiled(fastmath=True)
def sentence_loss(words: Any, targets: Any, labels: Any, inputs: Any, outputs: Any, room: Any) -> Any:
    """Return ``-Σ log σ(±s·v)`` over the targets of a sentence; arguments are those of :func:`learn_sentence`."""
    _begin(words, inputs, room)
    loss = 0.0
    for i in range(len(targets)):
        product = _dot(room[0], outputs[targets[i]])
        signed = product if labels[i] else -product
        loss += np.log1p(np.exp(-abs(signed))) + max(-signed, 0)
    return loss


@compiled
def _begin(words: Any, inputs: Any, room: Any) -> None:
    """Add up a sentence, and clear the rest of the room."""
    room[:] = 0
    for i in range(len(words)):
        row = inputs[words[i]]
        for j in range(len(row)):
            room[0, j] += row[j]


@compiled
def _squares(words: Any) -> Any:
    """Return how far the sum moves when each word moves by one; a word that occurs twice moves twice."""
    squares = 0
    for i in range(len(words)):
        for k in range(len(words)):
            squares += words[i] == words[k]
    return squares


@compiled
def _move(total: Any, change: Any, step: Any, squares: Any) -> None:
    """Move the sum with its words, which move by ``step``."""
    factor = total.dtype.type(squares)
    for j in range(len(total)):
        total[j] += factor * step[j]
        change[j] += step[j]
        step[j] = 0


@compiled
def _pull(total: Any, row: Any, step: Any, by: Any) -> None:
    """Move a sum and an output vector towards each other, or apart if ``by`` is negative."""
    for j in range(len(row)):
        step[j] += by * row[j]
        row[j] += by * total[j]


@compiled(fastmath=True)
def _dot(a: Any, b: Any) -> Any:
    product = a[0] * b[0]
    for j in range(1, len(a)):
        product += a[j] * b[j]
    return product


def learn_stretch(
    text: Text, weights: Weights, begin: int, end: int, rates: tuple[float, ...], autoencode: bool, negative: int
) -> tuple[float, int]:
    """Learn from the sentences ``begin`` to ``end``, at rates that go linearly from the first to the last.

    Returns the loss, and the number of predicted words that it is summed over.
    """
    loss, n_predicted = _learn_stretch(text, weights, begin, end, rates[0], rates[1], autoencode, negative)
    return float(loss), int(n_predicted)


@compiled
def _learn_stretch(
    text: Any, weights: Any, begin: Any, end: Any, rate: Any, last_rate: Any, autoencode: Any, negative: Any
) -> Any:
    ids, begins, ends, first, last, keep = text
    inputs, outputs, share, other, state = weights
    words = np.empty((3, LONGEST), np.int32)  # of the sentence before, this one, and the one after
    counts = np.zeros(3, np.int64)
    targets = np.empty(3 * LONGEST * (1 + negative), np.int32)
    labels = np.empty(len(targets), np.float32)
    room = np.empty((3, inputs.shape[1]), np.float32)
    n_words = np.uint64(len(share))
    loss, n_predicted = 0.0, 0
    for sentence in range(begin, end):
        for side in range(3):
            at = sentence + side - 1
            counts[side] = 0
            if at < first[sentence] or at >= last[sentence]:
                continue
            for i in range(begins[at], min(ends[at], begins[at] + LONGEST)):
                if keep[ids[i]] >= 1 or _share(_random(state)) < keep[ids[i]]:
                    words[side, counts[side]] = ids[i]
                    counts[side] += 1
        if counts[1] == 0:
            continue
        m = 0
        for side in range(3):
            if side == 1 and not autoencode:
                continue
            for i in range(counts[side]):
                targets[m], labels[m] = words[side, i], 1
                m += 1
                for _ in range(negative):
                    bits = _random(state)
                    drawn = ((bits & np.uint64(0xFFFFFFFF)) * n_words) >> np.uint64(32)
                    noise = np.int32(drawn) if _share(bits) < share[drawn] else other[drawn]
                    if noise != words[side, i]:  # as in word2vec
                        targets[m], labels[m] = noise, 0
                        m += 1
        if m == 0:
            continue
        done = (sentence - begin) / (end - begin)
        now = np.float32(rate + done * (last_rate - rate))
        read = words[1, : counts[1]]
        if sentence % LOSS_EVERY == 0:
            loss += sentence_loss(read, targets[:m], labels[:m], inputs, outputs, room)
            n_predicted += counts[0] + counts[2] + (counts[1] if autoencode else 0)
        learn_sentence(read, targets[:m], labels[:m], now, inputs, outputs, room)
    return loss, n_predicted

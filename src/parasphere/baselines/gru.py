"""The networks of skip-thought and how they learn: one GRU that reads a sentence, two that write its neighbours.

Sentences travel as packed sequences: the first words of all, then the second words of those that have one, and so on,
longest sentence first. Nothing is padded, and cuDNN takes them as they are.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CorpusError, MissingExtraError
from .sentences import Sentences

END, UNKNOWN, SPECIAL = 0, 1, 2  # rows of the embedding before those of words
SIDES = ("previous", "next")
POOL = 64  # batches that are filled from sentences sorted by length


def torch_for(purpose: str) -> Any:
    """Return the torch library, or say which extra brings it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch", purpose) from None
    return torch


def check_device(device: str) -> Any:
    """Return torch's device of that name, if there is one here."""
    torch = torch_for(f"device={device!r}")
    try:
        return torch.zeros(1, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); 'cpu' always can") from None


def build(n_words: int, word_dim: int, dim: int, seed: int) -> Any:
    """Return the networks: ``embedding``, ``encoder``, ``previous``, ``next`` and ``softmax``.

    Recurrent matrices are orthogonal at first, all others uniform in [-0.1, 0.1], biases zero.
    """
    torch = torch_for("SkipThought")
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.ModuleDict({
            "embedding": nn.Embedding(n_words + SPECIAL, word_dim),
            "encoder": nn.GRU(word_dim, dim),
            "previous": nn.GRU(word_dim + dim, dim),
            "next": nn.GRU(word_dim + dim, dim),
            "softmax": nn.Linear(dim, n_words + SPECIAL),
        })  # fmt: skip
        for name, weight in model.named_parameters():
            if "weight_hh" in name:
                for gate in weight.data.split(dim):
                    nn.init.orthogonal_(gate)
            elif "bias" in name:
                nn.init.zeros_(weight)
            else:
                nn.init.uniform_(weight, -0.1, 0.1)
    return model


class Packed(NamedTuple):
    """A batch of sentences, longest first: the time, row and number of sentences of each word in packed order."""

    times: NDArray[np.int64]
    rows: NDArray[np.int64]
    sizes: NDArray[np.int64]


def pack(lengths: NDArray[np.int64]) -> Packed:
    """Lay out sentences of some lengths, which must not rise.

    Examples
    --------
    >>> pack(np.array([3, 1]))
    Packed(times=array([0, 0, 1, 2]), rows=array([0, 1, 0, 0]), sizes=array([2, 1, 1]))
    """
    sizes = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    times = np.repeat(np.arange(lengths[0]), sizes)
    rows = np.arange(len(times)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Packed(times, rows, sizes)


class Corpus:
    """Sentences cut to ``max_length`` words, and which have neighbours.

    Attributes
    ----------
    words : (n_words,) int64
        Rows of the embedding.
    begins, lengths : (n_sentences,) int64
    neighbours : dict of str to (n_sentences,) bool
        For "previous" and "next", whether there is one.
    examples : (n,) int64
        The sentences that have at least one.
    """

    def __init__(self, sentences: Sentences, max_length: int) -> None:
        self.words = np.where(sentences.ids < 0, UNKNOWN, sentences.ids + SPECIAL).astype(np.int64)
        self.begins = sentences.begins
        self.lengths = np.minimum(sentences.ends - self.begins, max_length)
        same = np.diff(sentences.documents) == 0
        self.neighbours = {"previous": np.append(False, same), "next": np.append(same, False)}
        self.examples = np.flatnonzero(self.neighbours["previous"] | self.neighbours["next"])
        if not len(self.examples):
            raise CorpusError("no sentence has a neighbour in the training text; put neighbours on adjoining lines")

    def fingerprint(self) -> str:
        """Return a hash of all that is learned from."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.words, self.begins, self.lengths, self.neighbours["next"]):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def n_batches(self, size: int) -> int:
        """Return how many batches make an epoch."""
        return -(-len(self.examples) // size)

    def batches(self, size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch: sentences at random, of like lengths in a batch, batches at random."""
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(self.examples)
        pools = [order[begin : begin + POOL * size] for begin in range(0, len(order), POOL * size)]
        ordered = np.concatenate([pool[np.argsort(-self.lengths[pool], kind="stable")] for pool in pools])
        batches = [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def encoded(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the packed words of sentences in the order of falling lengths, and the packed sizes."""
        packed = pack(self.lengths[rows])
        return self.words[self.begins[rows][packed.rows] + packed.times], packed.sizes

    def decoded(self, rows: NDArray[np.int64], side: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what a decoder needs to write the neighbours of a batch: (3, n) words in, words out, states; sizes.

        The words that go in are the end of a sentence and then its words, those that come out its words and then the
        end; a state is a place in the batch.
        """
        places = np.flatnonzero(self.neighbours[side][rows])
        if not len(places):
            return np.empty((3, 0), np.int64), np.empty(0, np.int64)
        written = rows[places] + (1 if side == "next" else -1)
        order = np.argsort(-self.lengths[written], kind="stable")
        places, written = places[order], written[order]
        packed = pack(self.lengths[written] + 1)
        last = self.lengths[written][packed.rows]
        at = self.begins[written][packed.rows] + packed.times
        into = np.where(packed.times == 0, END, self.words[np.maximum(at - 1, 0)])
        out = np.where(packed.times == last, END, self.words[np.minimum(at, len(self.words) - 1)])
        return np.stack([into, out, places[packed.rows]]), packed.sizes


class Batch(NamedTuple):
    """A batch on its device: what the encoder reads, and for each side what its decoder reads and must write."""

    words: Any
    sizes: Any
    sides: dict[str, tuple[Any, Any]]

    @classmethod
    def of(cls, corpus: Corpus, rows: NDArray[np.int64], device: Any) -> "Batch":
        """Make a batch of some sentences."""
        torch = torch_for("SkipThought")
        rows = rows[np.argsort(-corpus.lengths[rows], kind="stable")]
        words, sizes = corpus.encoded(rows)
        decoded = [corpus.decoded(rows, side) for side in SIDES]
        numbers = torch.from_numpy(np.concatenate([words, *(given.ravel() for given, _ in decoded)]))
        if device.type == "cuda":  # all in one copy that nobody waits for
            numbers = numbers.pin_memory().to(device, non_blocking=True)
        words, *given = numbers.split([len(words), *(part.size for part, _ in decoded)])
        # Sizes stay on the host, where cuDNN wants them.
        sides = {
            side: (part.view(3, -1), torch.from_numpy(sizes))
            for side, part, (_, sizes) in zip(SIDES, given, decoded, strict=True)
        }
        return cls(words, torch.from_numpy(sizes), sides)


def encode(encoder: Any, inputs: Any, sizes: Any) -> Any:
    """Return the last states, (n_sentences, dim), of packed word embeddings (n_words, word_dim)."""
    torch = torch_for("SkipThought")
    return encoder(torch.nn.utils.rnn.PackedSequence(inputs, sizes))[1][0]


def batch_loss(model: Any, batch: Batch) -> Any:
    """Return the mean negative log-likelihood of a word of the neighbours.

    A decoder reads, beside the word before, the encoder's state: by its input weights that conditions the reset gate,
    the update gate and the candidate alike, as in the paper, and cuDNN's GRU can still be used. GRUs run in TF32 on a
    GPU: autocast would run them in float16, which needs its losses scaled. The softmax, half of the work, runs in
    bfloat16.
    """
    torch = torch_for("SkipThought")
    states = encode(model["encoder"], model["embedding"](batch.words), batch.sizes)
    hidden, targets = [], []
    for side, ((into, out, places), sizes) in batch.sides.items():
        if len(sizes):
            inputs = torch.cat([model["embedding"](into), states.index_select(0, places)], 1)
            hidden.append(model[side](torch.nn.utils.rnn.PackedSequence(inputs, sizes))[0].data)
            targets.append(out)
    with torch.autocast("cuda", torch.bfloat16, enabled=states.is_cuda):
        logits = model["softmax"](torch.cat(hidden))
    return torch.nn.functional.cross_entropy(logits.float(), torch.cat(targets))

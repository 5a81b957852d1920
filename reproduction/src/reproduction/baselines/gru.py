"""The networks of skip-thought and their batches: one GRU encodes a sentence, two decode its neighbours.

Batches are packed sequences: the first words of all sentences, then the second words of those that have one, and so on,
longest sentence first. Nothing is padded, and cuDNN takes them as they are.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parasphere.errors import CorpusError

from ..extras import import_extra
from .sentences import Sentences

END, UNKNOWN, SPECIAL = 0, 1, 2  # rows of the embedding before those of words
SIDES = ("previous", "next")
POOL = 64  # batches whose sentences are sorted by length together


def torch_for(purpose: str) -> Any:
    """Import torch; raise an error that names the extra if it is missing."""
    return import_extra("torch", "neural", purpose)


def check_device(device: str) -> Any:
    """Return the torch device of that name; raise unless it can be used here."""
    torch = torch_for(f"device={device!r}")
    try:
        return torch.zeros(1, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); 'cpu' always can") from None


def build(n_words: int, word_dim: int, dim: int, seed: int) -> Any:
    """Return the networks: ``embedding``, ``encoder``, ``previous``, ``next`` and ``softmax``.

    Recurrent matrices start orthogonal, all others uniform in [-0.1, 0.1], biases at zero.
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
    """The layout of a batch of sentences, longest first."""

    times: NDArray[np.int64]  # (n_words,): the place of each word, in packed order, in its sentence
    rows: NDArray[np.int64]  # (n_words,): its sentence
    sizes: NDArray[np.int64]  # (longest,): the number of sentences that have a word at each place


def pack(lengths: NDArray[np.int64]) -> Packed:
    """Return the layout of sentences of given lengths, longest first.

    Examples
    --------
    >>> pack(np.array([3, 1]))
    Packed(times=array([0, 0, 1, 2]), rows=array([0, 1, 0, 0]), sizes=array([2, 1, 1]))
    """
    sizes = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    times = np.repeat(np.arange(lengths[0]), sizes)
    rows = np.arange(len(times)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Packed(times, rows, sizes)


class TrainingSentences:
    """Sentences cut to ``max_length`` words, and their neighbours."""

    def __init__(self, sentences: Sentences, max_length: int) -> None:
        # Rows of the embedding, end to end.
        self.words = np.where(sentences.ids < 0, UNKNOWN, sentences.ids + SPECIAL).astype(np.int64)
        self.begins = sentences.begins
        self.lengths = np.minimum(sentences.ends - self.begins, max_length)
        same = np.diff(sentences.documents) == 0
        # Whether each sentence has such a neighbour; examples are those that have at least one.
        self.neighbours = {"previous": np.append(False, same), "next": np.append(same, False)}
        self.examples = np.flatnonzero(self.neighbours["previous"] | self.neighbours["next"])
        if not len(self.examples):
            raise CorpusError("no sentence has a neighbour in the training text; put neighbours on adjoining lines")

    def fingerprint(self) -> str:
        """Return a hash of the training text."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.words, self.begins, self.lengths, self.neighbours["next"]):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def n_batches(self, size: int) -> int:
        """Return the number of batches per epoch."""
        return -(-len(self.examples) // size)

    def batches(self, size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch in random order; each has random sentences of similar length."""
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(self.examples)
        pools = [order[begin : begin + POOL * size] for begin in range(0, len(order), POOL * size)]
        ordered = np.concatenate([pool[np.argsort(-self.lengths[pool], kind="stable")] for pool in pools])
        batches = [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def encoded(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the packed words of sentences, longest first, and the packed sizes."""
        packed = pack(self.lengths[rows])
        return self.words[self.begins[rows][packed.rows] + packed.times], packed.sizes

    def decoded(self, rows: NDArray[np.int64], side: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return inputs, outputs and states of a decoder of the neighbours of a batch, (3, n), and the packed sizes.

        The inputs are the end of a sentence and then its words, the outputs its words and then the end; a state is a
        place in the batch.
        """
        places = np.flatnonzero(self.neighbours[side][rows])
        if not len(places):
            return np.empty((3, 0), np.int64), np.empty(0, np.int64)
        targets = rows[places] + (1 if side == "next" else -1)
        order = np.argsort(-self.lengths[targets], kind="stable")
        places, targets = places[order], targets[order]
        packed = pack(self.lengths[targets] + 1)
        last = self.lengths[targets][packed.rows]
        at = self.begins[targets][packed.rows] + packed.times
        into = np.where(packed.times == 0, END, self.words[np.maximum(at - 1, 0)])
        out = np.where(packed.times == last, END, self.words[np.minimum(at, len(self.words) - 1)])
        return np.stack([into, out, places[packed.rows]]), packed.sizes


class Batch(NamedTuple):
    """A batch on its device, in tensors."""

    words: Any  # what the encoder reads, packed
    sizes: Any
    sides: dict[str, tuple[Any, Any]]  # inputs, outputs and states of each decoder, (3, n), and the packed sizes

    @classmethod
    def of(cls, sentences: TrainingSentences, rows: NDArray[np.int64], device: Any) -> "Batch":
        """Make a batch of some sentences."""
        torch = torch_for("SkipThought")
        rows = rows[np.argsort(-sentences.lengths[rows], kind="stable")]
        words, sizes = sentences.encoded(rows)
        decoded = [sentences.decoded(rows, side) for side in SIDES]
        numbers = torch.from_numpy(np.concatenate([words, *(given.ravel() for given, _ in decoded)]))
        if device.type == "cuda":  # one asynchronous copy
            numbers = numbers.pin_memory().to(device, non_blocking=True)
        words, *given = numbers.split([len(words), *(part.size for part, _ in decoded)])
        # Sizes stay on the host: cuDNN expects them there.
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
    """Return the mean negative log-likelihood per word of the neighbours.

    A decoder reads the word before and the state of the encoder. Through its input weights the state conditions the
    reset gate, the update gate and the candidate, as in the paper, and the GRU of cuDNN can still be used. GRUs run in
    TF32 on a GPU: autocast would run them in float16, which needs scaled losses. The softmax, half of the work, runs in
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

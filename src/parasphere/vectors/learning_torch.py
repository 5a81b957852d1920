"""Joint learning on a torch device: the objective of :mod:`parasphere.vectors.learning_loop`, in batches.

The words that are drawn to estimate the sum over the vocabulary are shared by a batch. A row moves once per batch
rather than once per piece, so that more passes are needed; each takes a fraction of the time.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import import_extra
from .learning_loop import KAPPA, KAPPA0, SLOPE, SLOPE0, SQUARE, SQUARE0, Cutting

BATCH = 256  # pieces
SHARED = 16  # words drawn per batch, as a multiple of those per piece
TINY = 1e-8


class Pieces(NamedTuple):
    """Pieces of texts: (n, length) word ids padded with -1, (n,) sizes, (n,) numbers of held-out words at the end."""

    ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    held_out: NDArray[np.int64]


def cut(
    ids: NDArray[np.int32], ends: NDArray[np.int64], keep: NDArray[np.float32], rng: np.random.Generator, how: Cutting
) -> Pieces:
    """Shuffle the words of each text, leave some out, and cut the rest into pieces of at least two words.

    Examples
    --------
    >>> ids, ends = np.arange(5, dtype=np.int32), np.array([0, 3, 5])
    >>> pieces = cut(ids, ends, np.ones(5, np.float32), np.random.default_rng(0), Cutting(2, 1, 0.2))
    >>> np.sort(pieces.ids).tolist(), pieces.sizes, pieces.held_out
    ([[0, 1, 2], [-1, 3, 4]], array([3, 2]), array([1, 1]))
    """
    longest = how.context + how.targets
    kept = rng.random(len(ids)) < keep[ids]
    texts = np.repeat(np.arange(len(ends) - 1), np.diff(ends))[kept]
    order = np.lexsort((rng.random(len(texts)), texts))
    words, lengths = ids[kept][order], np.bincount(texts, minlength=len(ends) - 1)
    begins = np.cumsum(lengths) - lengths
    place = np.arange(len(words)) - np.repeat(begins, lengths)
    pieces = -(-lengths // longest)
    piece = place * np.repeat(pieces, lengths) // np.repeat(lengths, lengths)
    piece += np.repeat(np.cumsum(pieces) - pieces, lengths)
    sizes = np.bincount(piece, minlength=int(pieces.sum()))
    column = np.arange(len(words)) - (np.cumsum(sizes) - sizes)[piece]
    table = np.full((len(sizes), longest), -1, np.int64)
    table[piece, column] = words
    enough = sizes > 1
    table, sizes = table[enough], sizes[enough]
    held_out = np.maximum(1, np.minimum(how.targets, (sizes * how.share + 0.5).astype(np.int64)))
    return Pieces(table, sizes, held_out)


class Device:
    """Learning on the torch device of a name; :meth:`learn` changes the arrays of a ``Learning``."""

    def __init__(self, learning: Any, device: str) -> None:
        torch = import_extra("torch", "torch", f"device={device!r}")
        self.torch, self.learning = torch, learning
        try:
            self.device = torch.zeros(1, device=device).device
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"device={device!r} cannot be used here ({reason}); device=None always can") from None
        self.table = torch.from_numpy(learning.table.astype(np.int64)).to(self.device)
        self.log_q = torch.from_numpy(learning.log_q).to(self.device)

    def learn(self, order: NDArray[np.int64], epoch: int, rate: float) -> float:
        """Make one pass over some texts; return the mean loss per held-out word."""
        torch, state = self.torch, self.learning
        generator = torch.Generator(self.device).manual_seed(int(state.settings.seed) * 1_000_003 + epoch)
        names = ("matrix", "squares", "weights", "weight_squares", "mean", "numbers")
        tensors = {name: torch.from_numpy(getattr(state, name)).to(self.device) for name in names}
        loss, count = torch.zeros((), dtype=torch.float64, device=self.device), 0
        for batch in self._batches(order, epoch):
            batch_loss, words = self._step(tensors, batch, generator, rate)
            loss += batch_loss
            count += words
        for name, tensor in tensors.items():
            setattr(state, name, tensor.cpu().numpy())
        return float(loss) / max(count, 1)

    def _batches(self, order: NDArray[np.int64], epoch: int) -> Iterator[Pieces]:
        """Yield the pieces of some texts in batches, in random order."""
        state, settings = self.learning, self.learning.settings
        rng = np.random.default_rng([settings.seed, epoch + 1, 1])
        begins, lengths = state.texts.ends[order], np.diff(state.texts.ends)[order]
        places = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        ends = np.concatenate([[0], np.cumsum(lengths)])
        how = Cutting(settings.context, settings.targets, settings.share)
        pieces = cut(state.texts.ids[places], ends, state.keep, rng, how)
        mixed = rng.permutation(len(pieces.sizes))
        for begin in range(0, len(mixed), BATCH):
            some = mixed[begin : begin + BATCH]
            yield Pieces(*(array[some] for array in pieces))

    def _step(self, tensors: dict[str, Any], batch: Pieces, generator: Any, rate: float) -> tuple[Any, int]:
        """Learn from one batch; return the loss, still on the device, and how many words were held out."""
        torch, settings = self.torch, self.learning.settings
        matrix, weights, mean = (tensors[name].requires_grad_() for name in ("matrix", "weights", "mean"))
        numbers = tensors["numbers"]
        kappas = numbers[[KAPPA, KAPPA0]].float().requires_grad_()
        ids = torch.from_numpy(batch.ids).to(self.device)
        sizes, held = (torch.from_numpy(array).to(self.device)[:, None] for array in (batch.sizes, batch.held_out))
        column = torch.arange(ids.shape[1], device=self.device)[None]
        target = (column >= sizes - held) & (column < sizes)
        known = ids.clamp(min=0)
        rows = torch.nn.functional.embedding(known, matrix)
        word_weights = torch.nn.functional.embedding(known, weights[:, None])[..., 0]
        context = word_weights * (column < sizes - held)
        eta = kappas[1] * mean + kappas[0] * (context[..., None] * rows).sum(1)
        direction = eta / (eta.norm(dim=1, keepdim=True) + TINY)
        n_drawn = (SHARED * settings.negatives,)
        drawn = self.table[torch.randint(len(self.table), n_drawn, generator=generator, device=self.device)]
        noise = torch.nn.functional.embedding(drawn, matrix)
        noise_weights = torch.nn.functional.embedding(drawn, weights[:, None])[:, 0]
        others = (kappas[0] * noise_weights * (direction @ noise.T) - self.log_q[drawn]).logsumexp(1, keepdim=True)
        logits = kappas[0] * word_weights * (rows @ direction[..., None])[..., 0] - self.log_q[known]
        loss = torch.where(target, torch.logaddexp(logits, others) - logits, 0.0).sum()
        loss.backward()
        with torch.no_grad():
            self._move(tensors, rate)
            for place, (value, slope, square) in enumerate(((KAPPA, SLOPE, SQUARE), (KAPPA0, SLOPE0, SQUARE0))):
                gradient = kappas.grad[place].double() * numbers[value] / len(batch.sizes)
                numbers[slope] = 0.9 * numbers[slope] + 0.1 * gradient
                numbers[square] = 0.99 * numbers[square] + 0.01 * gradient**2
                numbers[value] *= torch.exp(-0.02 * numbers[slope] / (numbers[square] + 1e-12).sqrt())
        return loss.detach().double(), int(batch.held_out.sum())

    def _move(self, tensors: dict[str, Any], rate: float) -> None:
        """Take a step of Adagrad along the sphere, and one of the weights."""
        settings = self.learning.settings
        matrix, weights, mean = (tensors[name] for name in ("matrix", "weights", "mean"))
        gradient = matrix.grad - (matrix.grad * matrix).sum(1, keepdim=True) * matrix
        tensors["squares"] += (gradient**2).sum(1)
        matrix -= rate * gradient / (tensors["squares"] + TINY).sqrt()[:, None]
        matrix /= matrix.norm(dim=1, keepdim=True)
        if settings.weigh:
            slope = weights.grad * weights
            slope += settings.pull * weights.log() * (slope != 0)
            tensors["weight_squares"] += slope**2
            weights *= (-0.5 * rate * slope / (tensors["weight_squares"] + 1e-6).sqrt()).exp()
        mean -= 0.01 * rate * (mean.grad - (mean.grad @ mean) * mean) / (mean.grad.norm() + TINY)
        mean /= mean.norm()
        for tensor in (matrix, weights, mean):
            tensor.grad = None
            tensor.requires_grad_(False)

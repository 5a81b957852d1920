"""Joint learning on a torch device: the steps of :mod:`parasphere.vectors.learning_steps`, as tensors.

Texts, sampling and parameters stay on the device; the parameters are copied back after each epoch.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import import_extra
from .learning_batch import KAPPA, KAPPA0, SLOPE, SLOPE0, SQUARE, SQUARE0
from .learning_pieces import Cutting
from .learning_steps import GROUP

TINY = 1e-8
LARGEST = 80.0  # logit whose exponential is taken
LEARNED = ("matrix", "squares", "weights", "weight_squares", "mean", "numbers")


class PaddedPieces(NamedTuple):
    """Pieces of texts: (n, length) word ids padded with -1, (n,) sizes, (n,) numbers of held-out words at the end."""

    ids: Any
    sizes: Any
    held_out: Any


class Gradients(NamedTuple):
    """Gradients with respect to the rows a w of some words, in the order in which they are listed."""

    words: Any  # (n,) int64
    terms: Any  # (n, dim)
    squares: Any  # (n,), the squared lengths of the terms, drawn words being those of their pieces
    counts: Any  # (n,), 1 for a word of a piece, 0 for a drawn word


def cut_on_device(torch: Any, ids: Any, lengths: Any, keep: Any, how: Cutting, generator: Any) -> PaddedPieces:
    """Leave out words of each text at random, shuffle the others, and cut them into pieces of at least two words.

    Parameters
    ----------
    torch : module
    ids, lengths : (n_words,) int64 and (n_texts,) int64 tensors
        The concatenated texts, and their lengths.
    keep : (n_vocabulary,) tensor
        The probability that an occurrence of a word is used.
    how : Cutting
        The lengths of pieces.
    generator : torch.Generator
        The random numbers.
    """
    device, longest = ids.device, how.context + how.targets

    def uniform(n: int) -> Any:
        return torch.rand(n, generator=generator, device=device)

    texts = torch.repeat_interleave(torch.arange(len(lengths), device=device), lengths)
    kept = uniform(len(ids)) < keep[ids]
    ids, texts = ids[kept], texts[kept]
    mixed = torch.argsort(uniform(len(ids)))
    order = mixed[torch.argsort(texts[mixed], stable=True)]
    words, sizes = ids[order], torch.bincount(texts, minlength=len(lengths))
    n_pieces = (sizes + longest - 1) // longest
    text_of = texts[order]
    place = torch.arange(len(words), device=device) - (torch.cumsum(sizes, 0) - sizes)[text_of]
    piece = place * n_pieces[text_of] // sizes[text_of] + (torch.cumsum(n_pieces, 0) - n_pieces)[text_of]
    piece_sizes = torch.bincount(piece, minlength=int(n_pieces.sum()))
    column = torch.arange(len(words), device=device) - (torch.cumsum(piece_sizes, 0) - piece_sizes)[piece]
    table = torch.full((len(piece_sizes), longest), -1, dtype=torch.int64, device=device)
    table[piece, column] = words
    enough = piece_sizes > 1
    table, piece_sizes = table[enough], piece_sizes[enough]
    held_out = (piece_sizes * how.share + 0.5).long().clamp(1, how.targets)
    return PaddedPieces(table, piece_sizes, held_out)


class Device:
    """Learning on the torch device of a name; :meth:`epoch` changes the arrays of a ``Learning``."""

    def __init__(self, learning: Any, device: str) -> None:
        torch = import_extra("torch", "torch", f"device={device!r}")
        self.torch, self.learning = torch, learning
        try:
            self.device = torch.zeros(1, device=device).device
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"device={device!r} cannot be used here ({reason}); device=None always can") from None
        texts, start = learning.texts, learning.start
        self.ids, self.begins = self._tensor(texts.ids), self._tensor(texts.ends)
        self.keep, self.log_q = self._tensor(learning.keep), self._tensor(learning.log_q)
        self.table = self._tensor(learning.table)
        self.prior_rows, self.strengths = self._tensor(start.matrix), self._tensor(start.strengths)
        self.prior_weights = self._tensor(start.weights)

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self.torch.from_numpy(np.array(array)).to(self.device)

    def epoch(self, epoch: int) -> float:
        """Make one pass over the texts; return the mean loss per held-out word."""
        torch, state = self.torch, self.learning
        generator = torch.Generator(self.device).manual_seed(int(state.settings.seed) * 1_000_003 + epoch)
        tensors = {name: self._tensor(getattr(state, name)) for name in LEARNED}
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        count = torch.zeros((), dtype=torch.int64, device=self.device)
        order = np.random.default_rng([state.settings.seed, epoch + 1]).permutation(state.learned_from)
        for share, batch in self._batches(order, generator):
            loss += self._step(tensors, batch, generator, state.rate_at(epoch + share))
            count += batch.held_out.sum()
        for name, tensor in tensors.items():
            getattr(state, name)[:] = tensor.cpu().numpy()
        return float(loss) / max(int(count), 1)

    def _batches(self, order: NDArray[np.int64], generator: Any) -> Iterator[tuple[float, PaddedPieces]]:
        """Yield the pieces of some texts in batches, in random order, and the share of the words before each."""
        torch, size = self.torch, self.learning.batch
        for (begin, end), some in self.learning.shards(order):
            texts = self._tensor(some)
            lengths = self.begins[texts + 1] - self.begins[texts]
            shift = self.begins[texts] - (torch.cumsum(lengths, 0) - lengths)
            places = torch.repeat_interleave(shift, lengths) + torch.arange(int(lengths.sum()), device=self.device)
            pieces = cut_on_device(torch, self.ids[places].long(), lengths, self.keep, self.learning.cutting, generator)
            mixed = torch.randperm(len(pieces.sizes), generator=generator, device=self.device)
            for at in range(0, len(mixed), size):
                share = begin + (end - begin) * at / len(mixed)
                yield share, PaddedPieces(*(array[mixed[at : at + size]] for array in pieces))

    def _step(self, tensors: dict[str, Any], batch: PaddedPieces, generator: Any, rate: float) -> Any:
        """Learn from one batch; return its loss, still on the device."""
        numbers = tensors["numbers"]
        loss, gradients, pulled, slopes = self._gradients(tensors, _filled(self.torch, batch), generator)
        self._move(tensors, gradients, rate)
        mean, gradient = tensors["mean"], pulled.sum(0)
        mean -= 0.01 * rate * numbers[KAPPA0].float() * (gradient - (gradient @ mean) * mean)
        mean /= mean.norm()
        size = self.learning.size_of(len(batch.sizes))
        for total, value, slope, square in zip(
            slopes, (KAPPA, KAPPA0), (SLOPE, SLOPE0), (SQUARE, SQUARE0), strict=True
        ):
            each = total.double() / len(batch.sizes)
            numbers[slope] = 0.9 * numbers[slope] + 0.1 * each
            numbers[square] = 0.99 * numbers[square] + 0.01 * each**2
            numbers[value] *= self.torch.exp(-size * numbers[slope] / (numbers[square] + 1e-12).sqrt())
        return loss

    def _gradients(self, tensors: dict[str, Any], batch: PaddedPieces, generator: Any) -> Any:
        """Return the loss, the gradients of rows, those with respect to eta, and those of both concentrations."""
        torch = self.torch
        matrix, weights, mean = (tensors[name] for name in ("matrix", "weights", "mean"))
        kappa, kappa0 = tensors["numbers"][KAPPA].float(), tensors["numbers"][KAPPA0].float()
        column = torch.arange(batch.ids.shape[1], device=self.device)[None]
        middles, sizes = (batch.sizes - batch.held_out)[:, None], batch.sizes[:, None]
        context, target = column < middles, (column >= middles) & (column < sizes)
        known = batch.ids.clamp(min=0)
        rows, scales, log_q = matrix[known], kappa * weights[known], self.log_q[known]
        eta = kappa0 * mean + ((scales * context)[:, None] @ rows)[:, 0]
        length = eta.norm(dim=1, keepdim=True) + TINY
        directions = eta / length
        grouped = directions.reshape(-1, GROUP, directions.shape[1])
        n_drawn = (len(grouped), self.learning.settings.negatives)
        drawn = self.table[torch.randint(len(self.table), n_drawn, generator=generator, device=self.device)].long()
        noise_scales = kappa * weights[drawn]
        noise = noise_scales[..., None] * matrix[drawn]
        masses = grouped @ noise.transpose(1, 2) - self.log_q[drawn][:, None]
        tops = masses.amax(2, keepdim=True)
        masses = (masses - tops).exp()
        others = masses.sum(2).reshape(-1, 1)
        logits = scales * (rows @ directions[..., None])[..., 0] - log_q - tops.reshape(-1, 1)
        mass = logits.clamp(max=LARGEST).exp()
        loss = torch.where(target, (mass + others).log() - logits, 0.0).double().sum()
        shares = torch.where(target, 1 / (mass + others), 0.0)
        forces = torch.where(target, (mass * shares - 1) * scales, 0.0)
        masses = masses * shares.sum(1).reshape(-1, GROUP, 1)
        pulled = (forces[:, None] @ rows)[:, 0] + (masses @ noise).reshape(directions.shape)
        along = (pulled * directions).sum(1, keepdim=True)
        pulled = (pulled - along * directions) / length
        by_prior = kappa0 * (pulled @ mean).sum()
        of_context = scales * context
        terms = of_context[..., None] * pulled[:, None] + forces[..., None] * directions[:, None]
        by_drawn = noise_scales[..., None] * (masses.transpose(1, 2) @ grouped)
        squares = of_context**2 * (pulled**2).sum(1, keepdim=True) + forces**2
        gradients = Gradients(
            torch.cat([known.reshape(-1), drawn.reshape(-1)]),
            torch.cat([terms.reshape(-1, terms.shape[2]), by_drawn.reshape(-1, terms.shape[2])]),
            torch.cat([squares.reshape(-1), (noise_scales**2 * (masses**2).sum(1)).reshape(-1)]),
            torch.cat([(column < sizes).reshape(-1).float(), torch.zeros(drawn.numel(), device=self.device)]),
        )
        return loss, gradients, pulled, (along.sum() - by_prior, by_prior)

    def _move(self, tensors: dict[str, Any], gradients: Gradients, rate: float) -> None:
        """Take a step of Adagrad along the sphere, and one of the weights."""
        torch, settings = self.torch, self.learning.settings
        matrix, weights = tensors["matrix"], tensors["weights"]
        words, places = gradients.words.unique(return_inverse=True)
        empty = torch.zeros(len(words), device=self.device)
        counts, squares = (empty.index_add(0, places, part) for part in (gradients.counts, gradients.squares))
        gradient = torch.zeros((len(words), matrix.shape[1]), device=self.device)
        gradient.index_add_(0, places, gradients.terms)
        rows = matrix[words]
        if settings.weigh:
            given = weights[words]
            slope = (gradient * rows).sum(1) + settings.pull * counts * (given / self.prior_weights[words]).log()
            tensors["weight_squares"][words] += slope**2 / counts.clamp(min=1)
            root = (tensors["weight_squares"][words] + 1e-6).sqrt()
            weights[words] = given * (-0.5 * rate * slope / root).exp()
        tensors["squares"][words] += squares
        step = rate / (tensors["squares"][words] + TINY).sqrt()
        rows = rows - step[:, None] * (gradient - (gradient * rows).sum(1, keepdim=True) * rows)
        rows += (step * self.strengths[words] * counts)[:, None] * self.prior_rows[words]
        matrix[words] = rows / rows.norm(dim=1, keepdim=True)


def _filled(torch: Any, batch: PaddedPieces) -> PaddedPieces:
    """Return a batch with empty pieces at its end, so that all groups are full."""
    missing = -len(batch.sizes) % GROUP
    pad = torch.nn.functional.pad
    return PaddedPieces(
        pad(batch.ids, (0, 0, 0, missing), value=-1), pad(batch.sizes, (0, missing)), pad(batch.held_out, (0, missing))
    )

"""Word vectors distilled from a sentence encoder: the objective, the initial values, and the steps that minimise it.

Each word has one free row: its direction is the word's vector, its length the word's weight. The sum of the rows of a
text, scaled to unit length, is the text's direction u. A linear map takes it to the teacher's space,
``y = (u P + b) / |u P + b|``, where it is compared with the teacher's unit vector t. Per batch of texts, the loss is

- the cross-entropy of each t among those of the batch, with the logits ``y . t / temperature``,
- plus ``1 - y . t``,
- plus ``pairs`` times the mean squared difference between the cosines of all pairs of u and those of all pairs of t.

The third term compares cosines before the map, which are those that users of the vectors see. See docs/training.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasphere.sphere.rows import unit_rows
from parasphere.vectors.learning_texts import Texts

TINY = 1e-12
SAME = 0.9999  # two texts whose cosine by the teacher is above this are not negatives of each other
FOR_AXES = 200_000  # texts that the main axes are computed from
CHUNK = 65_536  # texts whose vectors are converted to float32 at a time
MOMENTS = 0.9, 0.99  # the decay rates of Adam

Report = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Course:
    """The settings of training."""

    steps: int = 3000
    batch: int = 4096
    rate: float = 2e-3
    temperature: float = 0.05
    pairs: float = 20.0
    drop: float = 0.1  # the share of words that is left out at random in each step
    block: int = 16  # consecutive texts that stay together, so that a batch has related ones
    warm_up: int = 100  # steps until the rate is reached; then it decreases linearly to zero
    rarity: float = 1e-4  # the initial weight of a word is rarity / (rarity + its share of the text)
    held_out: float = 0.05  # the share of the texts, at most one batch, used only to measure the loss
    reports: int = 20  # how often the loss is measured
    seed: int = 0


def known_words(texts: Texts) -> Texts:
    """Remove the words that are not learned."""
    kept = texts.ids >= 0
    return texts._replace(ids=texts.ids[kept], ends=np.concatenate([[0], np.cumsum(kept)])[texts.ends])


def most_frequent(texts: Texts, n_words: int) -> Texts:
    """Keep the most frequent words, which come first; the ids of others become -1."""
    ids = np.where(texts.ids < n_words, texts.ids, np.int32(-1))
    return texts._replace(words=texts.words[:n_words], counts=texts.counts[:n_words], ids=ids)


class Teaching:
    """The state of training, in tensors on one device.

    Parameters
    ----------
    texts : Texts
        The texts as ids of known words.
    taught : (n_texts, n_features) array
        The teacher's vector per text, of any length; texts whose vector is zero are left out.
    words : (n_words, n_features) array
        The teacher's vector per word, to start from.
    dim : int
        Dimension of the word vectors, at most ``n_features``.
    course : Course
        The settings.
    device : str, default="cpu"
        A torch device.
    """

    CHANGING = ("rows", "map", "offset")

    def __init__(
        self,
        texts: Texts,
        taught: NDArray[Any],
        words: NDArray[Any],
        dim: int,
        course: Course,
        device: str = "cpu",
    ) -> None:
        self.texts, self.course, self.taught = texts, course, taught
        import torch

        self.torch, self.device = torch, torch.device(device)
        self.learned_from, self.held_out = _split(texts, taught, course)
        rows, axes, mean = first_guess(texts, taught, words, dim, course, self.learned_from)
        self.state: dict[str, Any] = {}
        for name, array in zip(self.CHANGING, (rows, axes, mean), strict=True):
            tensor = self._tensor(array)
            self.state |= {name: tensor, f"{name} mean": tensor * 0, f"{name} square": tensor * 0}
        self.losses: list[list[float]] = []
        self.ids, self.ends = self._tensor(texts.ids.astype(np.int64)), self._tensor(texts.ends)
        self.targets = self._tensor(taught)

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self.torch.from_numpy(np.require(array, requirements=["C", "W", "O"])).to(self.device)

    def run(self, report: Report) -> None:
        """Run all steps; call ``report`` with the step and both losses a few times."""
        course = self.course
        marks = np.unique(np.linspace(0, course.steps, min(course.reports, course.steps) + 1).astype(int))
        for done, mark in zip(marks[:-1].tolist(), marks[1:].tolist(), strict=True):
            total = self.torch.zeros((), device=self.device)
            for step in range(done, mark):
                total += self._step(step)
            learned, judged = float(total) / (mark - done), self._judge()
            self.losses.append([learned, judged])
            report(mark, learned, judged)

    def _step(self, step: int) -> Any:
        """Take a step of Adam; return the loss, still on the device."""
        course = self.course
        generator = self.torch.Generator(self.device).manual_seed(course.seed * 1_000_003 + step)
        parameters = [self.state[name].requires_grad_() for name in self.CHANGING]
        loss = self._loss(self._tensor(self._batch(step)), generator)
        slopes = self.torch.autograd.grad(loss, parameters)
        warm_up = min(course.warm_up, course.steps // 10 + 1)
        rate = course.rate * min(1.0, (step + 1) / warm_up) * (1 - step / course.steps)
        with self.torch.no_grad():
            for name, slope in zip(self.CHANGING, slopes, strict=True):
                value, mean, square = (self.state[f"{name}{of}"] for of in ("", " mean", " square"))
                mean.lerp_(slope, 1 - MOMENTS[0])
                square.mul_(MOMENTS[1]).addcmul_(slope, slope, value=1 - MOMENTS[1])
                length = rate if name == "rows" else rate / 2
                spread = (square / (1 - MOMENTS[1] ** (step + 1))).sqrt_().add_(1e-8)
                value.requires_grad_(False).addcdiv_(mean, spread, value=-length / (1 - MOMENTS[0] ** (step + 1)))
        return loss.detach()

    def _batch(self, step: int) -> NDArray[np.int64]:
        """Return the texts of a step: blocks of consecutive texts, each at most once per pass over the texts."""
        course, n_texts = self.course, len(self.learned_from)
        size = min(course.block, n_texts)
        n_blocks = n_texts // size
        per_batch = max(1, min(course.batch // size, n_blocks))
        per_pass = n_blocks // per_batch
        rng = np.random.default_rng([course.seed, 1, step // per_pass])
        shift, order = rng.integers(n_texts), rng.permutation(n_blocks)
        begin = step % per_pass * per_batch
        places = (order[begin : begin + per_batch, None] * size + np.arange(size) + shift) % n_texts
        return np.asarray(self.learned_from[places.ravel()])

    def _loss(self, chosen: Any, generator: Any = None) -> Any:
        """Return the loss of some texts; words are dropped at random if there is a generator."""
        course = self.course
        normalise = self.torch.nn.functional.normalize
        begins, lengths = self.ends[chosen], self.ends[chosen + 1] - self.ends[chosen]
        offsets = lengths.cumsum(0) - lengths
        places = self.torch.arange(int(lengths.sum()), device=self.device)
        words = self.ids[places + self.torch.repeat_interleave(begins - offsets, lengths)]
        kept = None
        if generator is not None:
            kept = (self.torch.rand(len(words), generator=generator, device=self.device) >= course.drop).float()
        sums = self.torch.nn.functional.embedding_bag(
            words, self.state["rows"], offsets, mode="sum", per_sample_weights=kept
        )
        directions = normalise(sums, dim=1, eps=TINY)
        targets = normalise(self.targets[chosen].float(), dim=1, eps=TINY)
        mapped = normalise(directions @ self.state["map"] + self.state["offset"], dim=1, eps=TINY)
        cosines, alike = mapped @ targets.T, targets @ targets.T
        itself = self.torch.eye(len(chosen), dtype=self.torch.bool, device=self.device)
        logits = (cosines / course.temperature).masked_fill((alike > SAME) & ~itself, -self.torch.inf)
        own = logits.diagonal()
        among = (logits.logsumexp(1) - own).mean()
        apart = (directions @ directions.T - alike).square().mean()
        return among + 1 - cosines.diagonal().mean() + course.pairs * apart

    def _judge(self) -> float:
        """Return the loss on the held-out texts."""
        if not len(self.held_out):
            return float("nan")
        with self.torch.no_grad():
            return float(self._loss(self._tensor(self.held_out)))

    @property
    def rows(self) -> NDArray[np.float32]:
        """The rows of the words, whose lengths are the weights; their mean length over the texts is 1."""
        rows: NDArray[np.float32] = self.state["rows"].cpu().numpy()
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        scale = float(self.texts.counts @ lengths / self.texts.counts.sum())
        return rows / np.float32(max(scale, TINY))


def _split(texts: Texts, taught: NDArray[Any], course: Course) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the texts to learn from, in their order, and the texts to hold out, chosen in blocks."""
    usable = np.flatnonzero((np.diff(texts.ends) > 0) & _any(taught))
    n_held = min(round(course.held_out * len(usable)), course.batch)
    if len(usable) - n_held < 2:
        raise SystemExit("fewer than two texts have a known word and a teacher's vector; lower --min-count.")
    size = min(course.block, max(n_held, 1))
    block = np.arange(len(usable)) // size
    order = np.random.default_rng([course.seed, 0]).permutation(len(usable) // size)
    held = np.isin(block, order[: n_held // size])
    return usable[~held], usable[held]


def _any(rows: NDArray[Any]) -> NDArray[np.bool_]:
    parts = [rows[begin : begin + CHUNK].any(axis=1) for begin in range(0, len(rows), CHUNK)]
    return np.concatenate([np.empty(0, bool), *parts])


def first_guess(
    texts: Texts, taught: NDArray[Any], words: NDArray[Any], dim: int, course: Course, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the initial rows (n_words, dim), map (dim, n_features) and offset (n_features,).

    The map consists of the main axes of the teacher's vectors, the offset is their mean. A row is the teacher's vector
    of the word, centred and projected on these axes, times the weight of smooth inverse frequency.
    """
    some = np.random.default_rng([course.seed, 2]).permutation(chosen)[:FOR_AXES]
    sample = unit_rows(taught[np.sort(some)], np.float32)
    mean = sample.mean(0)
    sample -= mean
    _, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :dim].T, np.float32)
    of_words = unit_rows(words, np.float32)
    rows = unit_rows((of_words - of_words.mean(0)) @ axes.T, np.float32)
    share = texts.counts / texts.counts.sum()
    rows *= (course.rarity / (course.rarity + share)).astype(np.float32)[:, None]
    return rows, axes, mean

"""Word vectors taught by a sentence encoder: the objective, the initial values, and the steps that minimise it.

Each word has one free row: its direction is the word's vector, its length the word's weight. The sum of the rows of a
text, scaled to unit length, is the text's direction u. A linear map takes it to the teacher's space,
``y = (u P + b) / |u P + b|``, where it is compared with the teacher's unit vector t. Per batch of texts, the loss is

- the cross-entropy of each t among those of the batch, with the logits ``y . t / temperature``,
- plus ``1 - y . t``,
- plus ``pairs`` times the mean squared difference between the cosines of all pairs of u and those of all pairs of t.

The third term compares cosines before the map, which are those that users of the vectors see. See docs/teaching.md.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import VectorsError, import_extra
from ..progress import progress
from ..sphere.rows import unit_rows
from ..storage import Checkpoint
from ..text import Vocabulary
from .learning_texts import Texts
from .wordvectors import WordVectors

TINY = 1e-12
SAME = 0.9999  # two texts whose cosine by the teacher is above this are not negatives of each other
FOR_AXES = 200_000  # texts that the main axes are computed from
CHUNK = 65_536  # texts whose vectors are converted to float32 at a time
MOMENTS = 0.9, 0.99  # the decay rates of Adam
PASSES, FEWEST, MOST = 50, 200, 3000  # passes over the texts, and the bounds of the number of steps

Report = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Course:
    """The settings of teaching; some are parameters of :class:`parasphere.TaughtVectors`, with the same meaning."""

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
    reports: int = 20  # how often the loss is measured and the state is saved
    seed: int = 0


def course_for(n_texts: int, device: str, steps: int | None, batch: int | None, rate: float, seed: int) -> Course:
    """Return the settings for a number of texts and a device, with defaults for those that are None.

    Examples
    --------
    >>> course = course_for(20_000, "cpu", None, None, 2e-3, 0)
    >>> course.steps, course.batch, course.block
    (976, 1024, 16)
    """
    if batch is None:
        batch = max(2, min(1024 if device == "cpu" else 4096, n_texts // 4))
    if steps is None:
        steps = max(FEWEST, min(PASSES * n_texts // batch, MOST))
    return Course(steps, batch, rate, block=max(1, min(Course.block, batch // 64)), seed=seed)


def check_dim(dim: int, taught: NDArray[Any]) -> None:
    """Raise unless the teacher's vectors have enough numbers for word vectors of this dimension."""
    if dim > taught.shape[1]:
        raise VectorsError(f"dim={dim} is more than the {taught.shape[1]} numbers of the teacher's vectors.")


class Teaching:
    """The state of teaching, in tensors on one device that a checkpoint can keep as arrays.

    Parameters
    ----------
    texts : Texts
        The texts as ids of known words.
    taught : (n_texts, n_features) array
        The teacher's vector per text, of any length; texts whose vector is zero are left out.
    words : (n_words, n_features) array or None
        The teacher's vector per word, to start from. None starts from the vectors of the texts with the word.
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
        words: NDArray[Any] | None,
        dim: int,
        course: Course,
        device: str = "cpu",
    ) -> None:
        check_dim(dim, taught)
        self.texts, self.course, self.taught = texts, course, taught
        self.torch, self.device = torch_on(device)
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

    @property
    def key(self) -> dict[str, Any]:
        """Everything that the result depends on; a checkpoint with another key is not resumed."""
        digest = hashlib.blake2b(digest_size=16)
        first = [self.state[name].cpu().numpy() for name in self.CHANGING]
        for array in (self.texts.ids, self.texts.ends, *first):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return {"texts and teacher": digest.hexdigest(), "device": self.device.type, **asdict(self.course)}

    def run(self, checkpoint: Checkpoint | None = None, report: Report | None = None, *, verbose: bool = False) -> None:
        """Run all steps, or those that remain after a checkpoint; call ``report`` with the step and both losses."""
        course = self.course
        marks = np.unique(np.linspace(0, course.steps, min(course.reports, course.steps) + 1).astype(int))[1:]
        if checkpoint is not None and (kept := checkpoint.resume()) is not None:
            self.state = {name: self._tensor(np.array(kept[0][name])) for name in self.state}
            self.losses = kept[0]["losses"].tolist()
        done = int(marks[len(self.losses) - 1]) if self.losses else 0
        with progress("teaching vectors", course.steps, unit="steps", shown=verbose) as advance:
            advance(done)
            for mark in marks[len(self.losses) :]:
                total = self.torch.zeros((), device=self.device)
                for step in range(done, int(mark)):
                    total += self._step(step)
                    advance(1)
                learned, judged, done = float(total) / (int(mark) - done), self._judge(), int(mark)
                self.losses.append([learned, judged])
                if checkpoint is not None:
                    arrays = {name: tensor.cpu().numpy() for name, tensor in self.state.items()}
                    checkpoint.write(arrays | {"losses": np.array(self.losses)})
                if report is not None:
                    report(done, learned, judged)

    def _step(self, step: int) -> Any:
        """Take a step of Adam; return the loss, still on the device."""
        torch, course = self.torch, self.course
        generator = torch.Generator(self.device).manual_seed(course.seed * 1_000_003 + step)
        parameters = [self.state[name].requires_grad_() for name in self.CHANGING]
        loss = self._loss(self._tensor(self._batch(step)), generator)
        slopes = torch.autograd.grad(loss, parameters)
        warm_up = min(course.warm_up, course.steps // 10 + 1)
        rate = course.rate * min(1.0, (step + 1) / warm_up) * (1 - step / course.steps)
        with torch.no_grad():
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
        torch, course = self.torch, self.course
        normalise = torch.nn.functional.normalize
        begins, lengths = self.ends[chosen], self.ends[chosen + 1] - self.ends[chosen]
        offsets = lengths.cumsum(0) - lengths
        places = torch.arange(int(lengths.sum()), device=self.device)
        words = self.ids[places + torch.repeat_interleave(begins - offsets, lengths)]
        kept = None
        if generator is not None:
            kept = (torch.rand(len(words), generator=generator, device=self.device) >= course.drop).float()
        sums = torch.nn.functional.embedding_bag(
            words, self.state["rows"], offsets, mode="sum", per_sample_weights=kept
        )
        directions = normalise(sums, dim=1, eps=TINY)
        targets = normalise(self.targets[chosen].float(), dim=1, eps=TINY)
        mapped = normalise(directions @ self.state["map"] + self.state["offset"], dim=1, eps=TINY)
        cosines, alike = mapped @ targets.T, targets @ targets.T
        itself = torch.eye(len(chosen), dtype=torch.bool, device=self.device)
        logits = (cosines / course.temperature).masked_fill((alike > SAME) & ~itself, -torch.inf)
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

    def vectors(self, name: str) -> WordVectors:
        """Return the taught vectors: unit rows, and weights of mean 1 over all texts."""
        rows = self.rows.astype(np.float64)
        weights = np.linalg.norm(rows, axis=1)
        rows[weights == 0, 0] = 1.0  # a word of weight 0 may point anywhere
        return WordVectors(Vocabulary(self.texts.words), unit_rows(rows, np.float32), weights=weights, name=name)


def torch_on(device: str) -> tuple[Any, Any]:
    """Return the module torch, and the device with this name."""
    torch = import_extra("torch", "torch", "TaughtVectors")
    try:
        return torch, torch.zeros(1, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); device=None always can") from None


def _split(texts: Texts, taught: NDArray[Any], course: Course) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the texts to learn from, in their order, and the texts to hold out, chosen in blocks."""
    usable = np.flatnonzero((np.diff(texts.ends) > 0) & _any(taught))
    n_held = min(round(course.held_out * len(usable)), course.batch)
    if len(usable) - n_held < 2:
        raise VectorsError("fewer than two texts have a known word and a teacher's vector; lower min_count.")
    size = min(course.block, max(n_held, 1))
    block = np.arange(len(usable)) // size
    order = np.random.default_rng([course.seed, 0]).permutation(len(usable) // size)
    held = np.isin(block, order[: n_held // size])
    return usable[~held], usable[held]


def _any(rows: NDArray[Any]) -> NDArray[np.bool_]:
    parts = [rows[begin : begin + CHUNK].any(axis=1) for begin in range(0, len(rows), CHUNK)]
    return np.concatenate([np.empty(0, bool), *parts])


def first_guess(
    texts: Texts, taught: NDArray[Any], words: NDArray[Any] | None, dim: int, course: Course, chosen: NDArray[np.int64]
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
    of_words = unit_rows(_means_of_texts(texts, taught, chosen) if words is None else words, np.float32)
    rows = unit_rows((of_words - of_words.mean(0)) @ axes.T, np.float32)
    share = texts.counts / texts.counts.sum()
    rows *= (course.rarity / (course.rarity + share)).astype(np.float32)[:, None]
    return rows, axes, mean


def _means_of_texts(texts: Texts, taught: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return, per word, the sum of the teacher's vectors of the chosen texts with it, divided by the texts' lengths."""
    lengths = np.diff(texts.ends)
    shares = np.zeros(len(lengths), np.float32)
    shares[chosen] = 1 / lengths[chosen]
    total = np.zeros((len(texts.words), taught.shape[1]), np.float32)
    for begin in range(0, len(taught), CHUNK):
        part = slice(begin, begin + CHUNK)
        ends = texts.ends[begin : begin + CHUNK + 1]
        entries = (np.repeat(shares[part], lengths[part]), texts.ids[ends[0] : ends[-1]], ends - ends[0])
        bags = sparse.csr_array(entries, shape=(len(ends) - 1, len(texts.words)))
        total += bags.T @ unit_rows(taught[part], np.float32)
    return total

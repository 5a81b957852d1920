"""Joint learning of word vectors: words are held out of a text and predicted from the rest of it.

The objective is the leave-out predictive likelihood of the Spherical Paragraph Model, see
:mod:`parasphere.vectors.learning_loop`. Labels are not used.
"""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import VectorsError
from ..progress import progress
from ..storage import Checkpoint
from ..text import Vocabulary, phrase_rows
from .learning_loop import KAPPA, KAPPA0, Cutting, Drawing, Parameters, predict_pass
from .learning_texts import Texts, first_vectors
from .learning_torch import Device
from .wordvectors import WordVectors

TABLE = 1 << 21  # entries of the table that words are drawn from
JUDGES = 512  # words drawn to estimate the sum when held-out texts are predicted


@dataclass(frozen=True)
class Settings:
    """The settings of learning; those of :class:`parasphere.JointVectors` mean the same there."""

    epochs: int = 40
    rate: float = 0.2
    min_count: int = 2
    ngrams: int = 1
    ngram_count: int = 5  # how often a phrase must occur, and how much more often than by chance:
    ngram_score: float = 0.2  # see parasphere.text.find_phrases
    sample: float = 1e-3  # words whose share of the text is above this are subsampled, as in word2vec; 0 keeps all
    context: int = 24  # see Cutting
    targets: int = 6
    share: float = 0.2
    negatives: int = 64  # words drawn per piece,
    power: float = 0.75  # with probabilities proportional to this power of their counts
    weigh: bool = True
    pull: float = 0.01  # how strongly weights are regularised towards 1
    held_out: float = 0.05  # the share of the texts that only serves to measure the loss of every epoch
    seed: int = 0  # of all random numbers


class Learning:
    """The state of learning, in arrays that a checkpoint can keep; None as the device is compiled code on one core."""

    CHANGING = ("matrix", "squares", "weights", "weight_squares", "mean", "numbers", "state")

    def __init__(
        self, texts: Texts, start: WordVectors | None, dim: int, settings: Settings, device: str | None = None
    ) -> None:
        self.texts, self.settings = texts, settings
        share = texts.counts / texts.counts.sum()
        with np.errstate(divide="ignore"):  # a word that only occurs within phrases
            often = settings.sample / share if settings.sample else np.ones(len(share))
        self.keep = np.minimum(1.0, np.sqrt(often) + (often if settings.sample else 0)).astype(np.float32)
        q = (share * self.keep) ** settings.power
        q /= q.sum()
        self.log_q = np.log(np.maximum(q, np.finfo(np.float32).tiny)).astype(np.float32)
        self.table = np.searchsorted(np.cumsum(q), (np.arange(TABLE) + 0.5) / TABLE * (1 - 1e-12)).astype(np.int32)
        self.matrix = first_vectors(texts.words, start, dim, settings.seed)
        mean = share @ self.matrix
        length = np.linalg.norm(mean)  # 0 if they cancel out: then any direction will do
        self.mean = (mean / length if length > 0 else self.matrix[0]).astype(np.float32)
        self.squares, self.weight_squares = np.zeros((2, len(share)), np.float32)
        self.weights = np.ones(len(share), np.float32)
        self.numbers = np.array([10.0, 10.0, 0.0, 0.0, 0.0, 0.0])
        self.state = np.array([settings.seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self.losses: list[list[float]] = []
        n_texts = len(texts.ends) - 1
        order = np.random.default_rng([settings.seed, 0]).permutation(n_texts)
        n_held = round(settings.held_out * n_texts)
        self.held_out, self.learned_from = order[:n_held], order[n_held:]
        self.device = None if device is None else Device(self, device)

    @property
    def key(self) -> dict[str, Any]:
        """What the result depends on; a checkpoint with another key is not resumed."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.texts.ids, self.texts.ends, self.matrix):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        on_device = self.device is not None
        return {"texts and start": digest.hexdigest(), "device": on_device, **asdict(self.settings)}

    def run(self, checkpoint: Checkpoint | None, verbose: bool) -> None:
        """Run all epochs, or those that remain after a checkpoint."""
        settings = self.settings
        if checkpoint is not None and (state := checkpoint.resume()) is not None:
            for name in self.CHANGING:
                setattr(self, name, np.array(state[0][name]))
            self.losses = state[0]["losses"].tolist()
        with progress("learning vectors", settings.epochs, unit="epochs", shown=verbose) as advance:
            advance(len(self.losses))
            for epoch in range(len(self.losses), settings.epochs):
                order = np.random.default_rng([settings.seed, epoch + 1]).permutation(self.learned_from)
                rate = settings.rate * (1 - epoch / settings.epochs)
                if self.device is None:
                    learned = self._pass(order, self.state, rate)
                else:
                    learned = self.device.learn(order, epoch, rate)
                judged = self._pass(self.held_out, np.array([99], np.uint64), 0.0)
                self.losses.append([learned, judged])
                advance(1)
                if checkpoint is not None:
                    arrays = {name: getattr(self, name) for name in self.CHANGING}
                    checkpoint.write(arrays | {"losses": np.array(self.losses)})
        if checkpoint is not None:
            checkpoint.remove()
        if not (np.isfinite(self.matrix).all() and np.isfinite(self.weights).all()):
            raise VectorsError(f"learning diverged with rate={settings.rate}; choose a smaller rate.")
        self._place_unseen()

    def _pass(self, order: NDArray[np.int64], state: NDArray[np.uint64], rate: float) -> float:
        """Return the mean loss per held-out word of some texts; learn from them if the rate is above 0."""
        settings, learn = self.settings, rate > 0
        parameters = Parameters(
            self.matrix, self.squares, self.weights, self.weight_squares, self.mean, self.numbers, settings.weigh
        )
        negatives = settings.negatives if learn else JUDGES
        cutting = Cutting(settings.context, settings.targets, settings.share)
        drawing = Drawing(self.keep, self.table, self.log_q, negatives, state)
        loss, count = predict_pass(
            self.texts.ids, self.texts.ends, order, cutting, drawing, parameters, rate, settings.pull, learn
        )
        return loss / count if count else float("nan")

    def _place_unseen(self) -> None:
        """Give each word that only occurs within phrases, and so was not learned, the mean of its phrases."""
        unseen = np.flatnonzero(self.texts.counts == 0)
        if not len(unseen):
            return
        phrases: dict[str, list[int]] = {}
        for row in phrase_rows(Vocabulary(self.texts.words)).tolist():
            for part in self.texts.words[row].split(" "):
                phrases.setdefault(part, []).append(row)
        for word in unseen:
            rows = phrases.get(self.texts.words[word], [])
            total = self.matrix[rows].sum(0)
            if rows and (length := float(np.linalg.norm(total))) > 0:
                self.matrix[word], self.weights[word] = total / length, self.weights[rows].mean()

    @property
    def scale(self) -> float:
        """The mean weight over all texts, which is made part of kappa."""
        return float(self.texts.counts @ self.weights / self.texts.counts.sum())

    @property
    def concentrations(self) -> tuple[float, float]:
        """The concentrations kappa and kappa0."""
        return float(self.numbers[KAPPA]) * self.scale, float(self.numbers[KAPPA0])

    def vectors(self, name: str) -> WordVectors:
        """Return the learned vectors: unit rows, and weights of mean 1 over all texts."""
        rows = self.matrix / np.linalg.norm(self.matrix.astype(np.float64), axis=1, keepdims=True)
        weights = (self.weights / self.scale).astype(np.float64)
        return WordVectors(Vocabulary(self.texts.words), rows.astype(np.float32), weights=weights, name=name)

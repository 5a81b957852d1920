"""Word vectors learned together with text vectors: words held out of a text, predicted from the rest of it.

What is maximised is SPM's own leave-out predictive likelihood (:mod:`parasphere.vectors.predictive`), so the vectors that come
out are the ones for which the closed-form posterior of a text tells most of its other words. Labels play no part.
"""

import hashlib
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import storage
from ..compiled.layout import LayoutError, check_layouts
from ..errors import StoreError, VectorsError
from ..progress import progress
from ..text.phrases import phrase_rows
from ..text.tokens import AnyTokenizer
from ..text.vocabulary import Vocabulary
from .joint_texts import Texts, first_vectors, known_words, read_texts, with_phrases
from .joint_torch import Device
from .leaveout import Words, leave_out_likelihood
from .predictive import KAPPA, KAPPA0, predict_pass
from .wordvectors import WordVectors

CHECKPOINT = "joint-learning-checkpoint"
TABLE = 1 << 21  # entries of the table that words are drawn from
JUDGES = 512  # words drawn to estimate the sum when held-out texts are predicted
TRIAL = 3  # epochs after which words alone and phrases are compared
TRIAL_TEXTS = 1000  # held-out texts by which they are, at the most


@dataclass(frozen=True)
class Settings:
    """How to learn.

    Attributes
    ----------
    epochs, rate : int and float
        Passes over the texts, and the length of the first steps; it falls to zero, linearly.
    min_count : int
        Rarer words are not learned.
    ngrams : int or "auto"
        Learn phrases of up to so many words as units of their own; 1: words alone. "auto" tries words alone and phrases
        of two for a few epochs and takes what tells held-out texts better, word for word. Token lists, and a tokenizer
        that is not ours, decide themselves what a unit is: there it is 1.
    ngram_count, ngram_score : int and float
        How often a phrase must occur, and how much more often than by chance; see
        :func:`parasphere.text.phrases.find_phrases`.
    sample : float
        Occurrences of words whose share of the text is above this are left out at random, as in word2vec; 0 keeps all.
    context, targets, share
        A text is shuffled and cut into pieces of at most ``context + targets`` words, of each of which a ``share``
        (at least one word, at most ``targets``) is held out and predicted.
    negatives, power : int and float
        Words drawn for a piece, with probabilities that go with this power of their counts.
    weigh, pull
        Whether words have concentrations of their own, and how strongly these are drawn to their mean.
    held_out : float
        The part of the texts that is not learned from but judges every epoch.
    patience : int or None
        Stop when the held-out texts were not predicted better for so many epochs, and return to the best; None: never.
    seed : int
    """

    epochs: int = 40
    rate: float = 0.2
    min_count: int = 2
    ngrams: int | Literal["auto"] = "auto"
    ngram_count: int = 5
    ngram_score: float = 0.2
    sample: float = 1e-3
    context: int = 24
    targets: int = 6
    share: float = 0.2
    negatives: int = 64
    power: float = 0.75
    weigh: bool = True
    pull: float = 0.01
    held_out: float = 0.05
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"epochs": 1, "min_count": 1, "context": 1, "targets": 1, "negatives": 1, "ngram_count": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"{name} must be at least {value}, not {getattr(self, name)!r}")
        if self.ngrams != "auto" and not (isinstance(self.ngrams, int | np.integer) and self.ngrams >= 1):
            raise ValueError(f"ngrams must be 'auto' or a whole number from 1 on, not {self.ngrams!r}")
        if not self.rate > 0:
            raise ValueError(f"rate must be above 0, not {self.rate!r}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1 or None, not {self.patience!r}")
        if not self.sample >= 0:
            raise ValueError(f"sample must be 0 or more, not {self.sample!r}")
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise ValueError(f"the seed must be a whole number from 0 on, not {self.seed!r}")
        if not -1 <= self.ngram_score <= 1:
            raise ValueError(f"ngram_score must be from -1 to 1, not {self.ngram_score!r}")
        if not 0 < self.share < 1 or not 0 <= self.held_out < 1:
            raise ValueError(f"share and held_out are parts of a whole, not {self.share!r} and {self.held_out!r}")
        for name in ("seed", "ngrams"):  # numpy's whole numbers cannot be written to a checkpoint
            if isinstance(value := getattr(self, name), np.integer):
                object.__setattr__(self, name, int(value))


class Learned(NamedTuple):
    """What joint learning found.

    Attributes
    ----------
    vectors : WordVectors
        Unit rows; their ``norms`` are the words' concentrations as multiples of kappa, 1 in the mean.
    concentration, prior_concentration : float
        kappa and kappa0.
    mean_direction : (dim,) float32
        mu0.
    losses, held_out_losses : (n_epochs,) arrays
        The loss of a held-out word, in the texts learned from and in those that were not: minus the log of its share
        among itself and the drawn words. These are more of them for the second, so that each can be compared over time,
        but not the two with each other, nor with a log-probability over the whole vocabulary.
    ngrams : int
        How many words a phrase has at the most; 1 if words were learned alone.
    """

    vectors: WordVectors
    concentration: float
    prior_concentration: float
    mean_direction: NDArray[np.float32]
    losses: NDArray[np.float64]
    held_out_losses: NDArray[np.float64]
    ngrams: int


def learn_vectors(
    corpus: Any,
    start: WordVectors | None = None,
    dim: int | None = None,
    *,
    tokenizer: AnyTokenizer | None = None,
    settings: Settings | None = None,
    device: str | None = None,
    checkpoint: str | Path | None = None,
    **columns: Any,
) -> Learned:
    """Learn word vectors from texts, from the start that other vectors give or from none.

    Parameters
    ----------
    corpus
        Anything :func:`parasphere.corpus.blocks` takes; ``columns`` are passed to it. Its word ids are held in memory.
    start : WordVectors, optional
        Where known words begin. Words that it lacks begin near the mean of those it has.
    dim : int, optional
        By default that of ``start``, or 100. If it is larger, known words begin with random further coordinates.
    tokenizer : Tokenizer or callable, optional
    settings : Settings, optional
    device : str, optional
        Where to learn: None for one CPU core, compiled; or a torch device such as "cuda" (the extra ``torch``), where a
        row moves once a batch, so that several times the epochs are needed.
    checkpoint : path, optional
        A folder in which the state is kept after each epoch; learning that was killed goes on from it and ends with
        the very same result. It is removed at the end.

    Examples
    --------
    >>> texts = ["cats purr and cats meow", "dogs bark and dogs growl"] * 50
    >>> found = learn_vectors(texts, dim=8, settings=Settings(epochs=20, sample=0, held_out=0))
    >>> near = found.vectors.nearest("purr", 2)
    >>> sorted(word for word, _ in near)
    ['cats', 'meow']
    """
    settings = settings or Settings()
    dim = (100 if start is None else start.dim) if dim is None else dim
    if dim < 2:
        raise ValueError(f"dim must be at least 2, not {dim!r}")
    if start is not None and dim < start.dim:
        raise ValueError(f"{start.name} has {start.dim} dimensions; fewer ({dim}) cannot be begun with")
    texts = read_texts(corpus, tokenizer, settings.min_count, columns)
    if not texts.joinable and settings.ngrams not in (1, "auto"):
        raise ValueError("phrases are found in texts read by a Tokenizer; tokens that are given are taken as they are")
    if not texts.joinable or (checkpoint is not None and settings.ngrams == "auto"):
        settings = replace(settings, ngrams=1 if not texts.joinable else _Kept.ngrams(Path(checkpoint or "")))
    learning = _Learning(*_chosen_texts(texts, start, dim, settings, device), device)
    kept = None if checkpoint is None else _Kept(Path(checkpoint), learning)
    learning.run(kept)
    return learning.found("learned" if start is None else f"learned from {start.name}")


class _Learning:
    """The state of learning; everything that changes is an array, so that it can be put down and taken up again."""

    def __init__(
        self, texts: Texts, start: WordVectors | None, dim: int, settings: Settings, device: str | None = None
    ) -> None:
        self.texts, self.settings = texts, settings
        share = texts.counts / texts.counts.sum()
        with np.errstate(divide="ignore"):  # a word that only phrases have
            often = settings.sample / share if settings.sample else np.ones(len(share))
        self.keep = np.minimum(1.0, np.sqrt(often) + (often if settings.sample else 0)).astype(np.float32)
        q = (share * self.keep) ** settings.power
        q /= q.sum()
        self.log_q = np.log(np.maximum(q, np.finfo(np.float32).tiny)).astype(np.float32)
        self.table = np.searchsorted(np.cumsum(q), (np.arange(TABLE) + 0.5) / TABLE * (1 - 1e-12)).astype(np.int32)
        self.matrix = first_vectors(texts.words, start, dim, settings.seed)
        mean = share @ self.matrix
        length = np.linalg.norm(mean)  # 0 if they cancel out: then any direction is as good
        self.mean = (mean / length if length > 0 else self.matrix[0]).astype(np.float32)
        self.squares, self.weight_squares = np.zeros((2, len(share)), np.float32)
        self.weights = np.ones(len(share), np.float32)
        self.numbers = np.array([10.0, 10.0, 0.0, 0.0, 0.0, 0.0])
        self.state = np.array([settings.seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self.losses: list[list[float]] = []
        self.best: tuple[NDArray[Any], ...] | None = None
        n_texts = len(texts.ends) - 1
        order = np.random.default_rng([settings.seed, 0]).permutation(n_texts)
        n_held = round(settings.held_out * n_texts)
        self.held_out, self.learned_from = order[:n_held], order[n_held:]
        if settings.patience is not None and not (np.diff(texts.ends)[self.held_out] > 1).any():
            raise ValueError(
                f"patience needs held-out texts to judge by: of {n_texts:,} texts, held_out={settings.held_out} holds "
                f"out {n_held}, none of them of two known words"
            )
        self.device = None if device is None else Device(self, device)

    def run(self, kept: "_Kept | None", label: str = "learning vectors") -> None:
        """Go through all epochs, or those that a checkpoint has left."""
        settings = self.settings
        if kept is not None:
            kept.resume()
        with progress(label, settings.epochs, unit="epochs") as advance:
            advance(len(self.losses))
            for epoch in range(len(self.losses), settings.epochs):
                if self._waited_enough():
                    break
                order = np.random.default_rng([settings.seed, epoch + 1]).permutation(self.learned_from)
                rate = settings.rate * (1 - epoch / settings.epochs)
                if self.device is None:
                    learned = self._go_through(order, self.state, rate)
                else:
                    learned = self.device.learn(order, epoch, rate)
                judged = self._go_through(self.held_out, np.array([99], np.uint64), 0.0)
                self.losses.append([learned, judged])
                self._note_best()
                advance(1)
                if kept is not None:
                    kept.write()
        if kept is not None:
            kept.remove()
        if settings.patience is not None and self.best is not None:
            self.matrix, self.weights, self.mean, self.numbers = self.best

    def _go_through(self, order: NDArray[np.int64], state: NDArray[np.uint64], rate: float) -> float:
        """Return the mean loss of a held-out word of these texts, learned from if the rate is above 0."""
        settings, learn = self.settings, rate > 0
        loss, count = predict_pass(
            self.texts.ids, self.texts.ends, order, self.keep, self.table, self.log_q, self.matrix, self.squares,
            self.weights, self.weight_squares, self.mean, self.numbers, state, rate, settings.pull, settings.context,
            settings.targets, settings.share, settings.negatives if learn else JUDGES, settings.weigh, learn,
        )  # fmt: skip
        return loss / count if count else float("nan")

    def _note_best(self) -> None:
        judged = [loss for _, loss in self.losses]
        if self.settings.patience is not None and judged[-1] == min(judged):
            self.best = (self.matrix.copy(), self.weights.copy(), self.mean.copy(), self.numbers.copy())

    def _waited_enough(self) -> bool:
        judged = [loss for _, loss in self.losses]
        patience = self.settings.patience
        return patience is not None and bool(judged) and len(judged) - 1 - int(np.argmin(judged)) >= patience

    def likelihood(self, texts: NDArray[np.int64]) -> float:
        """Return the log-likelihood of some texts, each unit told from the others of its text."""
        kappa, kappa0 = float(self.numbers[KAPPA]), float(self.numbers[KAPPA0])
        words = Words(self.matrix, self.weights, self.mean, kappa, kappa0, self.keep)
        return leave_out_likelihood(words, self.texts.ids, self.texts.ends, texts)

    def _place_unseen(self) -> None:
        """Put each word that occurs in phrases alone, and so was not learned, where its phrases are."""
        unseen = np.flatnonzero(self.texts.counts == 0)
        if not len(unseen):
            return
        phrases: dict[str, list[int]] = {}
        for row in phrase_rows(Vocabulary(self.texts.words)).tolist():
            for part in self.texts.words[row].split(" "):
                phrases.setdefault(part, []).append(row)
        for word in unseen:
            own = phrases.get(self.texts.words[word], [])
            total = self.matrix[own].sum(0)
            if own and (length := float(np.linalg.norm(total))) > 0:
                self.matrix[word], self.weights[word] = total / length, self.weights[own].mean()

    def found(self, name: str) -> Learned:
        """Return what was learned; the weights' mean over the text is moved into kappa."""
        if not (np.isfinite(self.matrix).all() and np.isfinite(self.weights).all()):
            raise VectorsError(f"learning went astray with rate={self.settings.rate}; choose a smaller one")
        self._place_unseen()
        scale = float(self.texts.counts @ self.weights / self.texts.counts.sum())
        norms = (self.weights / scale).astype(np.float64)
        rows = self.matrix / np.linalg.norm(self.matrix.astype(np.float64), axis=1, keepdims=True)
        vectors = WordVectors(Vocabulary(self.texts.words), rows.astype(np.float32), norms, name=name)
        losses = np.array(self.losses).reshape(-1, 2)
        kappa, kappa0 = float(self.numbers[KAPPA]) * scale, float(self.numbers[KAPPA0])
        ngrams = max(len(word.split(" ")) for word in self.texts.words) if self.texts.joinable else 1
        return Learned(vectors, kappa, kappa0, self.mean, losses[:, 0], losses[:, 1], ngrams)


class _Kept:
    """A checkpoint of learning: what changes, and what it must agree in."""

    CHANGING = ("matrix", "squares", "weights", "weight_squares", "mean", "numbers", "state")

    def __init__(self, folder: Path, learning: _Learning) -> None:
        self.folder, self.learning = folder, learning
        digest = hashlib.blake2b(digest_size=16)
        for array in (learning.texts.ids, learning.texts.ends, learning.matrix):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        on_device = learning.device is not None  # which learns otherwise
        self.key = {"texts and start": digest.hexdigest(), "device": on_device, **asdict(learning.settings)}
        self.written = time.monotonic()

    @staticmethod
    def ngrams(folder: Path) -> Any:
        """Return what was chosen for ``ngrams`` by the learning that a folder holds; "auto" if there is none."""
        return storage.load(folder, CHECKPOINT)[1]["key"].get("ngrams", "auto") if storage.is_saved(folder) else "auto"

    def resume(self) -> None:
        """Take up the state, if one was written."""
        if not storage.is_saved(self.folder):
            return
        arrays, facts = storage.load(self.folder, CHECKPOINT)
        other = [name for name, value in self.key.items() if facts["key"].get(name) != value]
        if other:
            raise StoreError(
                f"{self.folder} is a checkpoint of other learning (other are: {', '.join(other)}); take that up with "
                "what it was begun with, or choose another folder"
            )
        sizes = dict(zip(("words", "dim"), self.learning.matrix.shape, strict=True))
        layouts = dict.fromkeys(("squares", "weights", "weight_squares"), "f4[words]")
        layouts |= {"matrix": "f4[words,dim]", "mean": "f4[dim]", "numbers": "f8[6]", "state": "u8[1]"}
        best = {f"best.{i}": layouts[name] for i, name in enumerate(("matrix", "weights", "mean", "numbers"))}
        try:
            check_layouts(arrays, layouts | {"losses": "f8[epochs,2]"} | (best if "best.0" in arrays else {}), sizes)
        except LayoutError as error:
            raise StoreError(f"{self.folder} is a checkpoint that is damaged: {error}.") from error
        for name in self.CHANGING:
            setattr(self.learning, name, np.array(arrays[name]))
        self.learning.losses = arrays["losses"].tolist()
        if "best.0" in arrays:
            self.learning.best = tuple(np.array(arrays[f"best.{i}"]) for i in range(4))

    def write(self) -> None:
        """Keep the state."""
        arrays = {name: getattr(self.learning, name) for name in self.CHANGING}
        arrays["losses"] = np.array(self.learning.losses)
        arrays |= {f"best.{i}": array for i, array in enumerate(self.learning.best or ())}
        storage.save(self.folder, CHECKPOINT, arrays, {"key": self.key})

    def remove(self) -> None:
        """Remove the checkpoint: it has served."""
        if storage.is_saved(self.folder):
            storage.remove(self.folder)


def _chosen_texts(
    texts: Texts, start: WordVectors | None, dim: int, settings: Settings, device: str | None
) -> tuple[Texts, WordVectors | None, int, Settings]:
    """Return what to learn from: texts of words alone or of phrases too, as the settings or a trial have it."""
    alone = known_words(texts)
    if settings.ngrams == 1:
        return alone, start, dim, settings
    longest = 2 if settings.ngrams == "auto" else settings.ngrams
    joined = known_words(with_phrases(texts, longest, settings.ngram_count, settings.ngram_score))
    if settings.ngrams != "auto":
        return joined, start, dim, settings
    chosen = 1
    judges = (np.diff(alone.ends) > 1) & (np.diff(joined.ends) > 1)  # a single unit is told from nothing
    trial = replace(settings, ngrams=1, epochs=min(TRIAL, settings.epochs), patience=None)
    told = []
    candidates = {"trying words alone": alone, "trying phrases too": joined}
    for label, candidate in candidates.items() if len(joined.words) > len(alone.words) else ():
        learning = _Learning(candidate, start, dim, trial, device)
        held_out = learning.held_out[judges[learning.held_out]][:TRIAL_TEXTS]
        if not len(held_out):
            break
        learning.run(None, label)
        told.append(learning.likelihood(held_out))
    if told and told[1] > told[0]:
        chosen = 2
    return (joined if chosen == 2 else alone), start, dim, replace(settings, ngrams=chosen)

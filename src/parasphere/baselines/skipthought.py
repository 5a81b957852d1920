"""Skip-thought: a recurrent network whose state after a sentence foretells the sentences around it."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..compiled.layout import check_layouts
from ..corpus.source import blocks
from ..errors import ParasphereError, VectorsError
from ..text.tokens import AnyTokenizer, Lookup, Tokenizer
from ..text.vocabulary import Vocabulary
from ..vectors.wordvectors import WordVectors
from .base import TextEncoder, loaded
from .gru import SPECIAL, UNKNOWN, Corpus, build, check_device, encode, pack, torch_for
from .gru_training import Plan, Training
from .sentences import OrderedText, split_column

BATCH_WORDS = 8192  # words that are encoded at once
EPOCHS = 5  # where neither epochs nor minutes are given


class SkipThought(TextEncoder):
    """Texts as states of a GRU that was trained to foretell neighbouring sentences (uni-skip, Kiros et al. 2015).

    A GRU reads a sentence word by word. From its last state, two others write the sentence before and the one after;
    all weights are learned from how well they do. Needs the extra ``torch``.

    Parameters
    ----------
    dim : int
        Dimension of the state; 2,400 in the paper.
    word_dim : int
        Dimension of the learned word embeddings.
    n_words : int
        How many words are learned, the most frequent ones; all others are one unknown word.
    max_length : int
        Words of a sentence that are looked at in training.
    epochs, minutes : optional
        When to stop: after so many passes over the text, or so much time, whichever comes first; by default after five
        passes. The learning rate falls to zero at that end. What minutes allow depends on the machine, so only
        ``epochs`` give the same weights again.
    batch_size, learning_rate, clip
        Sentences a step, the largest step of Adam, and the norm to which gradients are cut.
    vectors : str, path or WordVectors, optional
        Word vectors by which words that were not learned are understood: see :meth:`expand`.
    split_sentences : bool
        Split texts into sentences, in training and after it (see
        :func:`~parasphere.baselines.sentences.split_sentences`).
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased.
    device : str
        Where to compute, as torch names it: "cpu", "cuda", ...
    checkpoint : path, optional
        A folder from which training goes on after an interruption, exactly as if there had been none. It is written
        every ``checkpoint_minutes`` and when the process is asked to end, and removed when training is done.
    checkpoint_minutes : float
    precision : {"float32", "float16"}
        In which numbers weights are kept; they are computed with in float32.
    random_state : int, RandomState or None

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The learned words, most frequent first.
    weights_ : dict of str to array
        Of the embedding, (2 + n_words, word_dim) with the end of a sentence and the unknown word before the words, and
        of the GRU in torch's layout.
    losses_ : (n_steps,) float32
        Mean negative log-likelihood of a word of the neighbours, step by step.
    expansion_ : (vectors' dim, word_dim) float32 or None
    n_sentences_, n_steps_, words_seen_, seconds_
        What was learned from, and how long it took.

    Notes
    -----
    ``fit`` takes ordered text: a sentence or a paragraph a line, an empty line between documents; see
    :class:`~parasphere.baselines.sentences.OrderedText`. ``transform`` takes whatever
    :func:`parasphere.corpus.blocks` does. The vector of a sentence is the last state; that of a text of several is
    their mean. A sentence of over ``max_length`` words is read in pieces of nearly equal length. A text without words
    is the zero vector.

    The GRU is cuDNN's: its reset gate acts on the recurrent product, not on the state before it. Decoders are
    conditioned on the state in all gates, as in the paper.

    Examples
    --------
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> model = SkipThought(8, 4, epochs=1, random_state=0).fit(story)  # doctest: +SKIP
    >>> model.transform(["Birds rose.", ""]).shape  # doctest: +SKIP
    (2, 8)
    """

    vocabulary_: Vocabulary
    weights_: dict[str, NDArray[Any]]
    vectors_: WordVectors | None
    expansion_: NDArray[np.float32] | None

    def __init__(
        self,
        dim: int = 2400,
        word_dim: int = 620,
        n_words: int = 20_000,
        max_length: int = 30,
        epochs: int | None = None,
        minutes: float | None = None,
        batch_size: int = 256,
        learning_rate: float = 5e-4,
        clip: float = 1.0,
        vectors: Any = None,
        split_sentences: bool = True,
        tokenizer: AnyTokenizer | None = None,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        checkpoint_minutes: float = 5.0,
        precision: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.dim = dim
        self.word_dim = word_dim
        self.n_words = n_words
        self.max_length = max_length
        self.epochs = epochs
        self.minutes = minutes
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.clip = clip
        self.vectors = vectors
        self.split_sentences = split_sentences
        self.tokenizer = tokenizer
        self.device = device
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.precision = precision
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from ordered text: a sentence or paragraph a line, an empty line between documents."""
        self._check_parameters()
        device = check_device(self.device)
        vectors = None if self.vectors is None else loaded(self.vectors)  # before the work rather than after it
        text = OrderedText.read(X, self.split_sentences)
        words, _ = text.count_words(self._words())
        self.vocabulary_ = Vocabulary(words[: self.n_words])
        sentences = text.ids(self.vocabulary_, self._words())
        del text
        corpus = Corpus(sentences, self.max_length)
        plan = self._plan(corpus)
        training = Training(build(len(self.vocabulary_), self.word_dim, self.dim, plan.seed), corpus, plan, device)
        training.run()
        self._learned(training)
        self.n_sentences_ = len(sentences)
        self.vectors_, self.expansion_ = None, None
        return self if vectors is None else self._expanded(vectors)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self, "weights_")
        parts = [self._encoded(block.texts) for block in blocks(X)]
        return np.concatenate([np.empty((0, self._n_features_out), np.float32), *parts])

    @classmethod
    def load(cls, folder: str | Path, **given: Any) -> Self:
        """Read what :meth:`save` wrote; see :meth:`parasphere.storage.Saved.load`.

        It computes on the CPU, wherever it was trained, until ``set_params(device=...)``.
        """
        return super().load(folder, **given).set_params(device="cpu")  # type: ignore[no-any-return]

    def expand(self, vectors: Any) -> Self:
        """Understand every word that some word vectors know.

        A linear map from word vectors to the learned embeddings is fitted by least squares to the words that both
        know; embeddings of all others are its images.

        Parameters
        ----------
        vectors : str, path or WordVectors
        """
        check_is_fitted(self, "weights_")
        self.vectors = vectors
        return self._expanded(loaded(vectors))

    @property
    def _n_features_out(self) -> int:
        return int(self.weights_["weight_hh"].shape[1])

    def _words(self) -> AnyTokenizer:
        return Tokenizer() if self.tokenizer is None else self.tokenizer

    def _check_learned(self) -> None:
        """Look at the weights too: of the precision asked for, and an embedding with a row for each word."""
        super()._check_learned()
        kind = np.dtype(self.precision).str[1:]
        shapes = {
            "embedding": "[rows,inputs]", "weight_hh": "[gates,states]", "weight_ih": "[gates,inputs]",
            "bias_ih": "[gates]", "bias_hh": "[gates]",
        }  # fmt: skip
        sizes = {"rows": len(self.vocabulary_) + SPECIAL}
        check_layouts(self.weights_, {name: f"{kind}{shape}" for name, shape in shapes.items()}, sizes)
        if set(self.weights_) != set(shapes) or sizes["gates"] != 3 * sizes["states"]:
            raise ParasphereError("the weights are not those of gated recurrent units")
        if self.expansion_ is not None and self.vectors_ is not None:
            sizes["dim"] = self.vectors_.dim
            check_layouts({"expansion_": self.expansion_}, {"expansion_": "f4[dim,inputs]"}, sizes)

    def _check_parameters(self) -> None:
        for name in ("dim", "word_dim", "n_words", "max_length", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("epochs", "minutes"):
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0 or None, not {getattr(self, name)!r}")
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)!r}")
        if self.precision not in ("float32", "float16"):
            raise ValueError(f"precision must be 'float32' or 'float16', not {self.precision!r}")

    def _plan(self, corpus: Corpus) -> Plan:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        epochs = EPOCHS if self.epochs is None and self.minutes is None else self.epochs
        names = ("dim", "word_dim", "max_length", "epochs", "minutes", "batch_size", "learning_rate", "clip")
        key = {name: getattr(self, name) for name in names} | {"text": corpus.fingerprint()}
        return Plan(
            self.batch_size, self.learning_rate, self.clip, seed,
            n_steps=None if epochs is None else epochs * corpus.n_batches(self.batch_size),
            seconds=None if self.minutes is None else 60 * self.minutes,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint).expanduser(),
            checkpoint_seconds=60 * self.checkpoint_minutes,
            key=key if self.random_state is None else key | {"seed": seed},
        )  # fmt: skip

    def _learned(self, training: Training) -> None:
        """Keep the embedding and the encoder; the decoders have done their work."""
        encoder = training.model["encoder"].state_dict()
        weights = {name.removesuffix("_l0"): value for name, value in encoder.items()}
        weights["embedding"] = training.model["embedding"].weight.detach()
        self.weights_ = {name: value.cpu().numpy().astype(self.precision) for name, value in weights.items()}
        self.losses_ = np.array(training.losses, np.float32)
        self.n_steps_, self.words_seen_, self.seconds_ = training.n_steps, training.words_seen, training.seconds
        self._ready: Any = None

    def _expanded(self, vectors: WordVectors) -> Self:
        rows = vectors.vocabulary.get_many(self.vocabulary_.words)
        shared = np.flatnonzero(rows >= 0)
        if not len(shared):
            raise VectorsError(f"{vectors.name} knows none of the {len(rows):,} learned words; a map needs some")
        learned = self.weights_["embedding"][shared + SPECIAL].astype(np.float64)
        known = vectors.matrix[rows[shared]].astype(np.float64)
        self.expansion_ = np.linalg.lstsq(known, learned, rcond=None)[0].astype(np.float32)
        self.vectors_ = vectors
        return self

    def _encoder(self) -> tuple[Any, Any]:
        """Return the network and its device, made from the weights when first needed."""
        if getattr(self, "_ready", None) is None or self._ready[1].type != self.device.partition(":")[0]:
            torch, device = torch_for("SkipThought"), check_device(self.device)
            weights = {f"{name}_l0": value for name, value in self.weights_.items() if name != "embedding"}
            gru = torch.nn.GRU(self.weights_["embedding"].shape[1], self._n_features_out, device="meta")
            tensors = {name: torch.from_numpy(value.astype(np.float32)) for name, value in weights.items()}
            gru.load_state_dict(tensors, assign=True)
            self._ready = gru.to(device).eval(), device
        return self._ready  # type: ignore[no-any-return]

    def _encoded(self, texts: pa.Array) -> NDArray[np.float32]:
        """Return the mean state of each text's sentences, (n_texts, dim)."""
        n_texts, of_text = len(texts), np.arange(len(texts))
        if self.split_sentences and not pa.types.is_large_list(texts.type):
            texts, of_text = split_column(texts)
        words, ends, table = self._embedded(texts)
        begins, lengths, sentence = _pieces(ends, self.max_length)
        of_text = of_text[sentence]
        sums = np.zeros((n_texts, self._n_features_out))
        order = np.argsort(-lengths, kind="stable")
        for batch in _cut(order, lengths):
            np.add.at(sums, of_text[batch], self._states(words, begins[batch], lengths[batch], table))
        counts = np.bincount(of_text, minlength=n_texts)
        return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)

    def _embedded(self, texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return rows of a table of embeddings for all words, where each text's end, and that table."""
        ids, ends = Lookup(self.vocabulary_, self._words()).ids(texts)
        words = np.where(ids < 0, UNKNOWN, ids + SPECIAL).astype(np.int64)
        table = self.weights_["embedding"].astype(np.float32)
        if self.vectors_ is None or self.expansion_ is None:
            return words, ends, table
        # Of the same words, in their order: none of them joined to a phrase.
        others = Lookup(self.vectors_.vocabulary, self._words(), phrases=False).ids(texts).ids
        mapped = (ids < 0) & (others >= 0)
        rows, place = np.unique(others[mapped], return_inverse=True)
        words[mapped] = len(table) + place
        return words, ends, np.concatenate([table, self.vectors_.matrix[rows] @ self.expansion_])

    def _states(
        self, words: NDArray[np.int64], begins: NDArray[np.int64], lengths: NDArray[np.int64], table: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return the last states of sentences in the order of falling lengths, (n, dim)."""
        torch = torch_for("SkipThought")
        gru, device = self._encoder()
        packed = pack(lengths)
        inputs = table[words[begins[packed.rows] + packed.times]]
        with torch.inference_mode():
            states = encode(gru, torch.from_numpy(inputs).to(device), torch.from_numpy(packed.sizes))
        return np.asarray(states.cpu().numpy())


def _pieces(ends: NDArray[np.int64], longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut what is longer than ``longest`` into pieces of nearly equal length: begins, lengths, and whose piece it is.

    Examples
    --------
    >>> _pieces(np.array([2, 2, 7]), 4)
    (array([0, 2, 4]), array([2, 2, 3]), array([0, 2, 2]))
    """
    lengths = np.diff(ends, prepend=0)
    n_pieces = -(-lengths // longest)
    whose = np.repeat(np.arange(len(ends)), n_pieces)
    place = np.arange(len(whose)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    begin = place * lengths[whose] // n_pieces[whose]
    end = (place + 1) * lengths[whose] // n_pieces[whose]
    return (ends - lengths)[whose] + begin, end - begin, whose


def _cut(order: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut sentences, in an order, into batches of about ``BATCH_WORDS`` words."""
    if not len(order):
        return []
    batch = np.cumsum(lengths[order]) // BATCH_WORDS
    return np.split(order, np.flatnonzero(np.diff(batch)) + 1)

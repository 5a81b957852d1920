"""Skip-thought: a recurrent network whose state after a sentence predicts the sentences around it."""

import copy
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from parasphere.corpus import blocks, is_tokenised, reread
from parasphere.errors import ParasphereError, VectorsError
from parasphere.parameters import NONE, PATH, Constraints, one_of
from parasphere.storage import Checkpoint
from parasphere.text import AnyTokenizer, Lookup, Tokenizer, Vocabulary
from parasphere.vectors import WordVectors, is_learner, resolve

from .base import COUNT, NOT_NEGATIVE, POSITIVE, SHARED, VECTORS, WordEncoder
from .gru import SPECIAL, UNKNOWN, TrainingSentences, build, check_device, encode, pack, torch_for
from .gru_training import CHECKPOINT, Plan, Training
from .sentences import OrderedText, split_column

BATCH_WORDS = 8192  # words that are encoded at once
EPOCHS = 5  # if neither epochs nor minutes are given


@dataclass(eq=False, repr=False)
class SkipThought(WordEncoder):
    """Texts as states of a GRU that was trained to predict neighbouring sentences (uni-skip, Kiros et al. 2015).

    A GRU reads a sentence word by word. From its last state, two others generate the sentence before and the one after;
    all weights are trained on the likelihood of these. Needs the extra ``neural``.

    Parameters
    ----------
    dim : int, default=2400
        Dimension of the state, and so of the vectors.
    word_dim : int, default=620
        Dimension of the learned word embeddings.
    n_words : int, default=20000
        Number of learned words, the most frequent ones; all others are one unknown word.
    max_length : int, default=30
        Number of words of a sentence that training reads.
    epochs : int, default=None
        Passes over the text. Training stops after these or after ``minutes``, whichever comes first, and the learning
        rate falls to zero by then. If both are None, there are five.
    minutes : float, default=None
        Time limit of the training. The result then depends on the speed of the machine.
    batch_size : int, default=256
        Sentences per step.
    learning_rate : float, default=5e-4
        Largest learning rate of Adam.
    clip : float, default=1.0
        Largest norm of the gradient.
    vectors : str, path, WordVectors, learner or None, default=None
        Word vectors for words that are not among the learned ones: see :meth:`expand`.
    split_sentences : bool, default=True
        Split texts into sentences, in ``fit`` and in ``transform`` (see
        :func:`~reproduction.baselines.sentences.split_sentences`).
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased.
    device : str, default="cpu"
        Where to compute, as torch names it: "cpu", "cuda", ...
    checkpoint : path, default=None
        A folder from which interrupted training continues, with the same result as without the interruption. It is
        written every ``checkpoint_minutes`` and when the process is asked to end, and removed at the end of training.
    checkpoint_minutes : float, default=5.0
        Time between two writes of the checkpoint.
    precision : {"float32", "float16"}, default="float32"
        Precision of the stored weights; computation is in float32.
    random_state : int, RandomState or None, default=None
        Seeds the initial weights and the order of the batches.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The learned words, most frequent first, and what texts are split with.
    weights_ : dict of str to array
        Weights of the embedding, (2 + n_words, word_dim), whose first two rows are the end of a sentence and the
        unknown word, and of the GRU in torch's layout.
    losses_ : (n_steps,) float32
        Mean negative log-likelihood per word of the neighbours, at each step.
    vectors_ : WordVectors or None
        The word vectors of words that are not among the learned ones.
    expansion_ : (vectors_.dim, word_dim) float32 or None
        The linear map from word vectors to embeddings.
    max_length_, split_sentences_
        The parameters of the fit.
    n_sentences_, n_steps_, words_seen_, seconds_
        Number of sentences, of steps and of words that training has seen, and its time.

    Notes
    -----
    ``fit`` takes ordered text: one sentence or paragraph per line, an empty line between documents; see
    :class:`~reproduction.baselines.sentences.OrderedText`. ``transform`` takes whatever
    :func:`parasphere.corpus.blocks` does. The vector of a sentence is the last state; that of a text is the mean over
    its sentences. A sentence of more than ``max_length`` words is read in pieces of nearly equal length. A text without
    words has the zero vector.

    The GRU is that of cuDNN: its reset gate acts on the recurrent product, not on the state before it. Decoders are
    conditioned on the state in all gates, as in the paper.

    Examples
    --------
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> model = SkipThought(8, 4, epochs=1, random_state=0).fit(story)  # doctest: +SKIP
    >>> model.transform(["Birds rose.", ""]).shape  # doctest: +SKIP
    (2, 8)
    """

    dim: int = 2400
    word_dim: int = 620
    n_words: int = 20_000
    max_length: int = 30
    epochs: int | None = None
    minutes: float | None = None
    batch_size: int = 256
    learning_rate: float = 5e-4
    clip: float = 1.0
    vectors: Any = None
    split_sentences: bool = True
    tokenizer: AnyTokenizer | None = None
    device: str = "cpu"
    checkpoint: str | Path | None = None
    checkpoint_minutes: float = 5.0
    precision: str = "float32"
    random_state: Any = None
    verbose: bool = False

    _parameters: ClassVar[Constraints] = SHARED | {
        "word_dim": COUNT, "n_words": COUNT, "max_length": COUNT, "epochs": COUNT | NONE, "minutes": POSITIVE | NONE,
        "clip": POSITIVE, "vectors": VECTORS | NONE, "checkpoint": PATH | NONE, "checkpoint_minutes": NOT_NEGATIVE,
        "precision": one_of("float32", "float16"),
    }  # fmt: skip
    _fixed: ClassVar = ("max_length", "split_sentences")
    _default_tokenizer: ClassVar = Tokenizer

    max_length_: int = field(init=False)
    split_sentences_: bool = field(init=False)
    vocabulary_: Vocabulary = field(init=False)
    weights_: dict[str, NDArray[Any]] = field(init=False)
    vectors_: WordVectors | None = field(init=False)
    expansion_: NDArray[np.float32] | None = field(init=False)
    _device = "cpu"  # where to compute; not saved: it may be another machine that loads

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from ordered text: one sentence or paragraph per line, an empty line between documents."""
        self._begin_fit()
        device = check_device(self.device)
        X = reread(X) if is_learner(self.vectors) else X
        # Before the training rather than after it: the vectors may be missing.
        vectors = None if self.vectors is None else resolve(self.vectors, self.tokenizer_, X).vectors
        text = OrderedText.read(X, self.split_sentences, verbose=bool(self.verbose))
        words, _ = text.count_words(self.tokenizer_)
        self.vocabulary_ = Vocabulary(words[: self.n_words])
        sentences = text.ids(self.vocabulary_, self.tokenizer_)
        del text
        examples = TrainingSentences(sentences, self.max_length)
        plan = self._plan(examples)
        networks = build(len(self.vocabulary_), self.word_dim, self.dim, plan.seed)
        training = Training(networks, examples, plan, device, verbose=bool(self.verbose))
        training.run(self._checkpoint(examples, plan.seed))
        self._keep(training)
        self.n_sentences_ = len(sentences)
        self.vectors_, self.expansion_ = None, None
        if vectors is not None:
            self._expand(vectors)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self)
        parts = [self._encoded(block.texts) for block in blocks(X)]
        return np.concatenate([np.empty((0, self._n_features_out), np.float32), *parts])

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", **given: Any) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        folder : path
        device : str, default="cpu"
            Where ``transform`` computes from now on, wherever the encoder was trained.
        **given
            Those of :meth:`parasphere.storage.Saved.load`.
        """
        encoder = super().load(folder, **given)
        encoder._device = device
        return encoder

    def expand(self, vectors: Any) -> Self:
        """Return a copy of this encoder that knows every word of some word vectors.

        A linear map from word vectors to the learned embeddings is fitted by least squares to the words that both
        know; all other words of the vectors are mapped to embeddings by it.

        Parameters
        ----------
        vectors : str, path or WordVectors
            Word vectors, or what :meth:`WordVectors.load` takes.
        """
        check_is_fitted(self)
        expanded = copy.copy(self)
        expanded.vectors = vectors
        expanded._expand(resolve(vectors, self.tokenizer_, None).vectors)
        return expanded

    @property
    def _n_features_out(self) -> int:
        return int(self.weights_["weight_hh"].shape[1])

    def _check_learned(self) -> None:
        """Check the shapes of the weights too, and that the embedding has one row per word."""
        super()._check_learned()
        states, inputs = self.weights_["weight_hh"].shape[-1], self.weights_["embedding"].shape[-1]
        shapes = {
            "embedding": (len(self.vocabulary_) + SPECIAL, inputs), "weight_hh": (3 * states, states),
            "weight_ih": (3 * states, inputs), "bias_ih": (3 * states,), "bias_hh": (3 * states,),
        }  # fmt: skip
        kinds = {array.dtype.str for array in self.weights_.values()}
        if {name: array.shape for name, array in self.weights_.items()} != shapes or kinds not in ({"<f2"}, {"<f4"}):
            raise ParasphereError("the weights are not those of gated recurrent units")
        found = None if self.expansion_ is None else (self.expansion_.dtype, self.expansion_.shape)
        if found and self.vectors_ is not None and found != (np.dtype(np.float32), (self.vectors_.dim, inputs)):
            raise ParasphereError("the expansion does not fit the word vectors and the embedding")

    def _plan(self, examples: TrainingSentences) -> Plan:
        epochs = EPOCHS if self.epochs is None and self.minutes is None else self.epochs
        return Plan(
            self.batch_size, self.learning_rate, self.clip,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_steps=None if epochs is None else epochs * examples.n_batches(self.batch_size),
            seconds=None if self.minutes is None else 60 * self.minutes,
            checkpoint_seconds=60 * self.checkpoint_minutes,
        )  # fmt: skip

    def _checkpoint(self, examples: TrainingSentences, seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        names = ("dim", "word_dim", "max_length", "epochs", "minutes", "batch_size", "learning_rate", "clip")
        key = {name: getattr(self, name) for name in names} | {"text": examples.fingerprint()}
        # Another seed is drawn each time unless a number is given; training then goes on with that of the checkpoint.
        return Checkpoint(
            self.checkpoint, CHECKPOINT, key | {"seed": seed} if isinstance(self.random_state, Integral) else key
        )

    def _keep(self, training: Training) -> None:
        """Keep the embedding and the encoder; the decoders are not needed any more."""
        encoder = training.model["encoder"].state_dict()
        weights = {name.removesuffix("_l0"): value for name, value in encoder.items()}
        weights["embedding"] = training.model["embedding"].weight.detach()
        self.weights_ = {name: value.cpu().numpy().astype(self.precision) for name, value in weights.items()}
        self.losses_ = np.array(training.losses, np.float32)
        self.n_steps_, self.words_seen_, self.seconds_ = training.n_steps, training.words_seen, training.seconds
        self._device = self.device
        self.__dict__.pop("_encoder", None)

    def _expand(self, vectors: WordVectors) -> None:
        rows = vectors.vocabulary.get_many(self.vocabulary_.words)
        shared = np.flatnonzero(rows >= 0)
        if not len(shared):
            raise VectorsError(f"{vectors.name} knows none of the {len(rows):,} learned words; a map needs some")
        learned = self.weights_["embedding"][shared + SPECIAL].astype(np.float64)
        known = vectors.matrix[rows[shared]].astype(np.float64)
        self.expansion_ = np.linalg.lstsq(known, learned, rcond=None)[0].astype(np.float32)
        self.vectors_ = vectors

    @cached_property
    def _encoder(self) -> tuple[Any, Any]:
        """The network of the weights, and its device."""
        torch, device = torch_for("SkipThought"), check_device(self._device)
        weights = {f"{name}_l0": value for name, value in self.weights_.items() if name != "embedding"}
        gru = torch.nn.GRU(self.weights_["embedding"].shape[1], self._n_features_out, device="meta")
        tensors = {name: torch.from_numpy(value.astype(np.float32)) for name, value in weights.items()}
        gru.load_state_dict(tensors, assign=True)
        return gru.to(device).eval(), device

    def _encoded(self, texts: list[Any]) -> NDArray[np.float32]:
        """Return the mean state of each text's sentences, (n_texts, dim)."""
        n_texts, of_text = len(texts), np.arange(len(texts))
        if self.split_sentences_ and not is_tokenised(texts):
            texts, of_text = split_column(texts)
        words, ends, table = self._embedded(texts)
        begins, lengths, sentence = _pieces(ends, self.max_length_)
        of_text = of_text[sentence]
        sums = np.zeros((n_texts, self._n_features_out))
        order = np.argsort(-lengths, kind="stable")
        for batch in _cut(order, lengths):
            np.add.at(sums, of_text[batch], self._states(words, begins[batch], lengths[batch], table))
        counts = np.bincount(of_text, minlength=n_texts)
        return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)

    def _embedded(self, texts: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return the words as rows of a table of embeddings, where those of each text end, and that table."""
        ids, ends = Lookup(self.vocabulary_, self.tokenizer_).ids(texts)
        words = np.where(ids < 0, UNKNOWN, ids + SPECIAL).astype(np.int64)
        table = self.weights_["embedding"].astype(np.float32)
        if self.vectors_ is None or self.expansion_ is None:
            return words, ends, table
        others = Lookup(self.vectors_.vocabulary, self.tokenizer_).ids(texts).ids  # the same words in the same order
        mapped = (ids < 0) & (others >= 0)
        rows, place = np.unique(others[mapped], return_inverse=True)
        words[mapped] = len(table) + place
        return words, ends, np.concatenate([table, self.vectors_.matrix[rows] @ self.expansion_])

    def _states(
        self, words: NDArray[np.int64], begins: NDArray[np.int64], lengths: NDArray[np.int64], table: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return the last states of sentences in the order of falling lengths, (n, dim)."""
        torch = torch_for("SkipThought")
        gru, device = self._encoder
        packed = pack(lengths)
        inputs = table[words[begins[packed.rows] + packed.times]]
        with torch.inference_mode():
            states = encode(gru, torch.from_numpy(inputs).to(device), torch.from_numpy(packed.sizes))
        return np.asarray(states.cpu().numpy())


def _pieces(ends: NDArray[np.int64], longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut sentences of more than ``longest`` words into pieces of nearly equal length.

    Returns where each piece begins, its length, and its sentence.

    Examples
    --------
    >>> _pieces(np.array([2, 2, 7]), 4)
    (array([0, 2, 4]), array([2, 2, 3]), array([0, 2, 2]))
    """
    lengths = np.diff(ends, prepend=0)
    n_pieces = -(-lengths // longest)
    sentence = np.repeat(np.arange(len(ends)), n_pieces)
    place = np.arange(len(sentence)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    begin = place * lengths[sentence] // n_pieces[sentence]
    end = (place + 1) * lengths[sentence] // n_pieces[sentence]
    return (ends - lengths)[sentence] + begin, end - begin, sentence


def _cut(order: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut ordered sentences into batches of about ``BATCH_WORDS`` words."""
    if not len(order):
        return []
    batch = np.cumsum(lengths[order]) // BATCH_WORDS
    return np.split(order, np.flatnonzero(np.diff(batch)) + 1)

"""FastSent: a sentence is the sum of its word vectors, trained to predict the words of neighbouring sentences."""

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from parasphere.errors import CorpusError
from parasphere.parameters import BOOLEAN, Constraints
from parasphere.progress import progress
from parasphere.text import AnyTokenizer, Tokenizer, Vocabulary, count_matrix

from .base import NOT_NEGATIVE, SHARED, WordEncoder, unit_length
from .negative_sampling import Text, Weights, keep_probabilities, learn_stretch, noise_table
from .sentences import OrderedText, Sentences

STRETCH = 1 << 14  # sentences per entry of losses_
LAST_RATE = 1e-4  # of the initial learning rate


@dataclass(eq=False, repr=False)
class FastSent(WordEncoder):
    """Texts as sums of word vectors that were trained to predict neighbouring sentences (Hill et al. 2016).

    A sentence ``s`` is the sum of the input vectors of its words. For each word ``w`` of the sentences before and
    after, training maximises ``log σ(s·v_w) + Σ log σ(-s·v_n)``, where ``v`` are output vectors and the noise words
    ``n`` are drawn in proportion to their counts to the power of 3/4.

    Parameters
    ----------
    dim : int, default=100
        Dimension of the vectors.
    autoencode : bool, default=False
        Predict the words of the sentence itself too (FastSent + AE in the paper).
    min_count : int, default=5
        Least count of a word.
    sample : float, default=1e-3
        Occurrences of words whose share of the text exceeds this are dropped at random, as in word2vec; 0 keeps all.
    negative : int, default=5
        Noise words per predicted word.
    learning_rate : float, default=0.025
        Initial learning rate; it falls linearly to nearly zero.
    epochs : int, default=5
        Passes over the text.
    normalise : bool, default=True
        Scale the vectors of texts to unit length.
    split_sentences : bool, default=True
        Split the lines of the training text into sentences (see
        :func:`~reproduction.baselines.sentences.split_sentences`).
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased.
    random_state : int, RandomState or None, default=None
        The same number gives the same vectors: training uses one thread.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    word_vectors_ : (n_words, dim) float32
        The input vectors of the words.
    normalise_ : bool
        The parameter of the fit.
    losses_ : (n,) float32
        Mean loss per predicted word, noise words included, over stretches of 16,384 sentences; it is computed for every
        sixteenth sentence, before the step.
    n_sentences_, words_seen_, seconds_
        Number of sentences and of words that training has seen, and its time.

    Notes
    -----
    ``fit`` takes ordered text: one sentence or paragraph per line, an empty line between documents; see
    :class:`~reproduction.baselines.sentences.OrderedText`. ``transform`` takes whatever
    :func:`parasphere.corpus.blocks` does. Unknown words are ignored; a text without known words has the zero vector.

    Examples
    --------
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> model = FastSent(4, min_count=1, random_state=0).fit(story)
    >>> model.transform(["Birds rose", "nothing known"]).shape
    (2, 4)
    """

    dim: int = 100
    autoencode: bool = False
    min_count: int = 5
    sample: float = 1e-3
    negative: int = 5
    learning_rate: float = 0.025
    epochs: int = 5
    normalise: bool = True
    split_sentences: bool = True
    tokenizer: AnyTokenizer | None = None
    random_state: Any = None
    verbose: bool = False

    _parameters: ClassVar[Constraints] = SHARED | {
        "autoencode": BOOLEAN, "sample": NOT_NEGATIVE, "normalise": BOOLEAN,
    }  # fmt: skip
    _fixed: ClassVar = ("normalise",)
    _default_tokenizer: ClassVar = Tokenizer

    normalise_: bool = field(init=False)
    vocabulary_: Vocabulary = field(init=False)
    word_vectors_: NDArray[np.float32] = field(init=False)
    _layouts: ClassVar = {"word_vectors_": "f4[words,columns]"}

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from ordered text: one sentence or paragraph per line, an empty line between documents."""
        self._begin_fit()
        text = OrderedText.read(X, self.split_sentences, verbose=bool(self.verbose))
        words, counts = text.count_words(self.tokenizer_)
        n_words = int(np.searchsorted(-counts, -self.min_count, side="right"))
        if not n_words:
            raise CorpusError(f"no word occurs {self.min_count} times in this text; lower min_count or give more text")
        self.vocabulary_ = Vocabulary(words[:n_words])
        sentences = text.ids(self.vocabulary_, self.tokenizer_).known()
        del text
        if not self.autoencode and not (np.diff(sentences.documents) == 0).any():
            raise CorpusError("no sentence has a neighbour in the training text; put neighbours on adjoining lines")
        began = time.monotonic()
        self._learn(sentences, counts[:n_words])
        self.n_sentences_, self.words_seen_ = len(sentences), self.epochs * len(sentences.ids)
        self.seconds_ = time.monotonic() - began
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the sums, (n_docs, dim)."""
        check_is_fitted(self)
        counts = count_matrix(X, self.vocabulary_, self.tokenizer_).astype(np.float32)
        sums = np.asarray(counts @ self.word_vectors_)
        return unit_length(sums) if self.normalise_ else sums

    @property
    def _n_features_out(self) -> int:
        return int(self.word_vectors_.shape[1])

    def _learn(self, sentences: Sentences, counts: NDArray[np.int64]) -> None:
        rng = check_random_state(self.random_state)
        n_words = len(counts)
        inputs = ((rng.random_sample((n_words, self.dim)) - 0.5) / self.dim).astype(np.float32)
        state = rng.randint(1, 2**63 - 1, size=1, dtype=np.int64).astype(np.uint64)
        weights = Weights(inputs, np.zeros((n_words, self.dim), np.float32), *noise_table(counts), state)
        first, last = _documents(sentences.documents)
        keep = keep_probabilities(counts, self.sample)
        text = Text(sentences.ids, sentences.begins, sentences.ends, first, last, keep)
        losses, done, total = [], 0, self.epochs * len(sentences.ids)
        with progress("FastSent", total, unit="words", shown=bool(self.verbose)) as advance:
            for begin in [begin for _ in range(self.epochs) for begin in range(0, len(sentences), STRETCH)]:
                end = min(begin + STRETCH, len(sentences))
                words = int(text.ends[end - 1] - text.begins[begin])
                rates = tuple(self.learning_rate * max(1 - at / total, LAST_RATE) for at in (done, done + words))
                loss, n_predicted = learn_stretch(text, weights, begin, end, rates, self.autoencode, self.negative)
                losses += [loss / n_predicted] if n_predicted else []
                done += words
                advance(words)
        self.word_vectors_, self.losses_ = inputs, np.array(losses, np.float32)
        if not np.isfinite(inputs).all():
            raise ValueError(f"the vectors grew without bound; lower learning_rate={self.learning_rate!r}")


def _documents(documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first sentence of the document of each sentence, and the one after its last."""
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    sizes = np.diff(np.append(starts, len(documents)))
    return np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)

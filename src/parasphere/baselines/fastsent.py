"""FastSent: a sentence is the sum of its words' vectors, learned to foretell the words of its neighbours."""

import time
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..errors import CorpusError
from ..progress import progress
from ..text import AnyTokenizer, Tokenizer, Vocabulary, count_matrix
from .base import TextEncoder, unit_length
from .negative_sampling import kept_shares, learn_stretch, noise_table
from .sentences import OrderedText, Sentences

STRETCH = 1 << 14  # sentences between two looks at the loss
LAST_RATE = 1e-4  # of the first learning rate


class FastSent(TextEncoder):
    """Texts as sums of word vectors that were trained to foretell neighbouring sentences (Hill et al. 2016).

    A sentence ``s`` is the sum of its words' input vectors. For each word ``w`` of the sentences before and after, by
    negative sampling, ``log σ(s·v_w) + Σ log σ(-s·v_n)`` is to be large, where ``v`` are output vectors and the noise
    words ``n`` are drawn in proportion to their counts to the power of 3/4.

    Parameters
    ----------
    dim : int
        Dimension of the vectors.
    autoencode : bool
        Foretell the sentence's own words too (FastSent + AE in the paper).
    min_count : int
        Words that are rarer are left out.
    sample : float
        Occurrences of words whose share of the text is above this are left out at random, as in word2vec; 0 keeps all.
    negative : int
        Noise words for each word that is foretold.
    learning_rate : float
        At first; falls linearly to nearly zero.
    epochs : int
        Passes over the text.
    normalise : bool
        Scale the vectors of texts to unit length.
    split_sentences : bool
        Split the training text's lines into sentences (see
        :func:`~parasphere.baselines.sentences.split_sentences`).
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased.
    random_state : int, RandomState or None
        The same number gives the same vectors: learning is done by one thread.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The words, most frequent first.
    word_vectors_ : (n_words, dim) float32
        Their input vectors.
    losses_ : (n,) float32
        Mean loss of a foretold word, noise words included, over stretches of 16,384 sentences; every sixteenth of them
        is looked at, before its step.
    n_sentences_, words_seen_, seconds_
        What was learned from, and how long it took.

    Notes
    -----
    ``fit`` takes ordered text: a sentence or a paragraph a line, an empty line between documents; see
    :class:`~parasphere.baselines.sentences.OrderedText`. ``transform`` takes whatever
    :func:`parasphere.corpus.blocks` does. Unknown words are skipped; a text without known words is the zero vector.

    Examples
    --------
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> model = FastSent(4, min_count=1, random_state=0).fit(story)
    >>> model.transform(["Birds rose", "nothing known"]).shape
    (2, 4)
    """

    vocabulary_: Vocabulary
    word_vectors_: NDArray[np.float32]
    _layouts: ClassVar = {"word_vectors_": "f4[words,columns]"}

    def __init__(
        self,
        dim: int = 100,
        autoencode: bool = False,
        min_count: int = 5,
        sample: float = 1e-3,
        negative: int = 5,
        learning_rate: float = 0.025,
        epochs: int = 5,
        normalise: bool = True,
        split_sentences: bool = True,
        tokenizer: AnyTokenizer | None = None,
        random_state: Any = None,
    ) -> None:
        self.dim = dim
        self.autoencode = autoencode
        self.min_count = min_count
        self.sample = sample
        self.negative = negative
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.normalise = normalise
        self.split_sentences = split_sentences
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from ordered text: a sentence or paragraph a line, an empty line between documents."""
        self._check_parameters()
        text = OrderedText.read(X, self.split_sentences)
        words, counts = text.count_words(self._words())
        n_words = int(np.searchsorted(-counts, -self.min_count, side="right"))
        if not n_words:
            raise CorpusError(f"no word occurs {self.min_count} times in this text; lower min_count or give more text")
        self.vocabulary_ = Vocabulary(words[:n_words])
        sentences = text.ids(self.vocabulary_, self._words()).known()
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
        check_is_fitted(self, "word_vectors_")
        counts = count_matrix(X, self.vocabulary_, self._words()).astype(np.float32)
        sums = np.asarray(counts @ self.word_vectors_)
        return unit_length(sums) if self.normalise else sums

    @property
    def _n_features_out(self) -> int:
        return int(self.word_vectors_.shape[1])

    def _words(self) -> AnyTokenizer:
        return Tokenizer() if self.tokenizer is None else self.tokenizer

    def _check_parameters(self) -> None:
        for name in ("dim", "min_count", "negative", "epochs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be above 0, not {self.learning_rate!r}")
        if self.sample < 0:
            raise ValueError(f"sample must not be below 0, not {self.sample!r}")

    def _learn(self, sentences: Sentences, counts: NDArray[np.int64]) -> None:
        rng = check_random_state(self.random_state)
        n_words = len(counts)
        given = ((rng.random_sample((n_words, self.dim)) - 0.5) / self.dim).astype(np.float32)
        foretold = np.zeros((n_words, self.dim), np.float32)
        noise = noise_table(counts)
        kept = kept_shares(counts, self.sample)
        state = rng.randint(1, 2**63 - 1, size=1, dtype=np.int64).astype(np.uint64)
        begins, ends = sentences.begins, sentences.ends
        # Where a sentence's document begins and ends: neighbours are looked for within.
        first, last = _documents(sentences.documents)
        losses, done, total = [], 0, self.epochs * len(sentences.ids)
        with progress("FastSent", total, unit="words") as advance:
            for begin in [begin for _ in range(self.epochs) for begin in range(0, len(sentences), STRETCH)]:
                end = min(begin + STRETCH, len(sentences))
                words = int(ends[end - 1] - begins[begin])
                rates = [self.learning_rate * max(1 - at / total, LAST_RATE) for at in (done, done + words)]
                loss, looked = learn_stretch(
                    sentences.ids, begins, ends, first, last, begin, end, rates[0], rates[1], self.autoencode,
                    self.negative, kept, noise.share, noise.other, given, foretold, state,
                )  # fmt: skip
                losses += [loss / looked] if looked else []
                done += words
                advance(words)
        self.word_vectors_, self.losses_ = given, np.array(losses, np.float32)
        if not np.isfinite(given).all():
            raise ValueError(f"the vectors grew without bound; lower learning_rate={self.learning_rate!r}")


def _documents(documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first sentence of each sentence's document, and the one after its last."""
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    sizes = np.diff(np.append(starts, len(documents)))
    return np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)

"""Word vectors learned by gensim's word2vec."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from parasphere.corpus import blocks
from parasphere.errors import VectorsError
from parasphere.parameters import BOOLEAN, CALLABLE, NONE, RANDOM_STATE, Constraints, check_parameters, number
from parasphere.storage import Saved
from parasphere.text import AnyTokenizer, Tokenizer, split_texts
from parasphere.vectors import WordVectors

_LONGEST_SENTENCE = 10_000  # gensim silently drops what comes after so many words


class Word2Vec(Saved, BaseEstimator):
    """Word vectors learned by gensim's word2vec.

    A learner like :class:`JointVectors`: ``SphericalParagraphModel(Word2Vec(dim=100))`` learns the vectors inside
    ``fit``. They have no weights.

    Parameters
    ----------
    dim : int, default=50
        Dimension of the vectors.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is the tokenizer of the model that the learner is part of, or else
        ``Tokenizer()``: runs of Unicode letters, lower-cased.
    window, negative, min_count, epochs : int, default=5
        Words of context on each side, noise words per word, smallest count of a word, passes over the texts.
    sample : float, default=1e-4
        Words whose share of the texts is above this are subsampled.
    skip_gram : bool, default=True
        Skip-gram; otherwise CBOW.
    rate : float, default=0.025
        Initial learning rate.
    random_state : int, RandomState or None, default=0
        Seed; with ``n_jobs=1`` the same integer gives the same bits.
    n_jobs : int, default=1
        Number of threads.

    Attributes
    ----------
    vectors_ : WordVectors
        The learned vectors.
    tokenizer_ : Tokenizer or callable
        The tokenizer that was used.

    Examples
    --------
    >>> texts = ["cats purr and meow", "dogs bark and growl"] * 50
    >>> Word2Vec(8).fit(texts).vectors_
    WordVectors('word2vec', 7 words, 8 dimensions)
    """

    _parameters: ClassVar[Constraints] = {
        "dim": number(int, 2),
        "tokenizer": CALLABLE | NONE,
        "window": number(int, 1),
        "negative": number(int, 1),
        "min_count": number(int, 1),
        "epochs": number(int, 1),
        "sample": number(float, 0),
        "skip_gram": BOOLEAN,
        "rate": number(float, 0, closed="neither"),
        "random_state": RANDOM_STATE,
        "n_jobs": number(int, 1),
    }

    vectors_: WordVectors

    def __init__(
        self,
        dim: int = 50,
        *,
        tokenizer: AnyTokenizer | None = None,
        window: int = 5,
        negative: int = 5,
        min_count: int = 5,
        epochs: int = 5,
        sample: float = 1e-4,
        skip_gram: bool = True,
        rate: float = 0.025,
        random_state: Any = 0,
        n_jobs: int = 1,
    ) -> None:
        self.dim = dim
        self.tokenizer = tokenizer
        self.window = window
        self.negative = negative
        self.min_count = min_count
        self.epochs = epochs
        self.sample = sample
        self.skip_gram = skip_gram
        self.rate = rate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn word vectors from texts.

        Parameters
        ----------
        X : iterable, table or Path
            Anything :func:`parasphere.corpus.blocks` takes. Texts are held in memory.
        y : None
            Ignored.
        """
        from gensim import models

        check_parameters(self)
        self.tokenizer_ = Tokenizer() if self.tokenizer is None else self.tokenizer
        sentences = _Sentences(X, self.tokenizer_)
        model = models.Word2Vec(
            vector_size=self.dim, window=self.window, negative=self.negative, min_count=self.min_count,
            sample=self.sample, epochs=self.epochs, sg=int(self.skip_gram), alpha=self.rate,
            seed=_seed_of(self.random_state), workers=self.n_jobs,
        )  # fmt: skip
        model.build_vocab(sentences)
        if not len(model.wv):
            raise VectorsError(
                f"no word occurs {self.min_count} times in these texts; lower min_count or give more texts."
            )
        model.train(sentences, total_examples=model.corpus_count, epochs=self.epochs)
        self.vectors_ = WordVectors.from_arrays(model.wv.index_to_key, model.wv.vectors, name="word2vec")
        return self


def _seed_of(random_state: Any) -> int:
    """Return an integer as it is, or a seed drawn from a RandomState."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


class _Sentences:
    """Texts as lists of words, which gensim iterates over several times."""

    def __init__(self, texts: Any, tokenizer: AnyTokenizer) -> None:
        self.blocks = list(blocks(texts))
        self.tokenizer = tokenizer

    def __iter__(self) -> Iterator[list[str]]:
        for block in self.blocks:
            lists = block.texts if block.tokenised else split_texts(block.texts, self.tokenizer)
            for words in lists:
                for begin in range(0, len(words), _LONGEST_SENTENCE):
                    yield words[begin : begin + _LONGEST_SENTENCE]

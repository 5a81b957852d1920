"""Word vectors composed of the pieces of a static table, for the words of a corpus."""

from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from ..parameters import CALLABLE, NONE, PATH, Constraints, check_parameters
from ..places import WORDLLAMA
from ..storage import Saved
from ..text import AnyTokenizer, DividingTokenizer, Tokenizer, count_words
from .pieces import WORDS, Pieces
from .wordvectors import WordVectors


class ComposedVectors(Saved, BaseEstimator):
    """Word vectors that are sums of the rows of their pieces, for every word of the texts (extra ``static``).

    It has the interface of a learner, although nothing is learned: the texts determine which words are composed in
    advance. Other words are divided into pieces when they are read. ``WordVectors.load(source)`` composes only the
    words of ``english-128`` and of the table.

    Parameters
    ----------
    source : str or Path, default="wordllama"
        A folder of model2vec, or of sentence-transformers with a StaticEmbedding; or "wordllama".
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is ``Tokenizer(digits=True)``: runs of letters and digits, lower-cased. With a
        tokenizer that is not a :class:`Tokenizer`, words that did not occur in ``fit`` are unknown.

    Attributes
    ----------
    vectors_ : WordVectors
        The words, then the pieces. Weights are the lengths of the sums, scaled to a mean of about 1 over English text.
    tokenizer_ : DividingTokenizer or callable
        The tokenizer to read texts with.

    Examples
    --------
    >>> learner = ComposedVectors("wordllama").fit(["a zyxomatic text"])  # doctest: +SKIP
    >>> "zyxomatic" in learner.vectors_  # doctest: +SKIP
    True
    """

    _parameters: ClassVar[Constraints] = {
        "source": PATH,
        "tokenizer": CALLABLE | NONE,
    }

    vectors_: WordVectors
    tokenizer_: AnyTokenizer

    def __init__(self, source: str | Path = WORDLLAMA, *, tokenizer: AnyTokenizer | None = None) -> None:
        self.source = source
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compose the vectors of the words of texts, and of those among the pieces.

        Parameters
        ----------
        X : iterable, table or Path
            Anything that :func:`parasphere.corpus.blocks` accepts.
        y : None
            Ignored.
        """
        check_parameters(self)
        tokenizer = WORDS if self.tokenizer is None else self.tokenizer
        pieces = Pieces.read(self.source)
        words = list(dict.fromkeys([*count_words(X, tokenizer)[0], *pieces.words]))
        if isinstance(tokenizer, Tokenizer):
            self.tokenizer_ = DividingTokenizer(tokenizer, pieces.tokenizer.to_str())
            self.vectors_ = pieces.of_words_and_pieces(WordVectors, words)
        else:
            self.tokenizer_, self.vectors_ = tokenizer, pieces.of_words(WordVectors, words)
        return self

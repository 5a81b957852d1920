"""The ``vectors`` parameter of estimators: a name, a path, word vectors, or a learner."""

from typing import Any, NamedTuple

from ..text import AnyTokenizer, Tokenizer
from .wordvectors import WordVectors


class Resolved(NamedTuple):
    """Word vectors, and the tokenizer to read texts with."""

    vectors: WordVectors
    tokenizer: AnyTokenizer


def is_learner(vectors: Any) -> bool:
    """Return whether an object is a learner: an estimator whose ``fit(texts)`` sets ``vectors_``."""
    return hasattr(vectors, "fit") and hasattr(vectors, "get_params") and not isinstance(vectors, type)


def resolve(vectors: Any, tokenizer: AnyTokenizer | None, texts: Any, *, weighted: bool = True) -> Resolved:
    """Return word vectors that are loaded from a source, or learned from texts by a clone of a learner.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner
        A name or path is loaded; a learner is cloned and fitted.
    tokenizer : Tokenizer, callable or None
        Splits texts into words. A learner without a tokenizer uses this one. None is the tokenizer of the learner, if
        there is one; otherwise ``Tokenizer(digits=True)`` if the weights of the vectors are used, and
        :func:`default_tokenizer` if not.
    texts : iterable, table or Path
        The texts that a learner learns from; they must be readable more than once.
    weighted : bool, default=True
        Whether the caller uses the weights of the vectors, if they have any.
    """
    if is_learner(vectors):
        from sklearn.base import clone

        learner = clone(vectors)
        taken = tokenizer is not None and getattr(learner, "tokenizer", 0) is None
        if taken:
            learner.set_params(tokenizer=tokenizer)
        learner.fit(texts)
        resolved = learner.vectors_
        if taken or tokenizer is None:
            tokenizer = getattr(learner, "tokenizer_", tokenizer)
    else:
        resolved = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
    if tokenizer is None:  # small weights make stop words harmless; vectors with weights include numbers
        tokenizer = Tokenizer(digits=True) if weighted and resolved.weights is not None else default_tokenizer()
    return Resolved(resolved, tokenizer)


def default_tokenizer() -> Tokenizer:
    """Return the default tokenizer of unweighted words: runs of letters, lower-cased, without English stop words."""
    return Tokenizer(stop_words="english")

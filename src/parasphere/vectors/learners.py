"""Where an estimator's word vectors come from: a name, a path, vectors at hand, or a learner."""

from typing import Any, NamedTuple

from sklearn.base import clone

from ..text import AnyTokenizer, Tokenizer
from .wordvectors import WordVectors


class Resolved(NamedTuple):
    """Word vectors that are ready, and what makes words of texts."""

    vectors: WordVectors
    tokenizer: AnyTokenizer


def is_learner(vectors: Any) -> bool:
    """Tell whether this is a learner: an estimator whose ``fit(texts)`` makes ``vectors_``."""
    return hasattr(vectors, "fit") and hasattr(vectors, "get_params") and not isinstance(vectors, type)


def resolve(vectors: Any, tokenizer: AnyTokenizer | None, texts: Any) -> Resolved:
    """Return word vectors: loaded, as given, or learned from texts by a clone of a learner.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner
    tokenizer : Tokenizer or callable or None
        What makes words of texts. None is the learner's own, or else runs of Unicode letters, lower-cased, without
        English stop words. A learner that has none is given this one.
    texts
        What a learner learns from; it must be possible to read them more than once.
    """
    if is_learner(vectors):
        learner = clone(vectors)
        if tokenizer is not None and getattr(learner, "tokenizer", 0) is None:
            learner.set_params(tokenizer=tokenizer)
        learner.fit(texts)
        return Resolved(learner.vectors_, tokenizer or getattr(learner, "tokenizer_", None) or default_tokenizer())
    loaded = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
    return Resolved(loaded, tokenizer or default_tokenizer())


def default_tokenizer() -> Tokenizer:
    """Return what makes words of texts where nobody says otherwise."""
    return Tokenizer(stop_words="english")

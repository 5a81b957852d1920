"""Reranking: hits reordered by a model that is too slow for all documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError

Reranker = Any  # an encoder of sentence-transformers, a cross-encoder, or a function of a query and texts


def relevances(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return how relevant each text is to a query, (n,), by a model of another library.

    Parameters
    ----------
    reranker : callable, or an object with ``predict`` or ``encode``
        A function of the query and a list of texts that returns a number per text; a CrossEncoder of
        sentence-transformers (``predict``); or a model that turns texts into vectors (``encode``), whose cosines are
        taken.
    query : str
    texts : list of str
    """
    if not texts:
        return np.empty(0)
    if hasattr(reranker, "encode") and not hasattr(reranker, "predict"):
        vectors = np.asarray(reranker.encode([query, *texts]), np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        scores = vectors[1:] @ vectors[0]
    elif hasattr(reranker, "predict"):
        scores = np.asarray(reranker.predict([(query, text) for text in texts]), np.float64)
    elif callable(reranker):
        scores = np.asarray(reranker(query, list(texts)), np.float64)
    else:
        raise TypeError(
            "rerank must be a function of a query and a list of texts, or have a method encode or predict, not be a "
            f"{type(reranker).__name__}"
        )
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise ParasphereError(
            f"rerank must return one finite number per text, ({len(texts)},); it returned an array of shape "
            f"{scores.shape}" + ("" if np.isfinite(scores).all() else " with numbers that are not finite")
        )
    return np.asarray(scores)

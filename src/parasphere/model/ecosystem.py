"""Fitted models in other libraries: folders that they can load, and LangChain's interface."""

from typing import Any

import numpy as np

from ..errors import import_extra
from ..sphere import vmf
from ..text import AnyTokenizer
from ..vectors import writable
from .encoder import Encoder
from .equations import Prior
from .posterior import Floats, Space, check_space, mapped


def static_table(encoder: Encoder, space: Space | None = None) -> tuple[list[str], Floats, AnyTokenizer, Floats | None]:
    """Return the arguments of :func:`parasphere.vectors.write_static` for an encoder: words, rows, tokenizer, prior.

    ``space`` is the space of the vectors that other libraries will compute; None is that of the encoder.
    """
    space = encoder.space if space is None else space
    check_space(space)
    reader = encoder.text_reader
    tokenizer = writable(reader.tokenizer)
    rows, prior = _linear(reader.vectors.matrix.astype(np.float64), encoder.prior, space, encoder.whitening)
    rows *= 1.0 if reader.weights is None else reader.weights[:, None]
    return reader.vectors.words, rows, tokenizer, prior


def _linear(rows: Floats, prior: Prior, space: Space, whitening: Floats | None) -> tuple[Floats, Floats | None]:
    """Return rows per word, and one to add to every text, whose sums have nearly the directions of the texts' vectors.

    With one word concentration for all texts, ``eta = kappa0 mu0 + kappa s`` is such a sum. The offset of a text of
    ``l`` words is ``a kappa s - (A(kappa0) - a kappa0) mu0`` times the metric, with ``a = A(|eta|) / |eta|``. For long
    texts, ``|eta|`` is about ``kappa l rho`` and ``A(|eta|)`` about 1, so that the offset has the direction of
    ``s - l rho A(kappa0) mu0``: the sum of words minus their mean along mu0.
    """
    direction, dim = np.asarray(prior.mean_direction), rows.shape[1]
    if space == "direction":
        kappa = float(vmf.invert(np.array([prior.cosine]), dim, prior.method)[0])
        return rows * kappa, prior.concentration * direction
    common = prior.cosine * float(vmf.mean_length(prior.concentration, dim)) * direction
    return mapped(rows - common, whitening), None


def langchain_embeddings(model: Any) -> Any:
    """Return a fitted model as an ``Embeddings`` of LangChain.

    Parameters
    ----------
    model : Encoder, SphericalParagraphModel or any other object with ``encode``
        A fitted model.
    """
    base = import_extra("langchain_core.embeddings", "langchain", "langchain_embeddings").Embeddings

    class ModelEmbeddings(base):  # type: ignore[misc,valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in model.encode(texts)] if texts else []

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, model.encode(text)))

    return ModelEmbeddings()

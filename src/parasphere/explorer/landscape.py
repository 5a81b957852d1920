"""Index, topics, certainties and map of documents, computed once and kept in a folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__, storage
from ..errors import ParasphereError, StoreError
from ..model import Encoder
from ..model.estimator import SphericalParagraphModel
from ..plots import neighbour_map
from ..search import Index
from ..topics import SphericalTopics
from .documents import Documents

KIND = "landscape"
LAYOUTS = {"points": (np.float32, 2), "topic": (np.int32, 1), "certainty": (np.float32, 1)}


@dataclass(frozen=True, eq=False)
class Landscape:
    """Index, topics, certainties and map of documents by one model.

    Attributes
    ----------
    index : Index
        The index of the documents.
    topics : SphericalTopics
    points : (n_docs, 2) float32
        Positions on the map (:func:`parasphere.plots.neighbour_map`).
    topic : (n_docs,) int32
        The topic of each document; -1 for none.
    certainty : (n_docs,) float32
        :attr:`Posterior.mean_length`: certainty of the direction of each document, 0 to 1.
    """

    index: Index
    topics: SphericalTopics
    points: NDArray[np.float32]
    topic: NDArray[np.int32]
    certainty: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.points)


def landscape_of(
    model: Encoder | SphericalParagraphModel | Index | SphericalTopics,
    documents: Documents,
    *,
    folder: Path | None = None,
    facts: Any = None,
    n_topics: int | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Landscape:
    """Return the landscape of documents, from a folder if it is kept there, otherwise computed and kept there.

    Parameters
    ----------
    model : Encoder, SphericalParagraphModel, Index or SphericalTopics
        An encoder or a fitted model, or an index or topics of the same documents.
    documents : Documents
    folder : path, default=None
        Where the index, the topics and the map are kept; None keeps nothing.
    facts : JSON-able, default=None
        What the result depends on: model, corpus, columns. If they changed, it is computed again.
    n_topics : int, default=None
        Number of topics; None finds it. Ignored if ``model`` is a SphericalTopics.
    seed : int, default=0
    tell : callable, default=nothing
        Called with the name of each step before it begins.
    """
    key = storage.key_of(__version__, facts, n_topics, seed, len(documents))
    if folder is not None and (kept := _kept(folder, key, model, len(documents))) is not None:
        return kept
    held = [documents.block()]
    if isinstance(model, Index):
        index = model
        if index.texts is None or index.bm25 is None:
            raise ParasphereError(
                "the index was made with texts=False or words=False; the explorer needs the texts and the words"
            )
        if index.texts.tolist() != documents.texts.tolist():
            raise ParasphereError(f"the index has other texts than the {len(documents):,} given, or another order")
    else:
        tell("indexing the texts")
        index = Index(model)
        index.add(held)
    if isinstance(model, SphericalTopics):
        topics = model
        if len(topics.labels_) != len(documents):
            raise ParasphereError(f"the topics are of {len(topics.labels_):,} texts, not of these {len(documents):,}")
    else:
        tell("finding topics")
        topics = SphericalTopics(index.encoder, "auto" if n_topics is None else n_topics, random_state=seed).fit(held)
    tell("drawing the map")
    points = _framed(neighbour_map(topics.vectors(held), seed))
    certainty = index.encoder.posterior(held).mean_length.astype(np.float32)
    made = Landscape(index, topics, points, topics.labels_.astype(np.int32), certainty)
    if folder is not None:
        _keep(folder, key, made, with_index=not isinstance(model, Index))
    return made


def _framed(points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scale points to between -1 and 1 in the longer direction."""
    return np.asarray(points / max(float(np.abs(points).max()), 1e-12), np.float32)


def _keep(folder: Path, key: str, made: Landscape, *, with_index: bool) -> None:
    if with_index:
        made.index.save(folder / "index")
    made.topics.save(folder / "topics")
    arrays = {name: getattr(made, name) for name in LAYOUTS}
    storage.save(folder / "map", KIND, arrays, {"key": key})  # last, so that it is complete if this exists


def _kept(folder: Path, key: str, model: Any, n: int) -> Landscape | None:
    """Return the landscape in a folder; None if there is none, it was made with other facts, or it is damaged."""
    if not storage.is_saved(folder / "map"):
        return None
    try:
        arrays, meta = storage.load(folder / "map", KIND)
        if meta.get("key") != key:
            return None
        index = model if isinstance(model, Index) else Index.load(folder / "index")
        topics = SphericalTopics.load(folder / "topics")
    except StoreError:
        return None
    sound = all(
        arrays[name].dtype == dtype and arrays[name].ndim == ndim and len(arrays[name]) == n
        for name, (dtype, ndim) in LAYOUTS.items()
    )
    if not sound or len(index) != n or not np.array_equal(arrays["topic"], topics.labels_):
        return None
    if not (np.isfinite(arrays["points"]).all() and np.isfinite(arrays["certainty"]).all()):
        return None
    return Landscape(index, topics, arrays["points"], arrays["topic"], arrays["certainty"])

"""Maps of documents, as pictures."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParasphereError
from ..storage import write_file
from .layout import neighbour_map
from .picture import picture
from .scene import make_scene

EXTENSIONS = (".png", ".svg", ".pdf")


def draw_map(
    path: str | Path,
    rows: ArrayLike,
    certainty: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    topics: Sequence[str] | None = None,
    title: str | None = None,
    seed: int = 0,
) -> None:
    """Draw documents by :func:`neighbour_map` and write the picture, replacing the file in one step.

    Parameters
    ----------
    path : path
        ``.png``, ``.svg`` or ``.pdf`` (extra ``plots``). The map in the browser is that of :mod:`parasphere.explorer`.
    rows : (n, dim) array
        Vectors whose cosines say how similar documents are.
    certainty : (n,) array
        How sure the place of each document is: its opacity, from the 2 % least certain documents to the 2 % most
        certain.
    labels : (n,) str, default=None
        Labels, shown by colour, and by shape too if there are more than 10. The 20 most frequent have colours of
        their own. None colours by topic, and without topics by certainty.
    topics : (n,) str, default=None
        The name of the topic of each document, written at the middle of its documents; "" for none. None writes the
        labels. No name covers another: names move aside, and the smallest are left out where there is no room.
    title : str, default=None
    seed : int, default=0
        Seed of the layout.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "map.svg")
    >>> draw_map(path, np.eye(4), [1, 1, 1, 1], topics=["sea", "sea", "land", ""])
    >>> path.stat().st_size > 1000
    True
    """
    kind = _kind(path)
    points = neighbour_map(rows, seed)
    sure = np.asarray(certainty, np.float64)
    if sure.shape != (len(points),) or not np.isfinite(sure).all() or not len(points):
        raise ParasphereError(f"the certainties must be {len(points):,} finite numbers, one per document, at least one")
    _check_columns(len(points), labels=labels, topics=topics)
    caption = "Neighbours stay neighbours; distances between groups mean little."
    caption += " Names: topics." if topics is not None else ""
    scene = make_scene(points, sure, labels, topics, title=title, caption=caption)
    write_file(Path(path), picture(scene, kind[1:]))


def _kind(path: str | Path) -> str:
    kind = Path(path).suffix.lower()
    if kind not in EXTENSIONS:
        raise ParasphereError(f"{path}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    return kind


def _check_columns(n: int, **columns: Sequence[str] | None) -> None:
    for name, column in columns.items():
        if column is not None and len(column) != n:
            raise ParasphereError(f"there are {len(column):,} {name} for {n:,} documents")

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
THEMES = ("light", "dark")


def draw_map(
    path: str | Path,
    rows: ArrayLike,
    topics: Sequence[str] | None = None,
    *,
    large: Sequence[str] | None = None,
    certainty: ArrayLike | None = None,
    title: str | None = None,
    theme: str = "light",
    seed: int = 0,
) -> None:
    """Draw texts by :func:`neighbour_map` and write the picture, replacing the file in one step.

    Topics are islands of one colour each. Their names are beside them and cover neither texts nor other names.

    Parameters
    ----------
    path : path
        ``.png``, ``.svg`` or ``.pdf`` (extra ``plots``). For a map in the browser see
        :func:`parasphere.page.write_page`.
    rows : (n, dim) array
        Vectors, compared by their cosines.
    topics : (n,) str, default=None
        Name of the topic of each text, or its class; "" for none, which is grey. Phrases joined by " · " are written
        in lines. None draws no topics.
    large : (n,) str, default=None
        Name of the large topic of each text. Topics in one large topic are shades of one colour. None gives each topic
        a colour of its own.
    certainty : (n,) array, default=None
        How certain the position or topic of each text is, drawn as opacity, from the 2 % least certain texts to the 2 %
        most certain. None draws all alike.
    title : str, default=None
    theme : {"light", "dark"}, default="light"
    seed : int, default=0
        Seed of the layout.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "map.svg")
    >>> draw_map(path, np.eye(4), ["sea", "sea", "land", ""])
    >>> path.stat().st_size > 1000
    True
    """
    kind = _kind(path)
    if theme not in THEMES:
        raise ParasphereError(f"the theme must be one of {', '.join(THEMES)}, not {theme!r}")
    points = neighbour_map(rows, seed)
    if not len(points):
        raise ParasphereError("a map needs at least one row")
    for name, column in (("topics", topics), ("large topics", large)):
        if column is not None and len(column) != len(points):
            raise ParasphereError(f"there are {len(column):,} {name} for {len(points):,} rows; a map needs one per row")
    if large is not None and topics is None:
        raise ParasphereError("large topics need topics, which are parts of them")
    sure = None if certainty is None else np.asarray(certainty, np.float64)
    if sure is not None and (sure.shape != (len(points),) or not np.isfinite(sure).all()):
        raise ParasphereError(f"the certainties must be {len(points):,} finite numbers, one per row")
    scene = make_scene(points, topics, large, sure, title=title, dark=theme == "dark")
    write_file(Path(path), picture(scene, kind[1:]))


def _kind(path: str | Path) -> str:
    kind = Path(path).suffix.lower()
    if kind not in EXTENSIONS:
        raise ParasphereError(f"{path}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    return kind

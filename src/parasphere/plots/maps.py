"""Maps of documents on the unit sphere, as a picture or an interactive page."""

import json
import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from ..errors import ParasphereError
from ..printable import visible
from ..storage import write_file
from .layout import neighbour_map
from .picture import picture
from .scene import Scene, make_scene

Floats = NDArray[np.float64]

EXTENSIONS = (".png", ".svg", ".pdf", ".html")
EXCERPT = 200  # characters of a text that the page shows


class Map(NamedTuple):
    """Points (n, 2) on the map, and the share of the documents' spread about the centre that they show."""

    points: Floats
    explained: float


def sphere_map(directions: ArrayLike, mean_direction: ArrayLike, weights: ArrayLike | None = None) -> Map:
    r"""Lay directions on a plane: Lambert's azimuthal equal-area projection around the corpus direction.

    Parameters
    ----------
    directions : (n, dim) array
        One row per document, of any length but 0.
    mean_direction : (dim,) array
        mu0, the centre of the map.
    weights : (n,) array, default=None
        Weight of each document in the choice of the axes; None weights all equally.

    Returns
    -------
    Map

    Notes
    -----
    A document at the angle theta from mu0 is mapped to the tangent space at mu0, in its direction, at the distance
    :math:`2 \sin(\theta / 2)`, which is its distance from mu0 in space. Of the dim - 1 tangent dimensions the map shows
    the two along which the (weighted) squared distances are greatest, each oriented so that the document farthest out
    along it has a positive coordinate. Labels are not used.

    In three dimensions this is Lambert's map: equal areas on the map are equal areas of the sphere, and the distance
    from the centre determines theta. In more dimensions the same holds on the great sphere through mu0 and the two
    axes, and every other document appears closer to the centre than it is. A ring on the map is therefore the *least*
    angle, and ``explained`` is the share of the squared distances that is visible. A map with every document at its
    true angle would be a hollow ring: in many dimensions nearly all documents are at about the same angle.

    Examples
    --------
    >>> north, east = [0, 0, 1], [1, 0, 0]
    >>> sphere = sphere_map([north, east, [0, -1, 1], [3, 0, 0]], north)
    >>> (sphere.points + 0.0).round(3).tolist()
    [[0.0, 0.0], [1.414, 0.0], [0.0, 0.765], [1.414, 0.0]]
    >>> round(sphere.explained, 6)
    1.0
    """
    x, centre = np.asarray(directions, np.float64), np.asarray(mean_direction, np.float64)
    if x.ndim != 2 or not len(x) or x.shape[1:] != centre.shape or len(centre) < 2:
        raise ParasphereError(
            f"a map needs directions (n, dim) and a mean direction (dim,), with n >= 1 and dim >= 2, not arrays of "
            f"shape {x.shape} and {centre.shape}"
        )
    x, centre = _unit(x, "document {}"), _unit(centre[None], "the mean direction")[0]
    weight = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    if weight.shape != (len(x),) or not ((weight >= 0) & np.isfinite(weight)).all():
        raise ParasphereError(f"the certainties must be {len(x):,} finite numbers of 0 or more, one per document")
    weight = weight if weight.any() else np.ones(len(x))
    along = x @ centre
    tangent = x - along[:, None] * centre
    tangent -= (tangent @ centre)[:, None] * centre  # again: near mu0 the first difference has lost digits
    sine = np.linalg.norm(tangent, axis=1)
    radius = 2 * np.sin(np.arctan2(sine, along) / 2)
    apart = sine > 1e-9
    tangent *= np.divide(radius, sine, out=np.zeros_like(sine), where=apart)[:, None]
    scatter = (tangent * weight[:, None]).T @ tangent
    _, axes = scipy.linalg.eigh(scatter, subset_by_index=[len(centre) - 2, len(centre) - 1])
    points = tangent @ axes[:, ::-1]  # (n, dim) -> (n, 2), the greater spread first
    points[np.abs(points) < 1e-12] = 0
    points[~apart & (along < 0), 0] = 2  # the antipode is the whole rim; any place on it will do
    for axis in points.T:
        size = np.abs(axis)
        axis *= 1 if axis[np.argmax(size >= size.max() * (1 - 1e-6))] >= 0 else -1
    total = float(weight @ radius**2)
    shown = float(weight @ (points**2).sum(axis=1))
    return Map(points, min(1.0, shown / total) if total > 0 else 1.0)


def draw_map(
    path: str | Path,
    directions: ArrayLike,
    mean_direction: ArrayLike,
    certainty: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ids: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
) -> None:
    """Draw documents by :func:`sphere_map` and write the picture, replacing the file in one step.

    Parameters
    ----------
    path : path
        ``.png``, ``.svg`` or ``.pdf`` for a picture (extra ``plots``), ``.html`` for a self-contained page that shows
        the document under the pointer and zooms.
    directions, mean_direction : (n, dim) and (dim,) arrays
    certainty : (n,) array
        :attr:`Posterior.mean_length`. It is the weight of each document, and its opacity, from the 2 % least certain
        documents to the 2 % most certain.
    labels : (n,) str, default=None
        Labels, shown by colour, and by shape too if there are more than 10. The 20 most frequent have colours of
        their own. Without labels colour shows the certainty.
    title : str, default=None
    ids, texts : (n,) str, default=None
        What an interactive page shows for each document, besides its label and certainty.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "map.html")
    >>> draw_map(path, [[1, 0, 1], [-1, 0, 1]], [0, 0, 1], [0.5, 0.9], ["east", "west"], ids=["a", "b"])
    >>> path.read_text().startswith("<!doctype html>")
    True
    """
    kind = _kind(path)
    sphere = sphere_map(directions, mean_direction, certainty)
    farthest = math.degrees(2 * math.asin(min(1.0, float(np.linalg.norm(sphere.points, axis=1).max()) / 2)))
    step = next((step for step in (1, 2, 5, 10, 20, 30) if farthest <= 5 * step), 45)
    angles = range(step, min(180, math.ceil(farthest) + step), step)
    caption = (
        "Lambert's equal-area map around the corpus direction (+), two principal axes. "
        f"Rings: least angle from it. {sphere.explained:.0%} of the spread shown."
    )
    rings = [(2 * math.sin(math.radians(angle) / 2), f"{angle}°") for angle in angles]
    _check_columns(len(sphere.points), labels=labels, ids=ids, texts=texts)
    sure = np.asarray(certainty, np.float64)
    scene = make_scene(sphere.points, sure, labels, None, title=title, caption=caption, rings=rings)
    _write(path, kind, scene, ids, texts)


def draw_neighbours(
    path: str | Path,
    rows: ArrayLike,
    certainty: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    topics: Sequence[str] | None = None,
    title: str | None = None,
    ids: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
) -> None:
    """Draw documents by :func:`neighbour_map` and write the picture, replacing the file in one step.

    Parameters
    ----------
    path : path
        As for :func:`draw_map`.
    rows : (n, dim) array
        Vectors whose cosines say how similar documents are.
    certainty : (n,) array
        How sure the place of each document is: its opacity.
    labels : (n,) str, default=None
        Labels, shown by colour. None colours by topic.
    topics : (n,) str, default=None
        The name of the topic of each document, written at the middle of its documents; "" for none. None writes the
        labels. No name covers another: names move aside, and the smallest are left out where there is no room.
    title : str, default=None
    ids, texts : (n,) str, default=None
        What an interactive page shows for each document.
    seed : int, default=0
        Seed of the layout.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "map.html")
    >>> draw_neighbours(path, np.eye(4), [1, 1, 1, 1], topics=["sea", "sea", "land", ""])
    >>> path.stat().st_size > 1000
    True
    """
    kind = _kind(path)
    points = neighbour_map(rows, seed)
    sure = np.asarray(certainty, np.float64)
    if sure.shape != (len(points),) or not np.isfinite(sure).all() or not len(points):
        raise ParasphereError(f"the certainties must be {len(points):,} finite numbers, one per document, at least one")
    _check_columns(len(points), labels=labels, topics=topics, ids=ids, texts=texts)
    caption = "Neighbours stay neighbours; distances between groups mean little."
    caption += " Names: topics." if topics is not None else ""
    scene = make_scene(points, sure, labels, topics, title=title, caption=caption, rings=[])
    _write(path, kind, scene, ids, texts)


def _kind(path: str | Path) -> str:
    kind = Path(path).suffix.lower()
    if kind not in EXTENSIONS:
        raise ParasphereError(f"{path}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    return kind


def _check_columns(n: int, **columns: Sequence[str] | None) -> None:
    for name, column in columns.items():
        if column is not None and len(column) != n:
            raise ParasphereError(f"there are {len(column):,} {name} for {n:,} documents")


def _write(path: str | Path, kind: str, scene: Scene, ids: Sequence[str] | None, texts: Sequence[str] | None) -> None:
    write_file(Path(path), _page(scene, ids, texts) if kind == ".html" else picture(scene, kind[1:]))


def _unit(rows: Floats, name: str) -> Floats:
    norms = np.linalg.norm(rows, axis=1)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if len(bad):
        raise ParasphereError(f"{name.format(bad[0])} has no direction: its vector is zero or not finite")
    return np.asarray(rows / norms[:, None])


def _page(scene: Scene, ids: Sequence[str] | None, texts: Sequence[str] | None) -> bytes:
    data = scene._asdict() | {
        "points": scene.points.round(5),
        "certainty": scene.certainty.round(5),
        "strength": scene.strength.round(3),
        "groups": [group._asdict() for group in scene.groups],
        "names": [name._asdict() for name in scene.names],
        "ids": None if ids is None else [visible(str(name)) for name in ids],
        "texts": None if texts is None else [visible(str(text)[:EXCERPT]) for text in texts],
    }
    # ASCII, and without "<": nothing in a text can then end the script or be read as markup.
    content = json.dumps(data, default=np.ndarray.tolist).replace("<", "\\u003c")
    page = resources.files(__package__).joinpath("map.html").read_text(encoding="utf-8")
    return page.replace("DATA", content).encode("ascii")

"""Maps of documents on the unit sphere, as a picture or an interactive page."""

import io
import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from ..errors import ParasphereError, import_extra
from ..printable import visible
from ..storage import write_file

Floats = NDArray[np.float64]

EXTENSIONS = (".png", ".svg", ".pdf", ".html")
EXCERPT = 200  # characters of a text that the page shows
MARKERS = "os^Dv"
# Six colours of Okabe and Ito, then colours far from those before them to normal, protan and deutan eyes (simulated;
# two then darkened by hand, to be seen on white), in an order that keeps colours alike from having one shape.
COLOURS = (
    "#0077aa #ee9900 #009977 #cc77aa #dd6600 #55bbee #443300 #0000bb #bb0044 #99994d "
    "#225533 #5555ff #885577 #7788ee #dd22bb #884400 #ee8899 #ff2266 #444499 #443355"
).split()


class Map(NamedTuple):
    """Points (n, 2) on the map, and the share of the documents' spread about the centre that they show."""

    points: Floats
    explained: float


class _Group(NamedTuple):
    """The documents of one label, where its name belongs, and how they look."""

    name: str
    colour: str
    marker: str
    rows: NDArray[np.int64]
    ink: str  # the colour, dark enough to write in
    middle: Floats | None


class _Scene(NamedTuple):
    """What picture and page have in common; ``strength`` is 0 at the first certainty of ``ends`` and 1 at the last."""

    title: str
    caption: str
    points: Floats
    certainty: Floats
    strength: Floats
    ends: tuple[str, str]
    rings: list[tuple[float, str]]
    groups: list[_Group]
    labelled: bool


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
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in EXTENSIONS:
        raise ParasphereError(f"{path}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    sphere = sphere_map(directions, mean_direction, certainty)
    for name, column in (("labels", labels), ("ids", ids), ("texts", texts)):
        if column is not None and len(column) != len(sphere.points):
            raise ParasphereError(f"there are {len(column):,} {name} for {len(sphere.points):,} documents")
    scene = _scene(sphere, np.asarray(certainty, np.float64), labels, title)
    content = _page(scene, ids, texts) if kind == ".html" else _picture(scene, kind[1:])
    write_file(path, content)


def _unit(rows: Floats, name: str) -> Floats:
    norms = np.linalg.norm(rows, axis=1)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if len(bad):
        raise ParasphereError(f"{name.format(bad[0])} has no direction: its vector is zero or not finite")
    return np.asarray(rows / norms[:, None])


def _scene(sphere: Map, certainty: Floats, labels: Sequence[str] | None, title: str | None) -> _Scene:
    low, high = np.quantile(certainty, [0.02, 0.98])
    wide = high - low > 1e-9
    digits = max(2, 1 - math.floor(math.log10(high - low))) if wide else 3
    farthest = math.degrees(2 * math.asin(min(1.0, float(np.linalg.norm(sphere.points, axis=1).max()) / 2)))
    step = next((step for step in (1, 2, 5, 10, 20, 30) if farthest <= 5 * step), 45)
    rings = range(step, min(180, math.ceil(farthest) + step), step)
    return _Scene(
        visible(title or ""),
        "Lambert's equal-area map around the corpus direction (+), two principal axes. "
        f"Rings: least angle from it. {sphere.explained:.0%} of the spread shown.",
        sphere.points,
        certainty,
        np.clip((certainty - low) / (high - low), 0, 1) if wide else np.ones(len(certainty)),
        (f"{low:.{digits}f}", f"{high:.{digits}f}"),
        [(2 * math.sin(math.radians(angle) / 2), f"{angle}°") for angle in rings],
        _groups([""] * len(certainty) if labels is None else labels, sphere.points),
        labels is not None,
    )


def _groups(labels: Sequence[str], points: Floats) -> list[_Group]:
    """Give each label a colour, and a shape if there are many; the rarest share one if there are too many."""
    names = np.array([visible(" ".join(str(label).split())) or "(no label)" for label in labels], object)
    counts = Counter(names)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))
    own, rest = sorted(frequent[: len(COLOURS)]), frequent[len(COLOURS) :]
    groups = []
    for i, name in enumerate(own):
        rows = np.flatnonzero(names == name)
        marker = MARKERS[i % len(MARKERS)] if len(own) > 10 else "o"
        short = name if len(name) <= 32 else name[:31] + "…"
        ink = "#" + "".join(f"{int(COLOURS[i][at : at + 2], 16) * 13 // 20:02x}" for at in (1, 3, 5))
        groups.append(_Group(short, COLOURS[i], marker, rows, ink, _median(points[rows])))
    if rest:
        rows = np.flatnonzero(np.isin(names, rest))
        groups.append(_Group(f"{len(rest):,} rarer labels", "#8a8a8a", "o", rows, "#8a8a8a", None))
    return groups


def _median(points: Floats) -> Floats:
    """Return the geometric median of points (n, 2), by Weiszfeld's iteration: stragglers do not move it."""
    middle = np.asarray(np.median(points, axis=0))
    for _ in range(50):
        near = 1 / np.maximum(np.linalg.norm(points - middle, axis=1), 1e-9)
        middle = near @ points / near.sum()
    return middle


def _apart(centres: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:
    """Push boxes (k, 2) apart, each pair by the shorter way out, until none overlaps or 300 rounds are over."""
    for _ in range(300):
        centres = before = np.clip(centres, low + sizes / 2, high - sizes / 2)
        centres = centres.copy()
        for i, j in zip(*np.tril_indices(len(centres), -1), strict=True):
            away = centres[i] - centres[j]
            overlap = (sizes[i] + sizes[j]) / 2 - np.abs(away)
            if overlap.min() > 0:
                axis = overlap.argmin()
                centres[[i, j], axis] += math.copysign(overlap[axis] / 2 + 0.5, away[axis]) * np.array([1, -1])
        if (centres == before).all():
            break
    return centres


def _picture(scene: _Scene, kind: str) -> bytes:
    mpl = import_extra("matplotlib", "plots", "drawing a map")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    low, high = np.minimum(0, scene.points.min(axis=0)), np.maximum(0, scene.points.max(axis=0))
    span = float((high - low).max()) or 0.02
    half = np.maximum(high - low, [span * 0.8, span * 0.7]) * 0.53  # the frame has the documents' proportions
    inner = 8.0 * half[1] / half[0]
    width, height = 8.4 + 2.6 * (len(scene.groups) > 6), inner + 1.0
    with mpl.rc_context({"svg.hashsalt": "parasphere"}):  # the same picture is the same file
        figure = Figure(figsize=(width, height), facecolor="white")
        canvas: Any = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.2 / width, 0.4 / height, 8.0 / width, inner / height), xticks=[], yticks=[])
        begin, end = (low + high) / 2 - half, (low + high) / 2 + half
        axes.set(xlim=(begin[0], end[0]), ylim=(begin[1], end[1]))
        axes.spines[:].set_color("#cccccc")
        figure.text(0.2 / width, 0.2 / height, scene.caption, fontsize=8.5, color="#444444", va="center")
        large = min(14.0, 120 * (width - 3.6) / (len(scene.title) + 1))  # beside the key
        figure.text(0.2 / width, 1 - 0.3 / height, scene.title, fontsize=large, va="center", parse_math=False)
        _draw_documents(axes, scene)
        _draw_names(axes, scene, canvas.get_renderer())
        _draw_keys(figure, scene)
        file = io.BytesIO()
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(file, format=kind, dpi=160, metadata=undated)
        return file.getvalue()


def _draw_documents(axes: Any, scene: _Scene) -> None:
    n = len(scene.points)
    style = {"s": min(36.0, max(5.0, 4e4 / n)), "linewidths": 0, "rasterized": n > 5000}
    bands = np.minimum(7, (8 * scene.strength).astype(int))  # the most certain on top, whatever their label
    for band, group in itertools.product(range(8), scene.groups):
        rows = group.rows[bands[group.rows] == band]
        if len(rows):
            alpha = 0.12 + 0.73 * scene.strength[rows]
            axes.scatter(*scene.points[rows].T, color=group.colour, marker=group.marker, alpha=alpha, **style)


def _draw_names(axes: Any, scene: _Scene, renderer: Any) -> None:
    """Write each label at the middle of its documents, moved aside where names would overlap, and each ring's angle."""
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground="white")]
    style: dict[str, Any] = {"ha": "center", "va": "center", "path_effects": halo}
    limits = np.array([axes.get_xlim(), axes.get_ylim()])
    corner = limits[[0, 1], np.abs(limits).argmax(axis=1)]  # towards it most rings are seen
    for radius, angle in scene.rings:
        axes.add_patch(Circle((0, 0), radius, fill=False, color="#c4c4c4", linewidth=0.7, zorder=0.5))
        if (share := radius / np.linalg.norm(corner)) < 0.96:
            axes.text(*(corner * share), angle, fontsize=8, color="#777777", **style)
    axes.plot(0, 0, "+", color="black", markersize=9)
    named = [group for group in scene.groups if group.middle is not None and scene.labelled]
    if not named:
        return
    style |= {"fontsize": 10.5, "fontweight": "bold", "zorder": 4, "parse_math": False}
    drawn = [axes.text(0, 0, group.name, color=group.ink, **style) for group in named]
    sizes = np.array([text.get_window_extent(renderer).size for text in drawn]) + 5
    frame, middles = axes.get_window_extent(renderer), axes.transData.transform([group.middle for group in named])
    places = _apart(middles, sizes, frame.min, frame.max)
    for text, *ends in zip(drawn, places, middles, strict=True):
        line = axes.transData.inverted().transform(ends)
        text.set_position(line[0])
        if np.ptp(ends, axis=0).max() > 20:  # so far off that the name needs to be tied to its place
            axes.plot(*line.T, color=text.get_color(), linewidth=0.8, zorder=3.5)


def _draw_keys(figure: Any, scene: _Scene) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    bar = figure.add_axes((1 - 1.55 / width, 1 - 0.36 / height, 0.9 / width, 0.12 / height), xticks=[], yticks=[])
    colour = to_rgb("black" if scene.labelled else scene.groups[0].colour)
    bar.imshow([[(*colour, alpha) for alpha in np.linspace(0.12, 0.85, 64)]], aspect="auto")
    bar.axis("off")
    style = {"transform": bar.transAxes, "va": "center", "fontsize": 8.5}
    bar.text(-0.05, 0.45, f"faint = uncertain: certainty {scene.ends[0]}", ha="right", **style)
    bar.text(1.05, 0.45, scene.ends[1], **style)
    if len(scene.groups) > 6:
        handles = [Line2D([], [], color=g.colour, marker=g.marker, linestyle="", markersize=7) for g in scene.groups]
        names = [f"{group.name} ({len(group.rows):,})" for group in scene.groups]
        place = (8.25 / width, 1 - 0.55 / height)
        legend = figure.legend(handles, names, loc="upper left", bbox_to_anchor=place, frameon=False, fontsize=9)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _page(scene: _Scene, ids: Sequence[str] | None, texts: Sequence[str] | None) -> bytes:
    data = scene._asdict() | {
        "points": scene.points.round(5),
        "certainty": scene.certainty.round(5),
        "strength": scene.strength.round(3),
        "groups": [group._asdict() for group in scene.groups],
        "ids": None if ids is None else [visible(str(name)) for name in ids],
        "texts": None if texts is None else [visible(str(text)[:EXCERPT]) for text in texts],
    }
    # ASCII, and without "<": nothing in a text can then end the script or be read as markup.
    content = json.dumps(data, default=np.ndarray.tolist).replace("<", "\\u003c")
    page = resources.files(__package__).joinpath("map.html").read_text(encoding="utf-8")
    return page.replace("DATA", content).encode("ascii")

"""The map as a picture, by matplotlib."""

import io
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from ..errors import import_extra
from .colours import text_colour
from .placing import Placed, place_names
from .scene import Floats, Scene

DPI = 160
EDGE = 14.0  # margin around everything, in points
GAP = 3.0  # around a name
TIED = 6.0  # distance from its island beyond which a name gets a line
GLOW, GLOW_CELL = 5.0, 3.0  # spread of the glow, and the grid that it is drawn on


def picture(scene: Scene, kind: str) -> bytes:
    """Return a picture as the bytes of a file: png, svg or pdf."""
    mpl = import_extra("matplotlib", "plots", "drawing a map")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ground, ink, faint = ("#12151b", "#e8eaee", "#9aa0ab") if scene.dark else ("#ffffff", "#1c2027", "#6b7280")
    placed = placed_names(scene)
    everything = np.vstack([scene.points, placed.low, placed.high])
    low, high = everything.min(axis=0) - EDGE, everything.max(axis=0) + EDGE
    high[0] = max(high[0], low[0] + 360)  # room for the caption
    low[1] -= 18
    high[1] += 26 if scene.title else 0
    width, height = high - low
    with mpl.rc_context({"svg.hashsalt": "parasphere"}):  # so that equal pictures are equal files
        figure = Figure(figsize=(width / 72, height / 72), facecolor=ground, dpi=DPI)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.axis("off")
        style: dict[str, Any] = {"va": "center", "parse_math": False}
        axes.text(low[0] + EDGE, low[1] + 14, scene.caption, fontsize=7, color=faint, **style)
        size = min(15.0, 1.6 * (width - 2 * EDGE) / (len(scene.title) + 1))
        axes.text(low[0] + EDGE, high[1] - 20, scene.title, fontsize=size, color=ink, weight="bold", **style)
        _draw_glow(axes, scene)
        _draw_texts(axes, scene)
        _draw_names(axes, scene, placed, ground)
        file = io.BytesIO()
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(file, format=kind, dpi=DPI, metadata=undated)
    written = {text_colour(name.colour, dark=scene.dark) for name in scene.names[:100]}
    return file.getvalue() if kind != "png" else _reduced(file, {ground, ink, faint, *written})


def _reduced(file: io.BytesIO, colours: set[str]) -> bytes:
    """Return a PNG reduced to 256 colours, some of them given, which makes it a third of the size."""
    from matplotlib.colors import to_rgb

    image = import_extra("PIL.Image", "plots", "drawing a map")
    drawn = image.open(file).convert("RGB")
    others = np.array(drawn.quantize(256 - len(colours)).getpalette(), np.uint8).reshape(-1, 3)
    palette = np.vstack([np.round([[255 * part for part in to_rgb(colour)] for colour in sorted(colours)]), others])
    codes = np.asarray(drawn, np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    present, places = np.unique(codes, return_inverse=True)
    nearest = cKDTree(palette).query(np.stack([present >> 16, present >> 8 & 255, present & 255], axis=1))[1]
    nearest = nearest.astype(np.uint8)[places.ravel()]
    reduced = image.fromarray(nearest.reshape(drawn.size[::-1]))
    reduced.putpalette(palette.astype(np.uint8).ravel().tolist())
    written = io.BytesIO()
    reduced.save(written, "png", optimize=True)
    return written.getvalue()


def placed_names(scene: Scene) -> Placed:
    """Return the positions of all names of a scene, with as much margin around the texts as they need."""
    sizes = _sizes(scene) + 2 * GAP
    low, high = scene.points.min(axis=0), scene.points.max(axis=0)
    cores, weights = [name.core for name in scene.names], np.array([1.0 + name.large for name in scene.names])
    margin = np.array([1.5 * sizes[:, 0].max(initial=0), 6 * sizes[:, 1].max(initial=0)]) + EDGE
    while True:
        canvas = low - margin, high + margin
        placed = place_names(sizes, cores, weights, scene.points, canvas, _radius(scene) + GAP)
        if placed is not None:
            return placed
        margin *= 1.3


def _sizes(scene: Scene) -> Floats:
    """Return the widths and heights of the names as they are drawn, (k, 2)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=DPI)
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    texts = [figure.text(0, 0, name.text, **_style(name.size, name.large)) for name in scene.names]
    return np.array([text.get_window_extent(renderer).size for text in texts]).reshape(-1, 2) * 72 / DPI


def _style(size: float, large: bool) -> dict[str, Any]:
    return {"fontsize": size, "weight": "bold" if large else "normal", "linespacing": 1.1, "parse_math": False}


def _radius(scene: Scene) -> float:
    """Return the radius of a dot, in points: smaller the more there are."""
    return float(np.clip(15 * len(scene.points) ** -0.3, 0.7, 3.5))


def _draw_glow(axes: Any, scene: Scene) -> None:
    """Draw the density of each island softly behind it."""
    from matplotlib.colors import to_rgb

    if not (scene.islands >= 0).any():
        return
    low = scene.points.min(axis=0) - 6 * GLOW
    cells = np.floor((scene.points - low) / GLOW_CELL).astype(np.int64)
    shape = cells.max(axis=0) + int(6 * GLOW / GLOW_CELL)
    total, mixed = np.zeros(shape), np.zeros((*shape, 3))
    for island in np.unique(scene.islands[scene.islands >= 0]):
        inside = scene.islands == island
        counts = np.zeros(shape)
        np.add.at(counts, tuple(cells[inside].T), 1.0)
        density = ndimage.gaussian_filter(counts, GLOW / GLOW_CELL, mode="constant")
        total += density
        mixed += density[..., None] * np.mean([to_rgb(colour) for colour in scene.colours[inside]], axis=0)
    colours = mixed / np.maximum(total, 1e-12)[..., None]
    strong = np.quantile(total[tuple(cells[scene.islands >= 0].T)], 0.5)
    alpha = (0.3 if scene.dark else 0.22) * np.minimum(total / strong, 1) ** 0.7
    image = np.concatenate([np.clip(colours, 0, 1), alpha[..., None]], axis=2).transpose(1, 0, 2)
    end = low + GLOW_CELL * shape
    extent = (low[0], end[0], low[1], end[1])
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(image, extent=extent, origin="lower", interpolation="bicubic", aspect="auto", zorder=0)
    axes.set(xlim=limits[0], ylim=limits[1])


def _draw_texts(axes: Any, scene: Scene) -> None:
    order = np.random.default_rng(0).permutation(len(scene.points))  # so that no topic lies above another
    order = order[np.argsort(scene.islands[order] >= 0, kind="stable")]  # those without a topic below all
    faintest, strongest = 0.2, 0.85 if len(order) > 3000 else 0.95
    alpha = faintest + (strongest - faintest) * scene.strength[order]
    alpha[scene.islands[order] < 0] *= 1 if (scene.islands < 0).all() else 0.7
    area = (2 * _radius(scene)) ** 2
    axes.scatter(
        *scene.points[order].T, s=area, c=scene.colours[order].tolist(), alpha=alpha, linewidths=0,
        rasterized=len(order) > 5000, zorder=1,
    )  # fmt: skip


def _draw_names(axes: Any, scene: Scene, placed: Placed, ground: str) -> None:
    from matplotlib.patheffects import withStroke

    for name, low, high, line in zip(scene.names, *placed, strict=True):
        colour = text_colour(name.colour, dark=scene.dark)
        if np.linalg.norm(line[0] - line[1]) > TIED:
            around = [withStroke(linewidth=2.2, foreground=ground, alpha=0.8)]
            axes.plot(*line.T, color=colour, linewidth=0.7, solid_capstyle="round", path_effects=around, zorder=2)
            axes.plot(*line[1], "o", color=colour, markersize=2.6, markeredgewidth=0.6, mec=ground, zorder=2.5)
        side = np.sign(line[1, 0] - (low[0] + high[0]) / 2) if not low[0] < line[1, 0] < high[0] else 0
        x = {1: high[0] - GAP, -1: low[0] + GAP, 0: (low[0] + high[0]) / 2}[int(side)]
        align = {1: "right", -1: "left", 0: "center"}[int(side)]
        style = {"ha": align, "va": "center", "multialignment": align, "color": colour, "zorder": 3}
        axes.text(x, (low[1] + high[1]) / 2, name.text, **_style(name.size, name.large), **style)

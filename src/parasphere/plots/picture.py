"""The map as a picture, by matplotlib."""

import io
import itertools
from typing import Any

import numpy as np

from ..errors import import_extra
from .scene import Scene, apart, uncovered


def picture(scene: Scene, kind: str) -> bytes:
    """Return a picture as the bytes of a file: png, svg or pdf."""
    mpl = import_extra("matplotlib", "plots", "drawing a map")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    low, high = scene.points.min(axis=0), scene.points.max(axis=0)
    span = float((high - low).max()) or 0.02
    half = np.maximum(high - low, [span * 0.8, span * 0.7]) * 0.53  # the frame has the documents' proportions
    inner = 8.0 * half[1] / half[0]
    width, height = 8.4 + 3.2 * (len(scene.groups) > 6), inner + 1.0
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


def _draw_documents(axes: Any, scene: Scene) -> None:
    n = len(scene.points)
    style = {"s": min(36.0, max(5.0, 4e4 / n)), "linewidths": 0, "rasterized": n > 5000}
    bands = np.minimum(7, (8 * scene.strength).astype(int))  # the most certain on top, whatever their label
    for band, group in itertools.product(range(8), scene.groups):
        rows = group.rows[bands[group.rows] == band]
        if len(rows):
            alpha = 0.12 + 0.73 * scene.strength[rows]
            axes.scatter(*scene.points[rows].T, color=group.colour, marker=group.marker, alpha=alpha, **style)


def _draw_names(axes: Any, scene: Scene, renderer: Any) -> None:
    """Write each label at the middle of its documents, moved aside where names would overlap."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground="white")]
    style: dict[str, Any] = {"ha": "center", "va": "center", "path_effects": halo}
    named = scene.names
    if not named:
        return
    style |= {"fontsize": 10.5, "fontweight": "bold", "zorder": 4, "parse_math": False}
    drawn = [axes.text(0, 0, name.name, color=name.ink, **style) for name in named]
    sizes = np.array([text.get_window_extent(renderer).size for text in drawn]) + 5
    frame, middles = axes.get_window_extent(renderer), axes.transData.transform([name.middle for name in named])
    places = apart(middles, sizes, frame.min, frame.max)
    shown = uncovered(places, sizes)
    for text, seen, *ends in zip(drawn, shown, places, middles, strict=True):
        text.set_visible(bool(seen))
        line = axes.transData.inverted().transform(ends)
        text.set_position(line[0])
        if seen and np.ptp(ends, axis=0).max() > 20:  # so far off that the name needs to be tied to its place
            axes.plot(*line.T, color=text.get_color(), linewidth=0.8, zorder=3.5)


def _draw_keys(figure: Any, scene: Scene) -> None:
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    if scene.ends[0] != scene.ends[1]:
        _draw_certainty(figure, scene)
    if len(scene.groups) > 6:
        handles = [Line2D([], [], color=g.colour, marker=g.marker, linestyle="", markersize=7) for g in scene.groups]
        names = [f"{group.name} ({len(group.rows):,})" for group in scene.groups]
        place = (8.25 / width, 1 - 0.55 / height)
        legend = figure.legend(handles, names, loc="upper left", bbox_to_anchor=place, frameon=False, fontsize=9)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _draw_certainty(figure: Any, scene: Scene) -> None:
    from matplotlib.colors import to_rgb

    width, height = figure.get_size_inches()
    bar = figure.add_axes((1 - 1.55 / width, 1 - 0.36 / height, 0.9 / width, 0.12 / height), xticks=[], yticks=[])
    colour = to_rgb("black" if scene.labelled else scene.groups[0].colour)
    bar.imshow([[(*colour, alpha) for alpha in np.linspace(0.12, 0.85, 64)]], aspect="auto")
    bar.axis("off")
    style = {"transform": bar.transAxes, "va": "center", "fontsize": 8.5}
    bar.text(-0.05, 0.45, f"faint = uncertain: certainty {scene.ends[0]}", ha="right", **style)
    bar.text(1.05, 0.45, scene.ends[1], **style)

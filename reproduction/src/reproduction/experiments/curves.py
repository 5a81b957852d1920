"""Curves in small panels, one panel per corpus, with one key for all."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from parasphere.errors import ParasphereError

INK, FAINT = "#222222", "#e2e2e2"
PANEL = (3.6, 2.7)  # inches
BESIDE = 3  # panels in a row


class Curve(NamedTuple):
    """A curve of a panel.

    Attributes
    ----------
    x, y : sequences of float
        Points of the curve, of equal number.
    colour : str
    dashes : {"-", "--", ":", "-."}, default="-"
    spread : sequence of float, default=None
        Half the height of a band around the curve, per point.
    """

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dashes: Literal["-", "--", ":", "-."] = "-"
    spread: Sequence[float] | None = None


def draw_curves(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    x_label: str,
    y_label: str,
    x_scale: str = "linear",
    y_scale: str = "linear",
) -> bytes:
    """Draw curves, one panel per entry, and return a PNG file (extra ``plots``).

    Parameters
    ----------
    panels : mapping of str to mapping of str to Curve
        By title of the panel and name of the curve. Curves of one name should look the same in all panels: the key
        shows that of the first.
    x_label, y_label : str
    x_scale, y_scale : {"linear", "log"}, default="linear"

    Examples
    --------
    >>> draw_curves({"one": {"rise": Curve([0, 1], [0, 1], "black")}}, x_label="x", y_label="y")[1:4]
    b'PNG'
    """
    for title, curves in panels.items():
        for name, curve in curves.items():
            if len(curve.x) != len(curve.y) or (curve.spread is not None and len(curve.spread) != len(curve.y)):
                raise ParasphereError(
                    f"{title}, {name}: a curve needs as many x as y, not {len(curve.x)} and {len(curve.y)}"
                )
    if not panels:
        raise ParasphereError("there are no panels to draw; give at least one")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(BESIDE, len(panels))
    rows = math.ceil(len(panels) / columns)
    colours: dict[Any, Any] = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    with mpl.rc_context({**colours, "font.size": 9}):
        size = (PANEL[0] * columns, PANEL[1] * rows + 0.5)
        figure = Figure(figsize=size, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        for place, (title, curves) in enumerate(panels.items()):
            axes = figure.add_subplot(rows, columns, place + 1)
            _draw_panel(axes, title, curves, x_scale, y_scale)
            axes.set_xlabel(x_label if place + columns >= len(panels) else "")
            axes.set_ylabel(y_label if place % columns == 0 else "")
        _draw_key(figure, panels)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
        return file.getvalue()


def _draw_panel(axes: Any, title: str, curves: Mapping[str, Curve], x_scale: str, y_scale: str) -> None:
    for curve in curves.values():
        axes.plot(curve.x, curve.y, color=curve.colour, linestyle=curve.dashes, linewidth=1.6)
        if curve.spread is not None:
            ends = [[y + sign * s for y, s in zip(curve.y, curve.spread, strict=True)] for sign in (-1, 1)]
            axes.fill_between(curve.x, *ends, color=curve.colour, alpha=0.15, linewidth=0)
    axes.set(xscale=x_scale, yscale=y_scale)
    if y_scale == "linear":
        axes.set_ylim(bottom=0)
    for axis, scale in ((axes.xaxis, x_scale), (axes.yaxis, y_scale)):
        if scale == "log":
            _number(axis)
    axes.set_title(title, loc="left", fontweight="bold", parse_math=False)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right"]].set_visible(False)


def _number(axis: Any) -> None:
    """Write 1, 2, 5, 10 and so on along a logarithmic axis, instead of powers."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _draw_key(figure: Any, panels: Mapping[str, Mapping[str, Curve]]) -> None:
    from matplotlib.lines import Line2D

    named = {name: curve for curves in reversed(list(panels.values())) for name, curve in curves.items()}
    order = dict.fromkeys(name for curves in panels.values() for name in curves)
    lines = [Line2D([], [], color=named[name].colour, linestyle=named[name].dashes, linewidth=2) for name in order]
    figure.legend(lines, list(order), loc="outside lower center", ncols=min(4, len(order)), frameon=False)

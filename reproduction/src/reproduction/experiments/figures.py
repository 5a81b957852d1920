"""The figures of a report: the paper's Figure 2 with our results beside it, and the colour of each encoder."""

import io
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from . import published
from .published import Cell, Comparison, Condition

FLOOR = 50.0  # where the bars begin if all are above it: what guessing reaches on Subj and MR

# Visible on white and on black, distinct for protan and deutan viewers; the two SPMs share a hue.
_STYLES = {
    "spm": ("#0077aa", "o"), "spm-paper": ("#55bbee", "s"), "cbow": ("#ee9900", "^"), "bow": ("#7a5fd0", "D"),
    "lsi": ("#dd6600", "v"), "lda": ("#8a8a8a", "o"), "pv-dbow": ("#009977", "s"), "pv-dm": ("#cc77aa", "^"),
    "movmf": ("#bb0044", "D"), "sam": ("#99994d", "v"), "fastsent": ("#dd22bb", "o"), "skip-thought": ("#7788ee", "s"),
}  # fmt: skip
_OTHERS = "#5f8f2f #b565d9 #c0504d #4f81bd #a0743c".split()
_INK, _FAINT = "#222222", "#d8d8d8"  # replaced by the colours of the page in an SVG


Panel = dict[int, dict[str, Cell]]  # by dimension and encoder


def styles(encoders: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a marker per encoder; those of the paper always have the same."""
    encoders = list(dict.fromkeys(encoders))
    others = [encoder for encoder in encoders if encoder not in _STYLES]
    free = {e: (_OTHERS[i % len(_OTHERS)], "os^Dv"[(1 + i + i // 5) % 5]) for i, e in enumerate(others)}
    return {encoder: _STYLES.get(encoder) or free[encoder] for encoder in encoders}


def panels(comparison: Comparison) -> dict[str, Panel]:
    """Return the bars by corpus and dimension: for Subj, MR and corpora that were run in more than one dimension.

    Only the first condition is shown. Encoders whose dimension cannot be chosen are left out, as in the paper.
    """
    condition, by_corpus = comparison.conditions[0], {}
    for dataset in comparison.datasets:
        printed = published.FIGURE_2.get(dataset, {})
        free = [
            run
            for run in comparison.runs
            if (run["dataset"], comparison.condition(run)) == (dataset, condition)
            and run["dim"] is not None
            and run["encoder"] not in published.FIXED
            and run.get("by_dim", True)
        ]
        dims, shown = {run["dim"] for run in free}, {run["encoder"] for run in free}.union(printed)
        if len(dims) > 1 or (dims and printed):
            encoders = [encoder for encoder in comparison.encoders if encoder in shown]
            by_corpus[published.title(dataset)] = {
                dim: {encoder: _bars(comparison, condition, encoder, dataset, dim) for encoder in encoders}
                for dim in sorted(dims.union(published.DIMENSIONS if printed else ()))
            }
    return by_corpus


def _bars(comparison: Comparison, condition: Condition, encoder: str, dataset: str, dim: int) -> Cell:
    run = comparison.get(condition, encoder, dataset, dim)
    cell = comparison.beside(run, dim) if run is not None and run["dim"] == dim else Cell(None)
    return cell._replace(paper=None if encoder == "spm-paper" else published.in_figure(encoder, dataset, dim))


def draw_dimensions(panels: Mapping[str, Panel], titles: Mapping[str, str], kind: str = "png") -> bytes:
    """Draw the paper's bars (faint) and ours (full, with 95 % intervals), one panel per corpus.

    Parameters
    ----------
    panels : mapping of str to Panel
        Panels by the name of the corpus; see :func:`panels`.
    titles : mapping of str to str
        The names of the encoders in the key.
    kind : {"png", "svg"}, default="png"
        A PNG file, or an ``<svg>`` element for a page that defines the colours ``--ink`` and ``--line``.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK)
    encoders = dict.fromkeys(encoder for panel in panels.values() for group in panel.values() for encoder in group)
    names = {name: titles[name] if len(titles[name]) <= 32 else titles[name][:31] + "…" for name in encoders}
    beside = 0.75 + 0.075 * max([13, *map(len, names.values())])  # inches for the key
    width, height = 11.0, 3.3 * len(panels)
    with mpl.rc_context(settings | {"svg.hashsalt": "parasphere", "font.size": 9}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the name of a corpus may have any character
        figure = Figure(figsize=(width, height), facecolor="white" if kind == "png" else "none")
        FigureCanvasAgg(figure)
        for place, (name, panel) in enumerate(panels.items()):
            bottom = height - 3.3 * (place + 1) + 0.4
            box = (0.6 / width, bottom / height, (width - 0.6 - beside) / width, 2.6 / height)
            _draw_panel(figure.add_axes(box), name, panel)
        _draw_key(figure, names, (width - beside + 0.1) / width)
        file = io.BytesIO()
        if kind == "png":
            figure.savefig(file, format="png", dpi=150)
            return file.getvalue()
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = file.getvalue().decode("utf-8", "replace")
    return text[text.index("<svg") :].replace(_INK, "var(--ink)").replace(_FAINT, "var(--line)").encode()


def _draw_panel(axes: Any, name: str, panel: Panel) -> None:
    bars = [bar for group in panel.values() for bar in group.values()]
    values = [value for bar in bars for value in (bar.paper, bar.ours, bar.low) if value is not None]
    top = max([bar.high or 0.0 for bar in bars] + values)
    bottom = FLOOR if min(values) > FLOOR else 0.0
    # An encoder takes the same width in every group: two bars, or one if only the paper or only we have a result.
    places, width = {}, 0.0
    for encoder in next(iter(panel.values())):
        both = [group[encoder] for group in panel.values()]
        wide = any(bar.paper is not None for bar in both) + any(bar.ours is not None for bar in both)
        places[encoder] = (width, width + wide)
        width += wide + 0.3
    step = width + 1.3
    colours = styles(places)
    for number, group in enumerate(panel.values()):
        for encoder, bar in group.items():
            style = {"align": "edge", "color": colours[encoder][0], "linewidth": 0}
            begin, end = (number * step + place for place in places[encoder])
            if bar.paper is not None:
                axes.bar(begin, bar.paper - bottom, 0.94, bottom, alpha=0.35, **style)
                _write(axes, begin + 0.47, bar.paper, bar.paper)
            if bar.ours is not None:
                axes.bar(end - 1, bar.ours - bottom, 0.94, bottom, **style)
                ends = [bar.ours if value is None else value for value in (bar.low, bar.high)]
                axes.plot([end - 0.53] * 2, ends, color=_INK, linewidth=1.1)
                _write(axes, end - 0.53, bar.high or bar.ours, bar.ours)
    middle = (step - 1.6) / 2
    axes.set_xticks([group * step + middle for group in range(len(panel))], [f"{dim} dimensions" for dim in panel])
    axes.set_xlim(-0.8, len(panel) * step - 0.8)
    axes.set_ylim(bottom, min(112.0, top + (top - bottom) * 0.16))
    axes.set_ylabel("accuracy, %")
    axes.set_title(name.encode("utf-8", "replace").decode(), loc="left", fontweight="bold", parse_math=False)
    axes.set_facecolor("none")
    axes.grid(axis="y", color=_FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_INK)


def _write(axes: Any, x: float, y: float, value: float) -> None:
    offset = {"xytext": (0, 3), "textcoords": "offset points"}
    axes.annotate(f"{value:.1f}", (x, y), ha="center", va="bottom", rotation=90, fontsize=7.5, color=_INK, **offset)


def _draw_key(figure: Any, names: Mapping[str, str], left: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(color=colour) for colour, _ in styles(names).values()]
    handles += [Patch(color="#777777", alpha=0.35, linewidth=0), Patch(color="#777777"), Line2D([], [], color=_INK)]
    texts = [*names.values(), "faint: the paper", "full: ours", "95 % interval"]
    legend = figure.legend(handles, texts, loc="upper left", bbox_to_anchor=(left, 0.99), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)

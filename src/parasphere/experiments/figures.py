"""The figures of a report: the paper's Figure 2 with our bars beside its own, and what each encoder looks like."""

import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import MissingExtraError
from ..plots.maps import MARKERS
from . import published
from .published import Cell, Comparison, Condition

FLOOR = 50.0  # where the bars begin if all are above it: what guessing reaches on Subj and MR

# Seen on white and on black, and told apart by protan and deutan eyes; SPM's two are of one hue.
_STYLES = {
    "spm": ("#0077aa", "o"), "spm-paper": ("#55bbee", "s"), "cbow": ("#ee9900", "^"), "bow": ("#7a5fd0", "D"),
    "lsi": ("#dd6600", "v"), "lda": ("#8a8a8a", "o"), "pv-dbow": ("#009977", "s"), "pv-dm": ("#cc77aa", "^"),
    "movmf": ("#bb0044", "D"), "sam": ("#99994d", "v"), "fastsent": ("#dd22bb", "o"), "skip-thought": ("#7788ee", "s"),
}  # fmt: skip
_OTHERS = "#5f8f2f #b565d9 #c0504d #4f81bd #a0743c".split()
_INK, _FAINT = "#222222", "#d8d8d8"  # as a part of a page they take the colours of the page


class Bar(NamedTuple):
    """One encoder in one dimension: the paper's accuracy, and ours with its interval, in per cent."""

    encoder: str
    title: str
    paper: float | None
    ours: float | None
    low: float | None
    high: float | None


Panel = dict[int, list[Bar]]


def styles(encoders: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a marker for each encoder; always the same for those of the paper."""
    encoders = list(dict.fromkeys(encoders))
    others = [encoder for encoder in encoders if encoder not in _STYLES]
    found = {e: (_OTHERS[i % len(_OTHERS)], MARKERS[(1 + i + i // 5) % 5]) for i, e in enumerate(others)}
    return {encoder: _STYLES.get(encoder) or found[encoder] for encoder in encoders}


def panels(comparison: Comparison) -> dict[str, Panel]:
    """Return the bars by corpus and dimension: of Subj and MR, and of what was run in more than one dimension.

    The first condition is shown; encoders whose dimension cannot be chosen are left out, as in the paper.
    """
    condition, found = comparison.conditions[0], {}
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
            found[published.DATASETS.get(dataset, dataset)] = {
                dim: [_bar(comparison, condition, encoder, dataset, dim) for encoder in encoders]
                for dim in sorted(dims.union(published.DIMENSIONS if printed else ()))
            }
    return found


def _bar(comparison: Comparison, condition: Condition, encoder: str, dataset: str, dim: int) -> Bar:
    run = comparison.get(condition, encoder, dataset, dim)
    same = run is not None and run["dim"] == dim
    cell = comparison.cell(condition, encoder, dataset, dim) if same else Cell(None)
    paper = None if encoder == "spm-paper" else published.in_figure(encoder, dataset, dim)
    return Bar(encoder, comparison.titles[encoder], paper, cell.ours, cell.low, cell.high)


def draw_dimensions(panels: Mapping[str, Panel], kind: str = "png") -> bytes:
    """Draw the paper's bars (faint) and ours (full, with 95 % intervals), a panel a corpus, a group a dimension.

    Parameters
    ----------
    panels : mapping
        From the corpus's name; see :func:`panels`.
    kind : "png" or "svg"
        A file of its own, or an ``<svg>`` for a page, whose colours ``--ink`` and ``--line`` it takes.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "drawing the report's figure") from error
    settings: dict[Any, Any] = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK)
    bars = [bar for panel in panels.values() for found in panel.values() for bar in found]
    names = {bar.encoder: bar.title if len(bar.title) <= 32 else bar.title[:31] + "…" for bar in bars}
    beside = 0.75 + 0.075 * max([13, *map(len, names.values())])  # inches for the key
    width, height = 11.0, 3.3 * len(panels)
    with mpl.rc_context(settings | {"svg.hashsalt": "parasphere", "font.size": 9}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a corpus may be called anything
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


def draw_differences(study: Mapping[str, Any]) -> bytes:
    """Draw what each change of a study does to the accuracy, in points, as a PNG: a panel a corpus, a bar a change."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "drawing the figure of the study") from error
    first, *rest = study["rows"]
    names = study["datasets"]
    figure = Figure(figsize=(5.0 + 2.3 * len(names), 1.1 + 0.27 * len(rest)), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    places = list(range(len(rest)))[::-1]
    for axes, name in zip(panels, names, strict=True):
        usual = first["cells"][name]["accuracy"]
        for place, row in zip(places, rest, strict=True):
            if (cell := row["cells"].get(name)) is None:
                continue
            points = 100 * (cell["accuracy"] - usual)
            sure = cell["p"] is not None and cell["p"] < published.LEVEL
            axes.barh(place, points, 0.7, color="#0077aa" if points >= 0 else "#cc5500", alpha=1.0 if sure else 0.35)
            outside = {"xytext": (3 if points >= 0 else -3, 0), "textcoords": "offset points"}
            side = "left" if points >= 0 else "right"
            told = f"{points:+.1f}".replace("-", "−")
            axes.annotate(told, (points, place), ha=side, va="center", fontsize=7.5, color=_INK, **outside)
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, -1.0) * 1.35, max(high, 1.0) * 1.35)
        axes.set_title(f"{published.DATASETS.get(name, name)}: {100 * usual:.1f}", fontsize=9.5, fontweight="bold")
        axes.axvline(0, color=_INK, linewidth=0.8)
        axes.grid(axis="x", color=_FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, labelsize=8)
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    panels[0].set_yticks(places, [f"{row['about']}: {row['name']}" for row in rest])
    figure.supxlabel("points of accuracy gained or lost; full colour: p < 0.05", fontsize=8.5)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


def _draw_panel(axes: Any, name: str, panel: Panel) -> None:
    bars = [bar for found in panel.values() for bar in found]
    values = [value for bar in bars for value in (bar.paper, bar.ours, bar.low) if value is not None]
    top = max([bar.high or 0.0 for bar in bars] + values)
    bottom = FLOOR if min(values) > FLOOR else 0.0
    # An encoder's place is as wide in every group; one that has but the paper's bar, or but ours, takes half of it.
    places = _places(list(panel.values()))
    step = max(right for _, right in places.values()) + 1.6
    colours = styles(bar.encoder for bar in bars)
    for group, found in enumerate(panel.values()):
        for bar in found:
            colour, start = colours[bar.encoder][0], group * step + places[bar.encoder][0]
            if bar.paper is not None:
                axes.bar(start, bar.paper - bottom, 0.94, bottom, align="edge", color=colour, alpha=0.35, linewidth=0)
                _write(axes, start + 0.47, bar.paper, bar.paper)
            if bar.ours is not None:
                start = group * step + places[bar.encoder][1] - 1
                axes.bar(start, bar.ours - bottom, 0.94, bottom, align="edge", color=colour, linewidth=0)
                ends = [bar.low, bar.high]
                axes.plot([start + 0.47] * 2, [bar.ours if e is None else e for e in ends], color=_INK, linewidth=1.1)
                _write(axes, start + 0.47, bar.high or bar.ours, bar.ours)
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


def _places(groups: Sequence[Sequence[Bar]]) -> dict[str, tuple[float, float]]:
    """Return where each encoder's bars begin and end within a group."""
    places, at = {}, 0.0
    for bars in zip(*groups, strict=True):
        wide = any(bar.paper is not None for bar in bars) + any(bar.ours is not None for bar in bars)
        places[bars[0].encoder] = (at, at + wide)
        at += wide + 0.3
    return places


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

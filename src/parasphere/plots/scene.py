"""What a map shows: groups of documents, their colours and names, and where names go."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import push_apart
from ..printable import visible

Floats = NDArray[np.float64]

MARKERS = "os^Dv"
NO_LABEL = "(none)"
MOST_NAMES = 40  # that are written on a map
# Six colours of Okabe and Ito, then colours far from those before them to normal, protan and deutan eyes (simulated;
# two then darkened by hand, to be seen on white), in an order that keeps colours alike from having one shape.
COLOURS = (
    "#0077aa #ee9900 #009977 #cc77aa #dd6600 #55bbee #443300 #0000bb #bb0044 #99994d "
    "#225533 #5555ff #885577 #7788ee #dd22bb #884400 #ee8899 #ff2266 #444499 #443355"
).split()


class Group(NamedTuple):
    """The documents of one label, and how they look."""

    name: str
    colour: str
    marker: str
    rows: NDArray[np.int64]
    ink: str  # the colour, dark enough to write in


class Name(NamedTuple):
    """A name that is written on the map, the largest group's first."""

    name: str
    ink: str
    middle: Floats
    size: int


class Scene(NamedTuple):
    """What a map shows; ``strength`` is 0 at the first certainty of ``ends`` and 1 at the last."""

    title: str
    caption: str
    points: Floats
    certainty: Floats
    strength: Floats
    ends: tuple[str, str]
    groups: list[Group]
    names: list[Name]
    labelled: bool


def make_scene(
    points: Floats,
    certainty: Floats,
    labels: Sequence[str] | None,
    topics: Sequence[str] | None,
    *,
    title: str | None,
    caption: str,
) -> Scene:
    """Return the scene of documents at some points: labels (or else topics) by colour, topics (or else labels) by name.

    A topic that is empty has no name.
    """
    low, high = np.quantile(certainty, [0.02, 0.98])
    wide = high - low > 1e-4  # or else all are as certain
    digits = max(2, 1 - math.floor(math.log10(high - low))) if wide else 3
    coloured, named = (labels if labels is not None else topics), (topics if topics is not None else labels)
    groups = _groups([""] * len(points) if coloured is None else coloured)
    inks = {group.name: group.ink for group in groups} if coloured is named else {}
    return Scene(
        visible(title or ""),
        caption,
        points,
        certainty,
        np.clip((certainty - low) / (high - low), 0, 1) if wide else np.ones(len(certainty)),
        (f"{low:.{digits}f}", f"{high:.{digits}f}"),
        groups,
        [] if named is None else _names(named, points, inks, blank=topics is not None),
        coloured is not None,
    )


def _names(named: Sequence[str], points: Floats, inks: dict[str, str], *, blank: bool) -> list[Name]:
    """Return the most frequent names, each at the middle of its documents, in the ink of its group if it has one."""
    names = _shown(named)
    counts = Counter(names)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))
    if inks:
        frequent = [name for name in frequent if _short(name) in inks]
    found = []
    for name in frequent[:MOST_NAMES]:
        if not (blank and name == NO_LABEL):
            rows = np.flatnonzero(names == name)
            found.append(Name(_short(name), inks.get(_short(name), "#222222"), median(points[rows]), len(rows)))
    return found


def _shown(labels: Sequence[str]) -> NDArray[np.object_]:
    return np.array([visible(" ".join(str(label).split())) or NO_LABEL for label in labels], object)


def _short(name: str) -> str:
    return name if len(name) <= 32 else name[:31] + "…"


def _groups(labels: Sequence[str]) -> list[Group]:
    """Give each label a colour, and a shape if there are many; the rarest share one if there are too many."""
    names = _shown(labels)
    counts = Counter(name for name in names if name != NO_LABEL)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))
    own, rest = sorted(frequent[: len(COLOURS)]), frequent[len(COLOURS) :]
    groups = []
    for i, name in enumerate(own):
        rows = np.flatnonzero(names == name)
        marker = MARKERS[i % len(MARKERS)] if len(own) > 10 else "o"
        ink = "#" + "".join(f"{int(COLOURS[i][at : at + 2], 16) * 13 // 20:02x}" for at in (1, 3, 5))
        groups.append(Group(_short(name), COLOURS[i], marker, rows, ink))
    if rest:
        rows = np.flatnonzero(np.isin(names, rest))
        groups.append(Group(f"{len(rest):,} rarer labels", "#8a8a8a", "o", rows, "#8a8a8a"))
    if len(rows := np.flatnonzero(names == NO_LABEL)):
        groups.append(Group(NO_LABEL, "#bbbbbb", "o", rows, "#8a8a8a"))
    return groups


def median(points: Floats, weights: Floats | None = None) -> Floats:
    """Return the geometric median of points (n, 2), by Weiszfeld's iteration: stragglers do not move it."""
    middle = np.asarray(np.median(points, axis=0) if weights is None else weights @ points / weights.sum())
    for _ in range(50):
        near = 1 / np.maximum(np.linalg.norm(points - middle, axis=1), 1e-9)
        near = near if weights is None else near * weights
        middle = near @ points / near.sum()
    return middle


def apart(centres: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:
    """Push boxes (k, 2) apart, each pair by the shorter way out, until none overlaps or 300 rounds are over."""
    sizes = np.ascontiguousarray(sizes, np.float64)
    for _ in range(300):
        centres = np.ascontiguousarray(np.clip(centres, low + sizes / 2, high - sizes / 2), np.float64)
        if not push_apart(centres, sizes):
            break
    return centres


def uncovered(centres: Floats, sizes: Floats) -> NDArray[np.bool_]:
    """Return which boxes (k, 2) to show so that none covers another, (k,); earlier ones have precedence."""
    shown = np.zeros(len(centres), bool)
    for i in range(len(centres)):
        overlap = (sizes[i] + sizes[shown]) / 2 - np.abs(centres[i] - centres[shown])
        shown[i] = not (overlap.min(axis=1) > 0).any() if shown.any() else True
    return shown

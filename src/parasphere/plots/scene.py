"""The contents of a map: texts as dots in the colours of their topics, and the names of their islands."""

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ..printable import visible
from .colours import topic_colours

Floats = NDArray[np.float64]
Strings = NDArray[np.object_]

MAP = (500.0, 440.0)  # largest extent of the texts, in points of 1/72 inch
LARGE, FINE = 12.5, 8.5  # font sizes
WRAP = {LARGE: 21, FINE: 25}  # characters in a line of a name
LONGEST = 4  # lines of a name
CELL = 4.0  # of the grid on which densities are estimated
NEAR, FAR = 7.0, 14.0  # standard deviations of the kernels for fine and for large topics
MIDDLE, LAND, COAST = 0.4, 0.3, 0.12  # share of the highest density in the middle of an island, inside, and anywhere
FEWEST, PART, PURE = 8, 0.004, 0.6  # least texts of a further island; least share of all texts, and of the texts there
DENSE = 0.3  # share of the highest density of its topic that a further island must reach
ENDS = 200  # most points in which the line of a name may end


class Name(NamedTuple):
    """A name to be written beside its island.

    Attributes
    ----------
    text : str
        The name, wrapped.
    colour : str
        The colour of its island.
    size : float
        Font size.
    large : bool
        Whether it is a large topic with finer ones inside.
    core : (m, 2) float64
        Texts where its island is densest.
    """

    text: str
    colour: str
    size: float
    large: bool
    core: Floats


class Scene(NamedTuple):
    """The contents of a map.

    Attributes
    ----------
    points : (n, 2) float64
        Positions of the texts, in points of 1/72 inch.
    colours : (n,) str
    strength : (n,) float64
        Opacity, from 0 (faintest) to 1.
    islands : (n,) int64
        Large topic of each text, -1 for none.
    names : list of Name
        Large ones first.
    title, caption : str
    dark : bool
    """

    points: Floats
    colours: Strings
    strength: Floats
    islands: NDArray[np.int64]
    names: list[Name]
    title: str
    caption: str
    dark: bool


def make_scene(
    points: Floats,
    topics: Sequence[str] | None,
    large: Sequence[str] | None = None,
    certainty: Floats | None = None,
    *,
    title: str | None = None,
    dark: bool = False,
) -> Scene:
    """Return the scene of texts at some points, (n, 2), with the names of their topics and large topics."""
    places = _scaled(points)
    fine = _cleaned(topics, len(places))
    groups = fine if large is None else np.where(fine == "", "", _cleaned(large, len(places)))
    groups = np.where(groups == "", fine, groups)
    topic_names, group_names = _frequent(fine), _frequent(groups)
    parents = {name: _frequent(groups[fine == name])[0] for name in topic_names}
    found = [group_names.index(parents[name]) for name in topic_names]
    palette = dict(zip(topic_names, topic_colours(np.array(found, np.int64), dark=dark), strict=True))
    grey, plain = topic_colours([-1, 0], dark=dark)
    palette[""] = plain if topics is None else grey
    strength, ends = _faded(certainty, len(places))
    caption = "Near texts are similar; distances between islands mean little."
    if ends is not None:
        caption += f" Faint dots are less certain: from {ends[0]} to {ends[1]}."
    return Scene(
        places,
        np.array([palette[name] for name in fine], object),
        strength,
        np.array([group_names.index(parents[name]) if name else -1 for name in fine], np.int64),
        _names(places, fine, groups, parents, palette, topic_colours(np.arange(len(group_names)), dark=dark)),
        visible(title or ""),
        caption,
        dark,
    )


def _scaled(points: Floats) -> Floats:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - (low + high) / 2) / max(float(((high - low) / MAP).max()), 1e-9))


def _cleaned(names: Sequence[str] | None, n: int) -> Strings:
    return np.array([visible(" ".join(str(name).split())) for name in names or [""] * n], object)


def _frequent(names: Strings) -> list[str]:
    """Return the names that are not empty, the most frequent first."""
    counts = Counter(name for name in names if name)
    return sorted(counts, key=lambda name: (-counts[name], name))


def _faded(certainty: Floats | None, n: int) -> tuple[Floats, tuple[str, str] | None]:
    """Return certainties from 0 to 1, and the ends of their range as text if they differ."""
    if certainty is None:
        return np.ones(n), None
    low, high = np.quantile(certainty, [0.02, 0.98])
    if high - low <= 1e-4:
        return np.ones(n), None
    digits = max(2, 1 - math.floor(math.log10(high - low)))
    return np.clip((certainty - low) / (high - low), 0, 1), (f"{low:.{digits}f}", f"{high:.{digits}f}")


def _names(
    places: Floats, fine: Strings, groups: Strings, parents: dict[str, str], palette: dict[str, str], hues: list[str]
) -> list[Name]:
    """Return the names of large topics with more than one topic inside, and those of all topics."""
    children = Counter(parents.values())
    levels = max(children.values(), default=0) > 1
    named = []
    for hue, group in zip(hues, _frequent(groups), strict=True):
        if children[group] > 1:
            core = _islands(places, fine == group if parents.get(group) == group else groups == group, FAR, LAND)[0]
            named.append(Name(wrapped(group, WRAP[LARGE]), hue, LARGE, True, core))
    for name, parent in parents.items():
        alone = levels and children[parent] == 1  # a large topic itself, not a part of one
        size = LARGE if alone else FINE if levels or len(parents) > 25 else 10.0
        first = 1 if name == parent and not alone and levels else 0  # its main island has the large name
        islands = _islands(places, fine == name, NEAR, MIDDLE)[: 1 if len(parents) == 1 else None]
        for i, core in enumerate(islands[first:], first):
            text = wrapped(name, WRAP[LARGE if alone and i == 0 else FINE])
            named.append(Name(text, palette[name], size if i == 0 else FINE, alone and i == 0, core))
    return sorted(named, key=lambda name: -name.size)


def wrapped(name: str, width: int) -> str:
    r"""Return a name in lines, broken between its phrases where that is possible.

    Examples
    --------
    >>> wrapped("Fourier transform · inverse FFT", 25)
    'Fourier transform\ninverse FFT'
    """
    lines: list[str] = []
    for phrase in name.split(" · "):
        if lines and len(lines[-1]) + len(phrase) + 3 <= width:
            lines[-1] += f" · {phrase}"
        else:
            lines += textwrap.wrap(phrase, width)
    if len(lines) > LONGEST:
        lines = [*lines[: LONGEST - 1], lines[LONGEST - 1][: width - 1] + "…"]
    return "\n".join(lines)


def _islands(places: Floats, topic: NDArray[np.bool_], spread: float, share: float) -> list[Floats]:
    """Return the densest texts of each island of a topic: the one with most of its texts, and further visible ones."""
    own = places[topic]
    low = own.min(axis=0) - 3 * spread
    shape = np.floor((own.max(axis=0) + 3 * spread - low) / CELL).astype(np.int64) + 1
    cells = np.floor((places - low) / CELL).astype(np.int64)
    near = ((cells >= 0) & (cells < shape)).all(axis=1)
    at = tuple(cells[topic].T)
    counts = np.zeros(shape)
    np.add.at(counts, at, 1.0)
    density = ndimage.gaussian_filter(counts, spread / CELL, mode="constant")
    regions, n_regions = ndimage.label(density >= COAST * density[at].max())
    sizes = np.bincount(regions[at], minlength=n_regions + 1)[1:]
    present = np.bincount(regions[tuple(cells[near].T)], minlength=n_regions + 1)[1:]
    cores = []
    for number, region in enumerate(np.argsort(-sizes, kind="stable")):
        if number and sizes[region] < max(FEWEST, PART * len(places), PURE * present[region]):
            continue
        inside = regions[at] == region + 1
        highest = density[at][inside].max()
        if number == 0 or highest >= DENSE * density[at].max():
            dense = own[inside & (density[at] >= share * highest)]
            cores.append(np.asarray(dense[:: math.ceil(len(dense) / ENDS)]))
    return cores

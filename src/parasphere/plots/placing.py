"""Placement of names: boxes on free ground beside their islands, connected to them by lines.

All lengths are in points of 1/72 inch. A name may be wherever its box covers neither a text nor another name. Of such
places near its island it takes the one with the least cost: the length of its line, and more where the line crosses
texts of other islands, other lines or names. Names are placed one after the other, and then moved one by one until none
moves; this is done in several orders, and the one with the lowest cost is kept. Names of high cost then take the place
that they would have alone, if moving the others lowers the total cost.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Floats = NDArray[np.float64]

CELL = 3.0  # of the grid on which free ground is found
TRIED = 100  # nearest places that are tried per name, and as many on a coarser grid that reaches further
SPACING = 5  # of that grid, in cells
STEPS = 24  # points of a line that are tested
ORDERS = 3
SHORT, LONG = 2, 20  # most rounds of moving names, for each order and for the best
WORST = 10  # names of the highest cost, for which others are moved
OVER_TEXTS = 1.5  # cost of a line over other texts, times its length there
CROSSING = 120.0  # cost of two lines that cross, in points of length
OVER_NAME = 500.0  # cost of a line that touches a name


class Placed(NamedTuple):
    """Boxes of names and their lines.

    Attributes
    ----------
    low, high : (k, 2) float64
        Corners of the boxes.
    lines : (k, 2, 2) float64
        Ends of the lines: at the box, and in the island.
    """

    low: Floats
    high: Floats
    lines: Floats


def place_names(
    sizes: Floats,
    cores: Sequence[Floats],
    weights: Floats,
    points: Floats,
    canvas: tuple[Floats, Floats],
    clear: float,
) -> Placed | None:
    """Return places of names on a canvas so that none covers a text or another name; None if there is no room.

    Parameters
    ----------
    sizes : (k, 2) float64
        Widths and heights of the names.
    cores : k arrays (m, 2)
        Points in which the line of each name may end.
    weights : (k,) float64
        Weights of the costs of the names.
    points : (n, 2) float64
        Places of the texts.
    canvas : two (2,) float64
        The lower and the upper corner.
    clear : float
        Least distance between the middle of a text and a name.
    """
    low, high = canvas
    shape = np.ceil((high - low) / CELL).astype(np.int64)
    texts = np.zeros(shape, bool)
    texts[tuple(np.floor((points - low) / CELL).astype(np.int64).T)] = True
    texts = ndimage.distance_transform_edt(~texts) * CELL < clear + CELL
    names = [_Candidates(size, core, texts, low) for size, core in zip(sizes, cores, strict=True)]
    rng = np.random.default_rng(0)
    orders = [list(range(len(names))), *(rng.permutation(len(names)).tolist() for _ in range(ORDERS - 1))]
    nowhere = np.full((len(names), 2, 2), np.nan)
    tries = [_rearranged(names, order, nowhere, nowhere, SHORT) for order in orders]
    best = int(np.argmin([weights @ costs for _, _, costs in tries]))
    boxes, lines, costs = tries[best]
    if not np.isfinite(costs).all():
        return None
    boxes, lines, costs = _rearranged(names, orders[best], boxes, lines, LONG)
    for i in np.argsort(-weights * costs, kind="stable")[:WORST].tolist():
        tried = _with_precedence(names, i, boxes, lines)
        if weights @ tried[2] < weights @ costs - 1e-6:
            boxes, lines, costs = tried
    return Placed(boxes[:, 0], boxes[:, 1], lines)


def _with_precedence(
    names: "list[_Candidates]", first: int, boxes: Floats, lines: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return boxes, lines and costs after one name took the place that it would have alone, and others were moved."""
    boxes, lines = boxes.copy(), lines.copy()
    box, line, _ = names[first].best(boxes[:0], lines[:0])
    others = [i for i in range(len(names)) if i != first]
    away = (np.maximum(boxes[:, 0] - box[1], box[0] - boxes[:, 1]).max(axis=1) < 0) | _touch(line[None], boxes)[0]
    away |= _touch(lines, box[None])[:, 0] | _cross(line[None], lines)[0]
    boxes[away] = lines[away] = np.nan
    boxes[first], lines[first] = box, line
    return _rearranged(names, [*(i for i in others if away[i]), *others, first], boxes, lines, SHORT)


def _rearranged(
    names: "list[_Candidates]", order: list[int], boxes: Floats, lines: Floats, rounds: int
) -> tuple[Floats, Floats, Floats]:
    """Return boxes, lines and costs of the names after each was moved to its best place, until none moves."""
    boxes, lines, costs = boxes.copy(), lines.copy(), np.zeros(len(names))
    for _ in range(rounds):
        before = boxes.copy()
        for i in order:
            boxes[i] = lines[i] = np.nan
            boxes[i], lines[i], costs[i] = names[i].best(boxes, lines)
        if (boxes == before).all() or not np.isfinite(costs).all():
            break
    return boxes, lines, costs


class _Candidates:
    """The places that one name can have, nearest first."""

    def __init__(self, size: Floats, core: Floats, texts: NDArray[np.bool_], low: Floats) -> None:
        self.core, self.low, self.size = core, low, size
        self.cells = np.ceil(size / CELL).astype(np.int64)
        inside = np.ones_like(texts)
        inside[tuple(np.floor((core - low) / CELL).astype(np.int64).T)] = False
        away = ndimage.distance_transform_edt(inside) * CELL
        self.foreign = texts & (away > 4 * CELL)
        w, h = self.cells
        self.shape = tuple(texts.shape - self.cells + 1)
        nearest = ndimage.minimum_filter(away, size=(w, h), mode="nearest")[w // 2 :, h // 2 :]
        distance = nearest[: self.shape[0], : self.shape[1]] + 0.1 * away[: self.shape[0], : self.shape[1]]
        sums = np.pad(texts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        x, y = np.nonzero(sums[w:, h:] - sums[:-w, h:] - sums[w:, :-h] + sums[:-w, :-h] == 0)  # free of texts
        order = np.argsort(distance[x, y], kind="stable")
        self.x, self.y = x[order], y[order]
        self.distance = distance[self.x, self.y]
        self.sparse = (self.x % SPACING == 0) & (self.y % SPACING == 0)
        self.lines = np.empty((len(order), 2, 2))  # of each place
        self.costs = np.full(len(order), np.nan)  # without other names; NaN until computed

    def best(self, boxes: Floats, lines: Floats) -> tuple[Floats, Floats, float]:
        """Return the box, the line and the cost of the best place, given the boxes and lines of the other names."""
        others = np.isfinite(boxes[:, 0, 0])
        boxes, lines = boxes[others], lines[others]
        free = self._free(boxes)
        tried = np.concatenate([np.flatnonzero(free)[:TRIED], np.flatnonzero(free & self.sparse)[:TRIED]])
        if not len(tried):
            return np.full((2, 2), np.nan), np.full((2, 2), np.nan), np.inf
        new = tried[np.isnan(self.costs[tried])]
        if len(new):
            self.lines[new] = self._lines(self._boxes(new))
            self.costs[new] = self.distance[new] + self._over_texts(self.lines[new])
        mine, tied, cost = self._boxes(tried), self.lines[tried], self.costs[tried]
        if len(boxes):
            touching = _touch(tied, boxes).sum(axis=1) + _touch(lines, mine).sum(axis=0)
            cost = cost + OVER_NAME * touching + CROSSING * _cross(tied, lines).sum(axis=1)
        chosen = int(cost.argmin())
        return mine[chosen], tied[chosen], float(cost[chosen])

    def _boxes(self, places: NDArray[np.int64]) -> Floats:
        """Return the boxes of some places, (c, 2, 2)."""
        corners = self.low + CELL * np.column_stack([self.x[places], self.y[places]])
        return np.stack([corners, corners + self.size], axis=1)

    def _free(self, boxes: Floats) -> NDArray[np.bool_]:
        """Return which places are free of boxes."""
        free = np.ones(self.shape, bool)
        begin = np.floor((boxes[:, 0] - self.low) / CELL).astype(np.int64) - self.cells + 1
        end = np.ceil((boxes[:, 1] - self.low) / CELL).astype(np.int64)
        for (left, bottom), (right, top) in zip(np.maximum(begin, 0).tolist(), end.tolist(), strict=True):
            free[left:right, bottom:top] = False
        return np.asarray(free[self.x, self.y])

    def _lines(self, boxes: Floats) -> Floats:
        """Return the line of each box: from its border to the nearest point of the core, a little inwards."""
        nearest = np.clip(self.core, boxes[:, None, 0], boxes[:, None, 1])  # (c, m, 2)
        end = np.linalg.norm(nearest - self.core, axis=2).argmin(axis=1)
        inwards = self.core[end] + 0.3 * (self.core.mean(axis=0) - self.core[end])
        inwards = self.core[np.linalg.norm(self.core - inwards[:, None], axis=2).argmin(axis=1)]
        return np.stack([np.clip(inwards, boxes[:, 0], boxes[:, 1]), inwards], axis=1)

    def _over_texts(self, lines: Floats) -> Floats:
        """Return the cost of the texts of other islands that lines run over, (c,)."""
        x, y = np.moveaxis(np.floor((_along(lines) - self.low) / CELL).astype(np.int64), 2, 0)
        length = np.linalg.norm(lines[:, 0] - lines[:, 1], axis=1)
        return np.asarray(OVER_TEXTS * length * self.foreign[x, y].mean(axis=1))


def _along(lines: Floats) -> Floats:
    """Return points along lines, (k, 2, 2) -> (k, STEPS, 2)."""
    part = np.linspace(0, 1, STEPS)[:, None]
    return np.asarray(lines[:, None, 0] * (1 - part) + lines[:, None, 1] * part)


def _touch(lines: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Return which lines, (k, 2, 2), touch which boxes, (m, 2, 2): (k, m)."""
    start, way = lines[:, None, 0], lines[:, None, 1] - lines[:, None, 0]
    way = np.where(way == 0, 1e-9, way)
    one, other = (boxes[:, 0] - start) / way, (boxes[:, 1] - start) / way  # (k, m, 2), where each side is crossed
    enter, leave = np.minimum(one, other), np.maximum(one, other)
    first = np.maximum(np.maximum(enter[..., 0], enter[..., 1]), 0)
    last = np.minimum(np.minimum(leave[..., 0], leave[..., 1]), 1)
    return np.asarray(first < last - 1e-9)


def _cross(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Return which lines, (k, 2, 2), cross which others, (m, 2, 2): (k, m)."""
    a, b, c, d = one[:, None, 0], one[:, None, 1], other[None, :, 0], other[None, :, 1]
    return np.asarray((_side(a, b, c) != _side(a, b, d)) & (_side(c, d, a) != _side(c, d, b)))


def _side(a: Floats, b: Floats, c: Floats) -> NDArray[np.bool_]:
    """Return whether c lies to the left of the line from a to b."""
    one, other = b - a, c - a
    return np.asarray(one[..., 0] * other[..., 1] > one[..., 1] * other[..., 0])

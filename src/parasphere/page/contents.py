"""What a page shows: the map of the documents, their topics, colours and columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..plots import neighbour_map, topic_colours
from ..plots.colours import text_colour
from ..printable import visible
from ..search import Column
from ..topics import SphericalTopics
from .documents import Documents
from .packing import Arrays, string_arrays

SHOWN_TOPICS, LEAST_SHARE = 4, 0.03  # most topics of a text that are shown, and least share of each
VALUES = 100  # of a column of texts that can be selected; rarer ones are selected together
COLOURED = 12  # values that have a colour of their own
SAMPLE = 2000  # most points from which the middle of a group is computed
SCALES = {"points": 2**15 - 1, "certainty": 2**16 - 1, "shares": 2**8 - 1}  # of the integers in which they are stored
DAY = 86_400e6  # microseconds


def map_parts(
    documents: Documents, topics: SphericalTopics, certainty: NDArray[np.float64], links: Sequence[str] | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Return the facts and arrays that a page needs to start.

    Parameters
    ----------
    documents : Documents
    topics : SphericalTopics
        The topics of these documents.
    certainty : (n_docs,) array
        :attr:`Posterior.mean_length`: certainty of the direction of each document, 0 to 1.
    links : sequence of str, default=None
        A link per document.
    """
    rows = topics.vectors(documents.texts)
    points = neighbour_map(rows)
    points /= max(float(np.abs(points).max()), 1e-12)  # the longer side is from -1 to 1
    shares = topics.transform(documents.texts)
    shares[~rows.any(axis=1)] = 0  # of texts without known words
    likely = np.argsort(-shares, axis=1, kind="stable")[:, :SHOWN_TOPICS]
    best = np.take_along_axis(shares, likely, axis=1)
    arrays: Arrays = {
        "points": np.rint(points * SCALES["points"]).astype(np.int16),
        "topic": topics.labels_.astype(np.int32),
        "certainty": np.rint(certainty * SCALES["certainty"]).astype(np.uint16),
        "likely": likely.astype(np.uint16),
        "shares": np.rint(np.where(best < LEAST_SHARE, 0, best) * SCALES["shares"]).astype(np.uint8),
        **string_arrays("ids", documents.ids),
        **({} if links is None else string_arrays("links", links)),
    }
    columns = []
    for i, column in enumerate(documents.columns):
        described, arrays[f"column{i}"] = _column(column)
        columns.append(described)
    large = topics.groups(topics.levels_[0])
    *coarser, finest = [_level(topics, n_topics, large, points) for n_topics in topics.levels_]
    facts = {
        "n": len(documents),
        "topics": finest["topics"],
        "levels": coarser,
        "none": _colours([-1])[0],
        "columns": columns,
        "certainty_range": np.quantile(certainty, [0.02, 0.98]).tolist(),
        "scales": SCALES,
        "shown_topics": likely.shape[1],
        "least_share": LEAST_SHARE,
        "most_values": VALUES,
    }
    return facts, arrays


def _level(
    topics: SphericalTopics, n_topics: int, large: NDArray[np.int64], points: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the topics of a level, each in a shade of its large topic, and which of them each finest topic is in."""
    finest = n_topics == len(large)
    groups = np.arange(n_topics) if finest else topics.groups(n_topics)
    names = topics.names_ if finest else topics.at(n_topics).names_
    parents = np.empty(n_topics, np.int64)
    parents[groups] = large
    labels = np.where(topics.labels_ < 0, -1, groups[topics.labels_])
    described = [
        {
            "name": visible(name),
            "size": int((labels == topic).sum()),
            "place": _middle(points[labels == topic]),
            "colour": colour,
        }
        for topic, (name, colour) in enumerate(zip(names, _colours(parents), strict=True))
    ]
    return {"topics": described, "groups": groups.tolist()}


def _middle(points: NDArray[np.float64]) -> Any:
    """Return the geometric median of a group, where its name is, by Weiszfeld's iteration; None if it has no points."""
    if not len(points):
        return None
    some = points[:: max(1, len(points) // SAMPLE)]
    middle = np.median(some, axis=0)
    for _ in range(50):
        near = 1 / np.maximum(np.linalg.norm(some - middle, axis=1), 1e-9)
        middle = near @ some / near.sum()
    return middle.tolist()


def _colours(large: ArrayLike) -> list[dict[str, str]]:
    """Return the colours of topics on light and dark backgrounds, and those of their names."""
    light, dark = topic_colours(large), topic_colours(large, dark=True)
    return [
        {"light": one, "dark": other, "light_text": text_colour(one), "dark_text": text_colour(other, dark=True)}
        for one, other in zip(light, dark, strict=True)
    ]


def _column(column: Column) -> tuple[dict[str, Any], NDArray[Any]]:
    """Return a column and its values: rows of its texts, the most frequent first (-1: none), numbers, or days."""
    facts: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.kind != "text":
        numbers = column.values / DAY if column.kind == "date" else column.values
        there = numbers[~column.missing()]
        ends = np.quantile(there, [0.01, 0.99], method="nearest").tolist()
        return facts | {"range": ends}, np.where(column.missing(), np.nan, numbers)
    sizes = np.bincount(column.values[column.values >= 0], minlength=len(column.categories))
    order = np.argsort(-sizes, kind="stable")
    names, sizes = [column.categories[code] for code in order.tolist()], sizes[order]
    colours = _colours(range(min(len(names), COLOURED)))
    shown = [visible(name) for name in names[:VALUES]]
    if len(names) > VALUES:
        shown.append(f"{len(names) - VALUES:,} rarer ones")
        sizes[VALUES] = sizes[VALUES:].sum()
    choices = [
        {"name": name, "size": int(size), "colour": colours[i] if i < COLOURED else None}
        for i, (name, size) in enumerate(zip(shown, sizes, strict=False))
    ]
    codes = np.append(np.argsort(order), -1)[column.values]  # the last is of texts without a value
    return facts | {"names": names, "choices": choices}, codes.astype(np.int32)

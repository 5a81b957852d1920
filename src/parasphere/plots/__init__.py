"""Maps of documents."""

from .colours import topic_colours
from .layout import neighbour_map
from .maps import EXTENSIONS, draw_map

__all__ = [
    "EXTENSIONS",
    "draw_map",
    "neighbour_map",
    "topic_colours",
]

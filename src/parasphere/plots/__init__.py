"""Maps of documents, and curves."""

from .curves import Curve, draw_curves
from .layout import neighbour_map, place_among
from .maps import EXTENSIONS, draw_map

__all__ = [
    "EXTENSIONS",
    "Curve",
    "draw_curves",
    "draw_map",
    "neighbour_map",
    "place_among",
]

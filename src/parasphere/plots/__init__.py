"""Maps of documents on the sphere, and curves."""

from .curves import Curve, draw_curves
from .layout import neighbour_map, place_among
from .maps import EXTENSIONS, Map, draw_map, draw_neighbours, sphere_map

__all__ = [
    "EXTENSIONS",
    "Curve",
    "Map",
    "draw_curves",
    "draw_map",
    "draw_neighbours",
    "neighbour_map",
    "place_among",
    "sphere_map",
]

"""Maps of documents on the sphere, and curves."""

from .curves import Curve, draw_curves
from .maps import EXTENSIONS, Map, draw_map, sphere_map

__all__ = ["EXTENSIONS", "Curve", "Map", "draw_curves", "draw_map", "sphere_map"]

"""Maps of documents on the sphere."""

from .maps import EXTENSIONS, Map, draw_map, sphere_map

__all__ = ["EXTENSIONS", "Map", "draw_map", "sphere_map"]

"""From word ids and vectors to bags: sums, facets, and the reader that a fitted model keeps."""

from .bags import Bags
from .facets import Facets, find_facets
from .inputs import as_texts, held_texts, is_numeric
from .reader import Reader

__all__ = ["Bags", "Facets", "Reader", "as_texts", "find_facets", "held_texts", "is_numeric"]

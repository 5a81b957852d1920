"""From word ids and vectors to bags: sums, and the reader that a fitted model keeps."""

from .bags import Bags
from .inputs import as_texts, first_texts, held_texts, is_numeric
from .mixin import THREADS, DocumentInputs
from .reader import Reader, n_threads
from .scatter import Scatter

__all__ = [
    "THREADS",
    "Bags",
    "DocumentInputs",
    "Reader",
    "Scatter",
    "as_texts",
    "first_texts",
    "held_texts",
    "is_numeric",
    "n_threads",
]

"""Searching documents: the index, BM25, its fusion with the cosines of vectors, and near-duplicates."""

from .bm25 import BM25
from .columns import OPERATORS, Column
from .fusion import Fusion, mean_reciprocal_rank
from .ids import Ids
from .index import Index, Update
from .matches import Matches
from .near_duplicates import THRESHOLD, Duplicate, Duplicates, Keep, duplicates

__all__ = [
    "BM25", "OPERATORS", "THRESHOLD", "Column", "Duplicate", "Duplicates", "Fusion", "Ids", "Index", "Keep", "Matches",
    "Update", "duplicates", "mean_reciprocal_rank",
]  # fmt: skip

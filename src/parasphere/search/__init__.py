"""Searching documents: the index, BM25, its fusion with the cosines of vectors, and near-duplicates."""

from .bm25 import BM25
from .fusion import Fusion
from .ids import Ids
from .index import Index
from .near_duplicates import THRESHOLD, Duplicate, duplicates

__all__ = ["BM25", "THRESHOLD", "Duplicate", "Fusion", "Ids", "Index", "duplicates"]

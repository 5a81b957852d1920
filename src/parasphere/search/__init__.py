"""Searching documents: the index, BM25, its fusion with the cosines of vectors, and near-duplicates."""

from .index import Index
from .near_duplicates import THRESHOLD, Duplicate, duplicates

__all__ = ["THRESHOLD", "Duplicate", "Index", "duplicates"]

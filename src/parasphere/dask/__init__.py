"""Corpora larger than a machine: fitting, transforming and searching on a Dask cluster (extra ``dask``).

What is computed is that of one machine, to the last bit, however many workers and partitions there are
(:meth:`SphericalParagraphModel.accumulate`). Files in a folder that all workers see hold what has been done, so that a
worker, the scheduler or the client may die: what is there and fits is not computed again.
"""

from .drawing import sample_texts
from .fitting import fit
from .outcomes import SkippedPartitionsWarning
from .shards import ShardedIndex, index
from .transforming import Written, transform

__all__ = [
    "ShardedIndex",
    "SkippedPartitionsWarning",
    "Written",
    "fit",
    "index",
    "sample_texts",
    "transform",
]

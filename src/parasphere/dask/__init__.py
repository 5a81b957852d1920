"""Corpora larger than a machine: fitting, transforming and searching on a Dask cluster (extra ``dask``).

Results are those of one machine, to the last bit, for any number of workers and partitions
(:meth:`SphericalParagraphModel.accumulate`). Finished work is kept in files in a folder that all workers can access, so
that nothing of it is computed again after a worker, the scheduler or the client has died.
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

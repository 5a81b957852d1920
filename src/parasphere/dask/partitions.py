"""The partitions of a corpus: files, or those of a Dask collection."""

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CorpusError
from ..storage import key_of


@dataclass(frozen=True)
class Source:
    """Where the documents of a partition come from.

    Attributes
    ----------
    number : int
        The position of the partition in the corpus.
    name : str
        Its name in messages.
    key : str
        A hash of its identity: for a file its path, size and time of change.
    material : Path or Delayed
        What a worker reads.
    """

    number: int
    name: str
    key: str
    material: Any


def sources_of(corpus: Any, columns: Mapping[str, Any]) -> list[Source]:
    """Return the partitions of a corpus.

    Parameters
    ----------
    corpus : path, pattern, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
        Each file is a partition.
    columns : mapping
        The options of :func:`parasphere.corpus.blocks`, some of which name columns of a DataFrame.
    """
    if hasattr(corpus, "to_delayed"):
        return _of_collection(corpus, columns)
    if isinstance(corpus, str | os.PathLike):
        return _of_files(_matching(corpus))
    if isinstance(corpus, Sequence) and corpus and all(isinstance(path, os.PathLike) for path in corpus):
        return _of_files([Path(path) for path in corpus])
    raise CorpusError(
        f"the corpus is of type {type(corpus).__name__}; on a cluster it must be a pattern of files such as "
        '"texts/*.parquet", a list of pathlib.Path, a dask.bag, or a column of a dask.dataframe'
    )


def _matching(pattern: str | os.PathLike[str]) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        raise CorpusError(f'{path} is a folder; give a pattern of files, such as "{path / "*.parquet"}"')
    found = [path] if path.is_file() else sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
    if not found:
        raise CorpusError(f"no file matches {path}")
    return found


def _of_files(paths: Sequence[Path]) -> list[Source]:
    sources = []
    for number, path in enumerate(paths):
        path = path.expanduser().absolute()  # workers have another current folder
        try:
            status = path.stat()
            stamp = [status.st_size, status.st_mtime_ns]
        except OSError:  # the worker that reads it raises, or skips it
            stamp = []
        sources.append(Source(number, str(path), key_of(str(path), stamp), path))
    return sources


def _of_collection(collection: Any, columns: Mapping[str, Any]) -> list[Source]:
    if hasattr(collection, "columns") and getattr(collection, "ndim", 0) == 2:
        names = [
            columns.get("text", "text"),
            *(columns.get(name) for name in ("id", "label")),
            *columns.get("carry", ()),
        ]
        needed = list(dict.fromkeys(name for name in names if name is not None))
        missing = [name for name in needed if name not in list(collection.columns)]
        if missing:
            there = ", ".join(f'"{name}"' for name in collection.columns)
            raise CorpusError(f'the DataFrame has no column "{missing[0]}"; its columns are {there}')
        collection = collection[needed]
    parts = collection.to_delayed()
    return [
        Source(number, f"partition {number} of {len(parts)}", key_of(str(part.key)), part)
        for number, part in enumerate(parts)
    ]

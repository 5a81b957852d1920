"""Compiled code on disk: numba's cache, made robust against read-only folders, full disks and damaged files.

numba itself needs a writable folder, even to read from it, and any failure of the cache fails the call that compiled.
Here code is read from the first folder that has it and written to the first that is writable; if there is none, the
code stays in memory and a :class:`~parasphere.places.CacheWarning` is issued once.

As with numba, the files hold pickles and machine code: nobody else should be able to write to these folders.
"""

# mypy: disable-error-code="no-untyped-call"

import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult

from .. import __version__
from ..places import cache_folder, warn_of_cache

_DIGEST = 16  # bytes


def folders(source: Path) -> list[Path]:
    """Return the folders of code compiled from a source file: next to it, then in the user's cache.

    The environment variable NUMBA_CACHE_DIR replaces both, as it does for numba.
    """
    # The name depends on the source's folder: several installations of the library may share a cache.
    mine = f"{source.parent.name}-{hashlib.blake2b(str(source.parent).encode(), digest_size=8).hexdigest()}"
    named = getattr(config, "CACHE_DIR", "")
    if named:
        return [Path(named, mine)]
    return [source.parent / "__pycache__", cache_folder() / "compiled" / mine]


class CodeCache(FunctionCache):
    """The cached specialisations of one function, given before compilation.

    An OSError or TypeError is raised if it has no source file.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name, self._py_func = repr(function), function
        source = Path(inspect.getfile(function)).absolute()
        stamp = " ".join([__version__, *(_digest_of(path) for path in sorted(_sources(function)))])
        name = f"{source.stem}.{function.__qualname__.replace('<', '').replace('>', '')}"
        base = f"{name}-{function.__code__.co_firstlineno}.{sys.implementation.cache_tag}"
        self._files = [_CheckedFile(str(folder), base, stamp) for folder in folders(source)]

    @property
    def cache_path(self) -> str:
        """The first folder."""
        return str(self._files[0]._cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled result for a signature, if a folder has it undamaged; else None."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        for file in self._files:
            with suppress(Exception):  # unreadable or damaged in any way: compile again
                reduced = file.load(key)
                if reduced is not None:
                    return CompileResult._rebuild(target_context, *reduced)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code for a signature to the first writable folder."""
        if data.library.has_dynamic_globals:
            return
        key, reduced = self._index_key(sig, data.codegen), data._reduce()
        for file in self._files:
            try:
                Path(file._cache_path).mkdir(parents=True, exist_ok=True)
                file.save(key, reduced)
                return
            except OSError as error:
                failure = error
        warn_of_cache(Path(file._cache_path), failure)

    def flush(self) -> None:
        """Empty the cache."""
        for file in self._files:
            with suppress(OSError):
                file.flush()


class _CheckedFile(IndexDataCacheFile):
    """numba's cache files with a checksum: damaged machine code would crash the process."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:
            raise
        except Exception:  # a damaged pickle may raise anything; an empty index is overwritten
            return {}

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if _digest(content[_DIGEST:]) != content[:_DIGEST]:
            raise OSError(f"{name} is damaged")
        return pickle.loads(content[_DIGEST:])

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_digest(content))
            file.write(content)


def _sources(function: Callable[..., Any]) -> set[Path]:
    """Return the source files of a function and of the compiled functions that it calls, in whatever module."""
    sources = {Path(inspect.getfile(function)).absolute()}
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        called = getattr(called, "py_func", getattr(called, "_defn", None))  # a compiled function, or an intrinsic
        if inspect.isfunction(called) and called is not function:
            sources |= _sources(called)
    return sources


@cache
def _digest_of(source: Path) -> str:
    return _digest(source.read_bytes()).hex()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()

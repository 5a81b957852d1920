"""Compiled code on disk: numba's cache, read from folders that are read-only too, and never a reason to fail.

numba by itself asks for a folder that can be written, even to read what lies there, and lets whatever goes wrong with
it (a full disk, a damaged file) break the call that compiled. Here code is read from the first folder that has it and
written to the first that takes it; if none does, it stays in memory and a :class:`~parasphere.places.CacheWarning` says
so once.

Like numba's own, the files hold pickles and machine code: nobody else should be able to write to these folders.
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
    """Return where code compiled from a source file may lie: first beside it, then in the user's cache.

    The environment variable NUMBA_CACHE_DIR takes the place of both, as it does for numba.
    """
    # By the folder of the source, too: several versions of the library may share a cache.
    mine = f"{source.parent.name}-{hashlib.blake2b(str(source.parent).encode(), digest_size=8).hexdigest()}"
    named = getattr(config, "CACHE_DIR", "")
    if named:
        return [Path(named, mine)]
    return [source.parent / "__pycache__", cache_folder() / "compiled" / mine]


class CodeCache(FunctionCache):
    """The cached specialisations of one function.

    Parameters
    ----------
    function : callable
        Before it is compiled. An OSError or TypeError says that its source file is not at hand, as at a prompt.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name, self._py_func = repr(function), function
        source = Path(inspect.getfile(function)).absolute()
        stamp = f"{__version__} {_digest_of(source)}"
        name = f"{source.stem}.{function.__qualname__.replace('<', '').replace('>', '')}"
        base = f"{name}-{function.__code__.co_firstlineno}.{sys.implementation.cache_tag}"
        self._files = [_CheckedFile(str(folder), base, stamp) for folder in folders(source)]

    @property
    def cache_path(self) -> str:
        """The folder that is tried first."""
        return str(self._files[0]._cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled result for a signature, if some folder has it and it is sound; else None."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        for file in self._files:
            with suppress(Exception):  # unreadable or damaged in whatever way: it is compiled anew
                found = file.load(key)
                if found is not None:
                    return CompileResult._rebuild(target_context, *found)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code for a signature to the first folder that takes it."""
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
        """Forget what is in the cache."""
        for file in self._files:
            with suppress(OSError):
                file.flush()


class _CheckedFile(IndexDataCacheFile):
    """numba's files, with a checksum: machine code that was damaged would take the process with it."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:
            raise
        except Exception:  # whatever a damaged pickle raises: an index that says nothing is written over
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


@cache
def _digest_of(source: Path) -> str:
    return _digest(source.read_bytes()).hex()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()

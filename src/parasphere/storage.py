"""Saved things: one safetensors file each, replaced in one step and mapped into memory; nothing is pickled.

The metadata of a file are strings: the format and its version, the kind of what was saved (the name of its class), the
facts as JSON, and a CRC of facts and arrays. The facts are a list of objects, the saved one first:

==========================================  ==========================================================
numbers, strings, booleans, None            as JSON
arrays of numbers, lists of strings         arrays of the file, which the facts name
lists, tuples, dicts with string keys       item by item
estimators                                  an object: its parameters and learned attributes
other classes that are :func:`storable`     an object: the fields of the dataclass, or annotated attributes
functions                                   not saved: a tokenizer is passed to ``load`` again
==========================================  ==========================================================

A file is written beside the old one under a random name, and then renamed, so that readers find the old or the new one
and need no lock. What is loaded is checked: types by the annotations of classes, arrays by their layouts
(:mod:`parasphere.layouts`), and the rest by the ``_check_loaded`` method of a class.
"""

import json
import math
import mmap
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from io import BufferedReader
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .errors import ParasphereError, ParasphereWarning, StoreError, warn_user
from .layouts import check_layouts, check_types
from .parameters import check_parameters

__all__ = [
    "Arrays", "Info", "Saved", "check_fitted", "check_target", "file_of", "is_saved", "load", "map_tensors", "path_of",
    "read", "replacing", "storable", "updating", "write", "write_file", "write_tensors",
]  # fmt: skip

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]
Kind = TypeVar("Kind", bound=type)

FORMAT, VERSION = "parasphere", 3
STATIC = "parasphere.safetensors"  # the model in a folder that other libraries read, too
MAPPED = os.name != "nt"  # Windows does not replace a file that is mapped
# The exceptions that Python raises if what was read from a file is not as expected.
WRONG_FACTS = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError, AssertionError,
)  # fmt: skip

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(code).str: name for name, code in _DTYPES.items()}
_ALIGNMENT = 64  # of the data, in bytes
_LONGEST_HEADER = 8 << 20  # bytes; parsed into Python objects it takes many times as much memory
_MOST_AXES = 32
_POLL = 0.05  # seconds between two attempts to get a lock


# ------------------------------------------------------------------------------------------------ paths and files


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder in place of ``~``; raise a StoreError if it is not a possible path.

    Examples
    --------
    >>> path_of("folder/file.npy").name
    'file.npy'
    >>> path_of("a" * 5000)
    Traceback (most recent call last):
    parasphere.errors.StoreError: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'... cannot be the path of a file or folder
    (File name too long).
    """
    try:
        expanded = Path(path).expanduser()
        expanded.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a user without a home folder
        shown = repr(str(path)[:40]) + "..." * (len(str(path)) > 40)
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise StoreError(f"{shown} cannot be the path of a file or folder ({reason}).") from None
    return expanded


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; if the block succeeds, the written file replaces ``path`` in one step.

    Its folder is created if necessary. If anything fails, the file is unchanged; if it cannot be written, a StoreError
    is raised. A link is replaced, and what it leads to is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "greeting.txt")
    >>> with replacing(path) as part:
    ...     _ = part.write_text("hello")
    ...     path.exists()
    False
    >>> path.read_text()
    'hello'
    """
    path = path_of(path)
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file"
        raise StoreError(f"{path} is {what}, but a file is to be written. Choose another name.")
    kept = "What was there before is unchanged." if path.exists() else "Nothing was written."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".parasphere-{secrets.token_hex(8)}.part")
        try:
            part.touch(exist_ok=False)
            yield part
            _flush(part)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _flush(path.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error}). {kept}") from error


def write_file(path: str | Path, content: bytes) -> None:
    """Write a whole file in one step; see :func:`replacing`."""
    with replacing(path) as part:
        part.write_bytes(content)


def _flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def updating(path: str | Path) -> Iterator[None]:
    """Hold the lock of a file that is loaded, changed and saved in one step; wait while another process holds it.

    Loading alone needs no lock. The lock is a file beside the path, which is removed afterwards. It is released when
    its process ends, even if that is killed.
    """
    from filelock import FileLock, Timeout  # imported only when something is updated

    path = path_of(path)
    lock_path = path.with_name(f".{path.name[:200]}.lock")
    if lock_path.is_symlink() or (lock_path.exists() and (not lock_path.is_file() or lock_path.stat().st_nlink > 1)):
        raise StoreError(f"{lock_path} is a link or not a file: remove it.")
    lock = FileLock(lock_path, poll_interval=_POLL)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            warn_user(f"{path} is being updated by another process: waiting until that ends.", ParasphereWarning)
            lock.acquire()
    except OSError as error:
        raise StoreError(f"{path} cannot be updated ({error.strerror or error}).") from error
    try:
        yield
    finally:
        if os.name != "nt":  # Windows removes no open file; filelock does it there
            lock_path.unlink(missing_ok=True)
        lock.release()


# ---------------------------------------------------------------------------------------------------- safetensors


class Info(NamedTuple):
    """What the metadata of a saved file say."""

    kind: str
    crc32: str
    facts: Facts


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays to a new or empty file in the safetensors format.

    The safetensors library makes files that only their owner can read, and copies what it reads.

    Parameters
    ----------
    path : Path
    arrays : mapping of str to ndarray
        Numbers and booleans, of any shapes.
    metadata : mapping of str to str, default=None
        With a CRC of everything added as ``crc32``.
    """
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))  # so that all are aligned
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    plain, at = [], 0
    for name, array in ordered:
        little = array.dtype.newbyteorder("<")
        if little.str not in _NAMES:
            raise StoreError(
                f"the array {name!r} is of type {array.dtype}, which cannot be saved; only numbers and booleans can."
            )
        plain.append(np.ascontiguousarray(array, little).reshape(array.shape))
        end = at + array.nbytes
        header[name] = {"dtype": _NAMES[little.str], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    data = [array.reshape(-1).view(np.uint8).data for array in plain if array.size]
    if metadata is not None:
        header["__metadata__"]["crc32"] = _checksum(header, *data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > _LONGEST_HEADER:
        raise StoreError(f"the facts take {len(text):,} bytes; at most {_LONGEST_HEADER:,} can be saved.")
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for piece in data:
            file.write(piece)


def _checksum(header: dict[str, Any], *data: Any) -> str:
    """Return the CRC-32 of a header and of the data of its arrays, which detects accidental damage."""
    metadata = {name: value for name, value in header["__metadata__"].items() if name != "crc32"}
    crc = zlib.crc32(json.dumps(header | {"__metadata__": metadata}, sort_keys=True).encode())
    for piece in data:
        crc = zlib.crc32(piece, crc)
    return f"{crc:08x}"


def map_tensors(path: Path) -> Arrays:
    """Map every array of a safetensors file, read-only.

    The map remains valid if the file is removed or replaced by another, but not if the file itself is changed.
    """
    header, mapped, begin = _mapped(path)
    return _arrays(path, header, mapped, begin)


def _mapped(path: Path) -> tuple[dict[str, Any], Any, int]:
    """Return the header of a safetensors file, its bytes, and where the arrays begin."""
    with _opened(path) as file:
        header, begin = _header(path, file)
        if MAPPED:
            return header, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), begin
        file.seek(0)
        return header, file.read(), begin


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file for reading; a pipe or device, which could block forever, is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StoreError(f"{path} is not a regular file; a file that parasphere saved is needed.")
            yield file
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error


def _header(path: Path, file: BufferedReader) -> tuple[dict[str, Any], int]:
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise StoreError(
            f"{path} has no safetensors header in its {size:,} bytes: parasphere did not write it, or it is damaged."
        )
    try:
        header = json.loads(file.read(length))
        if not isinstance(header, dict):
            raise TypeError(f"a {type(header).__name__}")
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"{path} has a safetensors header that cannot be read ({error!r:.200}).") from None
    return header, 8 + length


def _arrays(path: Path, header: dict[str, Any], mapped: Any, begin: int) -> Arrays:
    """Return the arrays of a header, if their types, shapes and offsets agree with each other and the file.

    They must follow each other without gaps, as the format requires, so that they take no more memory than the file.
    """
    arrays, end = {}, 0
    entries = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
    try:
        for name, entry in sorted(entries, key=lambda item: item[1]["data_offsets"]):
            dtype, shape, (first, last) = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
            if len(shape) > _MOST_AXES or not all(type(n) is int and 0 <= n < 2**63 for n in (*shape, first, last)):
                raise ValueError(f"{name!r:.40} of shape {shape!r:.60} from {first!r:.20} to {last!r:.20}")
            count, offset = math.prod(shape), begin + first
            if first != end or count * dtype.itemsize != last - first or offset % dtype.itemsize:
                raise ValueError(f"{name!r:.40} of shape {shape!r:.60} and type {dtype} from {first} to {last}")
            flat = np.frombuffer(mapped, dtype, count, offset) if count else np.empty(0, dtype)
            if dtype.kind == "b":  # numpy relies on bytes that are 0 or 1
                flat = flat.view(np.uint8) != 0
            flat.flags.writeable = False
            arrays[name], end = flat.reshape(shape), last
        if begin + end != len(mapped):
            raise ValueError(f"arrays of {end} bytes in {len(mapped) - begin}")
    except WRONG_FACTS as error:
        raise StoreError(f"{path} has a header that does not fit its data ({error!r:.200}): it is damaged.") from error
    return arrays


# --------------------------------------------------------------------------------------------------- saved files


def write(path: str | Path, kind: str, arrays: Mapping[str, NDArray[Any]], facts: Facts) -> None:
    """Write arrays and JSON-able facts to a file, replacing an earlier one of the same kind in one step.

    Raises
    ------
    StoreError
        If the file cannot or must not be written; what was there is then unchanged.
    """
    path = path_of(path)
    check_target(path, kind)
    metadata = {"format": FORMAT, "version": str(VERSION), "kind": kind, "facts": json.dumps(facts)}
    with replacing(path) as part:
        write_tensors(part, arrays, metadata)
        check_target(path, kind)  # again, as another process may have saved something else meanwhile


def read(path: str | Path, *, verify: bool = False) -> tuple[Arrays, Info]:
    """Map the arrays of a saved file into memory, read-only, and return them with what its metadata say.

    Only the types and shapes of the arrays are checked: code that uses their numbers as sizes or positions must check
    the numbers.

    Parameters
    ----------
    path : path
    verify : bool, default=False
        Compare facts and arrays with their checksum.
    """
    path = file_of(path)
    header, mapped, begin = _mapped(path)
    info = _info(path, header)
    arrays = _arrays(path, header, mapped, begin)
    if verify and _checksum(header, memoryview(mapped)[begin:]) != info.crc32:
        raise StoreError(f"{path} was changed after it was written: its checksum differs. Save it again.")
    return arrays, info


def is_saved(path: str | Path, kind: str | None = None) -> bool:
    """Return whether parasphere wrote a file, in any version, and it is of this kind unless that is None."""
    try:
        path = file_of(path)
        with _opened(path) as file:
            metadata = _header(path, file)[0].get("__metadata__")
    except StoreError:
        return False
    return isinstance(metadata, dict) and metadata.get("format") == FORMAT and kind in (None, metadata.get("kind"))


def check_target(path: str | Path, kind: str) -> None:
    """Raise if something of this kind cannot or must not be saved to a path; nothing is changed."""
    path = path_of(path)
    if path.is_dir():
        what = "saved by parasphere 0.2" if (path / "parasphere.json").exists() else "where a file is to be written"
        raise StoreError(f"{path} is a folder {what}. Choose another name, such as {path.name}.safetensors.")
    if path.exists():
        try:
            with _opened(path) as file:
                held = _info(path, _header(path, file)[0]).kind
        except StoreError as error:
            raise StoreError(f"{error} It is not replaced: choose another name, or remove it.") from None
        if held != kind:
            raise StoreError(f"{path} holds {held!r}, which {kind!r} must not replace. Choose another name.")
        return
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise StoreError(f"{path} cannot be created: {above} is not a writable folder.")


def file_of(path: str | Path) -> Path:
    """Return the path of a saved file, which may be in a folder written by ``write_static``."""
    path = path_of(path)
    if not path.is_dir():
        if not path.exists():
            raise StoreError(f"{path} does not exist; a file that parasphere saved is needed.")
        return path
    if (path / STATIC).is_file():
        return path / STATIC
    if (path / "parasphere.json").exists():
        raise StoreError(
            f"{path} is a folder saved by parasphere 0.2, which this version does not read. Make it again; it is one "
            "file now."
        )
    raise StoreError(f"{path} is a folder; a file that parasphere saved is needed.")


def _info(path: Path, header: dict[str, Any]) -> Info:
    """Return the metadata of a header, after checking them."""
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise StoreError(f"{path} was not written by parasphere.")
    kind, version, crc32, written = (metadata.get(name) for name in ("kind", "version", "crc32", "facts"))
    if version != str(VERSION):
        raise StoreError(
            f"{path} has format version {version!s:.20}; this parasphere reads version {VERSION}. Use the release that "
            "wrote it, or make it again."
        )
    try:
        facts = json.loads(str(written))
        if not (isinstance(kind, str) and isinstance(crc32, str) and isinstance(facts, dict)):
            raise TypeError("a value is of the wrong type")
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"{path} has metadata that cannot be read ({error!r:.200}): it is damaged.") from None
    return Info(kind, crc32, facts)


# -------------------------------------------------------------------------------------------- objects as facts

_KINDS: dict[str, type] = {}  # by the names of the classes


def storable(*left_out: str, **layouts: str) -> Callable[[Kind], Kind]:
    """Register a class whose instances can be a part of what is saved: a dataclass, a NamedTuple, or annotated.

    Parameters
    ----------
    *left_out
        Fields that are not saved, but have their defaults after loading.
    **layouts
        The layouts of fields that are arrays of finite numbers (:mod:`parasphere.layouts`).

    Notes
    -----
    A class may have methods ``to_fields(self)`` and ``from_fields(cls, fields)`` if it is not saved field by field,
    and ``_check_loaded(self)``, which raises unless the loaded values fit each other.
    """

    def mark(kind: Kind) -> Kind:
        kind._left_out, kind._layouts = left_out, layouts  # type: ignore[attr-defined]
        _KINDS[kind.__name__] = kind
        return kind

    return mark


class Saved:
    """Mixin with ``save`` and ``load``, for scikit-learn estimators and for other classes.

    Of an estimator, the parameters and all learned attributes, whose names end with an underscore, are saved.

    Loaded values are checked. Subclasses declare what is valid by the annotations of parameters and attributes, and by
    ``_layouts``, the layouts of arrays (:mod:`parasphere.layouts`). Axes may be named after an integer among the
    parameters and attributes, or after a size of an attribute (``words``, ``rows`` and ``dim``). Attributes named in
    ``_positive`` must be above 0, and those in ``_not_negative`` at least 0. Parameters named in ``_left_out`` are
    saved only if they are a name or path; otherwise the loaded estimator has their default.
    """

    _layouts: ClassVar[Mapping[str, str]] = {}
    _positive: ClassVar[tuple[str, ...]] = ()
    _not_negative: ClassVar[tuple[str, ...]] = ()
    _left_out: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _KINDS[cls.__name__] = cls

    def save(self, path: str | Path) -> None:
        """Write this to one file in the safetensors format, replacing an earlier save in one step.

        Nothing is pickled. A file that holds something else, or that parasphere did not write, is not replaced.

        Parameters
        ----------
        path : path
            The file, as in ``"reviews.safetensors"``; its folder is created if necessary.
        """
        facts, arrays = packed(self, warn=True)
        write(path, type(self).__name__, arrays, facts)

    @classmethod
    def load(cls, path: str | Path, *, tokenizer: Any = None, verify: bool = False) -> Self:
        """Load what :meth:`save` wrote; its arrays are mapped into memory, read-only.

        Parameters
        ----------
        path : path
            The file. Replace it as a whole, as :meth:`save` does; do not edit or truncate it while it is in use.
        tokenizer : callable, default=None
            The tokenizer, if it was a Python function, which is not saved.
        verify : bool, default=False
            Compare everything with its checksum. Numbers that must be valid are always checked.
        """
        found: Self = load(path, cls.__name__, tokenizer=tokenizer, verify=verify)
        return found

    def _check_loaded(self) -> None:
        """Raise unless what was loaded is valid."""


def load(
    path: str | Path,
    kind: str | None = None,
    *,
    tokenizer: Any = None,
    verify: bool = False,
    inside: Mapping[str, str] | None = None,
) -> Any:
    """Load anything that was saved: a model, an encoder, an index, topics, word vectors, bags, ...

    Parameters
    ----------
    path : path
        A file written by the ``save`` method of one of these.
    kind : str, default=None
        The name of the class that it must be of.
    tokenizer : callable, default=None
        The tokenizer, if it was a Python function, which is not saved.
    verify : bool, default=False
        Compare everything with its checksum. Numbers that must be valid are always checked.
    inside : mapping of str to str, default=None
        Kinds that hold such an object, and the names of the learned attributes.

    Examples
    --------
    >>> import parasphere
    >>> path = getfixture("tmp_path") / "compass.safetensors"
    >>> parasphere.WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]]).save(path)
    >>> parasphere.load(path).words
    ['north', 'east']
    """
    arrays, info = read(path, verify=verify)
    name = (inside or {}).get(info.kind)
    if kind is not None and info.kind != kind and name is None:
        raise StoreError(f"{path} holds {info.kind!r:.60}, not {kind!r}.")
    due = kind or info.kind
    try:
        found = unpacked(info.facts, arrays, learned=name, tokenizer=tokenizer)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    except WRONG_FACTS as error:
        reason = str(error) if isinstance(error, ParasphereError) else repr(error)
        raise StoreError(f"{path} holds no valid {due:.60} ({reason}): it is damaged.") from error
    if type(found).__name__ != due:
        raise StoreError(f"{path} holds a {type(found).__name__} in place of {due!r:.60}: it is damaged.")
    return found


def packed(value: Any, *, warn: bool = False) -> tuple[Facts, Arrays]:
    """Return the JSON-able facts and the arrays of an object; with ``warn``, warn of functions, which are not saved."""
    packing = _Packing()
    packing.value(value, "")
    if warn:
        packing.warn_of_functions()
    return {"objects": packing.objects}, packing.arrays


def unpacked(facts: Facts, arrays: Arrays, *, learned: str | None = None, tokenizer: Any = None) -> Any:
    """Return the object that :func:`packed` turned into facts and arrays, or one of its learned attributes."""
    unpacking = _Unpacking(facts["objects"], arrays, tokenizer)
    return unpacking.value({"object": 0} if learned is None else facts["objects"][0]["learned"][learned], learned or "")


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError unless an estimator has learned attributes; scikit-learn is not imported."""
    if not any(_is_learned(name) for name in vars(estimator)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(estimator).__name__} is not fitted yet: call fit first.")


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _is_estimator(kind: type) -> bool:
    return hasattr(kind, "get_params")


def _kind_named(name: str) -> type:
    package = import_module(__package__)
    if name not in _KINDS and name in package.__all__ and name[0].isupper():
        getattr(package, name)  # imports the module of a public class, which registers it
    return _KINDS[name]


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a class that are saved."""
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
    elif hasattr(kind, "_fields"):  # a NamedTuple
        names = list(kind._fields)
    else:
        names = [name for name, hint in _hints(kind).items() if get_origin(hint) is not ClassVar]
    return tuple(name for name in names if name not in kind._left_out)  # type: ignore[attr-defined]


class _Packing:
    """Turns an object into JSON-able facts and the arrays that these refer to."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self.objects: list[Facts] = []
        self.functions: dict[int, tuple[str, Any]] = {}
        self.seen: dict[Any, Any] = {}  # what occurs twice is written once; values are kept, so that ids stay theirs

    def value(self, value: Any, path: str) -> Any:
        """Return the facts of a value; ``path`` is its name."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, Path):
            return str(value)
        if _KINDS.get(type(value).__name__) is type(value):
            return {"object": self._object(value, path)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return {"array": self._array(value, path)}
        sequence = isinstance(value, list | tuple | frozenset) or (isinstance(value, np.ndarray) and value.ndim == 1)
        if sequence and len(value) and all(isinstance(item, str) for item in value):
            kind = "array" if isinstance(value, np.ndarray) else type(value).__name__
            return {"strings": self._strings(sorted(value) if kind == "frozenset" else list(value), path), "as": kind}
        if isinstance(value, list | tuple | frozenset):
            kind = next(kind for kind in (list, tuple, frozenset) if isinstance(value, kind)).__name__
            return {kind: [self.value(item, f"{path}.{index}") for index, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.value(item, f"{path}.{key}") for key, item in value.items()}}
        if isinstance(value, np.random.RandomState | np.random.Generator):  # its state is no longer needed
            return None
        if callable(value):
            self.functions[id(value)] = path.rpartition(".")[2].removesuffix("_"), value
            return {"function": getattr(value, "__qualname__", type(value).__name__)}
        raise StoreError(f"{path} is a {type(value).__name__}, which cannot be saved.")

    def warn_of_functions(self) -> None:
        """Warn of each function among the values: it is not saved."""
        for name, function in self.functions.values():
            shown = getattr(function, "__qualname__", type(function).__name__)
            warn_user(
                f"the {name} is the Python function {shown!r}, which is not saved: pass it again to load, as in "
                f"load(path, {name}=...)",
                ParasphereWarning,
            )

    def _object(self, value: Any, path: str) -> int:
        """Return the position of an object among those that are saved."""
        if id(value) in self.seen:
            return int(self.seen[id(value)][0])
        begin = f"{path}." if path else ""
        kind: Any = type(value)
        facts: Facts = {"kind": kind.__name__}
        number = len(self.objects)
        self.seen[id(value)] = number, value
        self.objects.append(facts)
        groups: dict[str, dict[str, Any]]
        if _is_estimator(kind):
            if not path:
                check_fitted(value)
            given = value.get_params(deep=False).items()
            groups = {
                "learned": {name: item for name, item in vars(value).items() if _is_learned(name)},
                "parameters": {
                    name: item for name, item in given if name not in kind._left_out or isinstance(item, str | Path)
                },
            }
        elif hasattr(kind, "to_fields"):
            groups = {"fields": value.to_fields()}
        else:
            groups = {"fields": {name: getattr(value, name) for name in _fields(kind)}}
        for group, members in groups.items():
            facts[group] = {name: self.value(item, f"{begin}{name}") for name, item in members.items()}
        return number

    def _array(self, array: NDArray[Any], path: str) -> str:
        """Return the name of an array; two that are the same memory are one."""
        memory = array.__array_interface__
        key = memory["data"], memory["shape"], memory["strides"], memory["typestr"]
        if key not in self.seen:
            name = path.encode("utf-8", "replace").decode()
            while name in self.arrays:
                name += "'"
            self.arrays[name] = array
            self.seen[key] = name, array
        return str(self.seen[key][0])

    def _strings(self, strings: list[str], path: str) -> str:
        encoded = [item.encode("utf-8", "surrogatepass") for item in strings]
        ends = np.cumsum([len(item) for item in encoded], dtype=np.int64)
        self._array(np.frombuffer(b"".join(encoded), np.uint8), f"{path}.bytes")
        return self._array(ends, f"{path}.ends")


class _Unpacking:
    """Turns the facts and arrays of :class:`_Packing` back into an object, and checks it."""

    def __init__(self, objects: Any, arrays: Arrays, tokenizer: Any) -> None:
        self.objects, self.arrays, self.given = objects, dict(arrays), {"tokenizer": tokenizer}
        self.made: dict[int, Any] = {}

    def value(self, fact: Any, path: str) -> Any:
        if not isinstance(fact, dict):
            if isinstance(fact, list):
                raise ParasphereError(f"{path} is not a valid value")
            return fact
        (kind, value), *_ = fact.items()
        if kind == "object":
            return self._object(value, path)
        if kind == "array":
            return self.arrays[value]
        if kind == "strings":
            return self._strings(value, fact["as"])
        if kind in ("list", "tuple", "frozenset"):
            items = [self.value(item, f"{path}.{index}") for index, item in enumerate(value)]
            return {"list": list, "tuple": tuple, "frozenset": frozenset}[kind](items)
        if kind == "dict":
            return {key: self.value(item, f"{path}.{key}") for key, item in value.items()}
        if kind == "function":
            return self._function(path.rpartition(".")[2].removesuffix("_"), value)
        raise KeyError(kind)

    def _object(self, number: Any, path: str) -> Any:
        if type(number) is not int or number < 0:
            raise ParasphereError(f"{path} is not among the saved objects")
        if number not in self.made:
            self.made[number] = None
            facts, begin = self.objects[number], f"{path}." if path else ""
            kind = _kind_named(facts["kind"])
            groups = ("learned", "parameters") if _is_estimator(kind) else ("fields",)
            parts = [
                {name: self.value(item, f"{begin}{name}") for name, item in facts[group].items()} for group in groups
            ]
            self.made[number] = (_estimator if _is_estimator(kind) else _instance)(kind, *parts)
        if self.made[number] is None:
            raise ParasphereError(f"{path} holds itself")
        return self.made[number]

    def _strings(self, name: str, kind: str) -> Any:
        data, ends = self.arrays.pop(name.removesuffix("ends") + "bytes"), self.arrays.pop(name)  # each is used once
        check_layouts({"bytes": data, "ends": ends}, {"bytes": "u1[bytes]", "ends": "i8[strings]"})
        bounds, written = [0, *ends.tolist()], data.tobytes()
        if bounds != sorted(bounds) or bounds[-1] != len(written):
            raise ParasphereError(f"{name} does not fit the strings")
        strings = [written[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
        if kind == "array":
            return np.array(strings, object)
        return {"list": list, "tuple": tuple, "frozenset": frozenset}[kind](strings)

    def _function(self, name: str, written: Any) -> Any:
        function = self.given.get(name)
        if function is None:
            raise StoreError(
                f"the {name} was the Python function {str(written)[:60]!r}, which is not saved: pass it again to load."
            )
        return function


def _estimator(kind: Any, learned: Facts, parameters: Facts) -> Any:
    """Return an estimator with these parameters and learned attributes."""
    check_types(get_type_hints(kind.__init__), parameters)
    made = kind(**parameters)
    if hasattr(made, "_parameters"):
        check_parameters(made, parameters)
    for name, value in learned.items():
        if not _is_learned(name):
            raise ParasphereError(f"{name!r} is not the name of a learned attribute")
        setattr(made, name, value)
    if learned:
        hints = {name: hint for name, hint in _hints(kind).items() if _is_learned(name)}
        _check_values(kind, vars(made), {name: vars(made)[name] for name in hints})
        made._check_loaded()
    return made


def _instance(kind: Any, values: Facts) -> Any:
    """Return an instance of another class with these fields."""
    if hasattr(kind, "from_fields"):
        made = kind.from_fields(values)
    else:
        if set(values) != set(_fields(kind)):
            raise ParasphereError(f"a {kind.__name__} has the fields {', '.join(_fields(kind))}")
        _check_values(kind, values, values)
        if is_dataclass(kind) or hasattr(kind, "_fields"):
            made = kind(**values)
        else:
            made = kind.__new__(kind)
            vars(made).update(values)
    if hasattr(kind, "_check_loaded"):
        made._check_loaded()
    return made


def _check_values(kind: Any, values: Mapping[str, Any], typed: Mapping[str, Any]) -> None:
    """Raise unless the values of a class have the types, layouts and ranges that it declares."""
    check_types(_hints(kind), typed)
    sizes = {name: value for name, value in values.items() if isinstance(value, int)}
    for value in values.values():
        sizes |= value.sizes() if hasattr(value, "sizes") else {}
    check_layouts(values, kind._layouts, sizes)
    positive, not_negative = getattr(kind, "_positive", ()), getattr(kind, "_not_negative", ())
    for name in (*kind._layouts, *positive, *not_negative):
        numbers = np.asarray(0.0 if values[name] is None else values[name])
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise ParasphereError(f"{name} holds numbers that are not finite")
        if name in positive and not (numbers.size and (numbers > 0).all()):
            raise ParasphereError(f"{name} must hold numbers above 0")
        if name in not_negative and not (numbers.size and (numbers >= 0).all()):
            raise ParasphereError(f"{name} must hold numbers that are not below 0")

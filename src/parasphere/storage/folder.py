"""Saved folders: arrays and JSON-able facts, replaced in one step, memory-mapped, never pickled.

A folder holds a manifest and the data file that it names::

    parasphere.json                       kind, version, facts, and the data file's name, size and checksum
    data-3f1c09ab55d2e871.safetensors     the arrays

**Saving.** A data file is named by its content and never changes. It is written first; then the manifest replaces the
old one by a rename, which is the moment at which the folder changes. One process writes at a time: it locks
``parasphere.lock`` and lists in it every file that it is about to make or to replace. The lock ends with its process.
The next process that locks it removes the files that are listed, but not named in the manifest: those of a save that
was killed. Nothing else in a folder is ever removed.

**Loading** takes no lock. If a data file is missing because the folder was saved meanwhile, the new manifest is read; a
data file that is open stays readable.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import StoreError
from . import verified
from .claim import claimed
from .output import flush, writing
from .tensors import Arrays, Tensors, map_tensors

VERSION = 1
MANIFEST = "parasphere.json"
LOCK = "parasphere.lock"
WAIT_SECONDS = 60.0  # for another process that writes to the same folder

_DATA = re.compile(r"data-[0-9a-f]{16}\.safetensors")
_PART = re.compile(r"part-[0-9a-f]{16}")
_LARGEST_MANIFEST = 64 << 20
_FIELDS = {"version": int, "kind": str, "data": str, "size": int, "sha256": str, "meta": dict}


def save(folder: str | Path, kind: str, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able facts to ``folder``, replacing an earlier save in one step.

    Parameters
    ----------
    folder : path
        Made if necessary. If it exists, it must be empty or hold an earlier save of the same kind; files that
        parasphere did not write are not changed.
    kind : str
        What is saved ("word-vectors", "bags", ...); :func:`load` checks it.
    arrays : mapping of str to ndarray
        Numbers and booleans, of any shapes.
    meta : mapping
        JSON-able facts.

    Raises
    ------
    StoreError
        If the folder must not or cannot be written to. It is then unchanged.
    """
    folder = Path(folder).expanduser()
    check_target(folder, kind)
    tensors = Tensors(arrays)
    checksum = tensors.checksum()
    data = f"data-{checksum[:16]}.safetensors"
    manifest = {
        "format": "parasphere", "version": VERSION, "kind": kind, "data": data,
        "size": tensors.size, "sha256": checksum, "meta": dict(meta),
    }  # fmt: skip
    manifest["manifest_sha256"] = _manifest_checksum(manifest)
    text = json.dumps(manifest, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    kept = "What it held before is unchanged." if is_saved(folder) else "Nothing was saved."
    with writing(folder, kept), _only_writer(folder) as journal:
        check_target(folder, kind)  # again: another process may have saved something else meanwhile
        _replace(folder, tensors, text, data, journal)


def check_target(folder: str | Path, kind: str) -> None:
    """Raise if :func:`save` could not or should not write to a folder; nothing is changed."""
    folder = Path(folder).expanduser()
    if not folder.exists():
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise StoreError(f"{folder} cannot be made: {above} is not a folder one may write to.")
        return
    if not folder.is_dir():
        raise StoreError(f"{folder} is a file; a folder is written here. Choose another name.")
    if not (folder / MANIFEST).exists():
        ours = {LOCK, *_journal_names(folder)}
        foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
        if (folder / MANIFEST).exists():  # of another process, which has just saved
            check_target(folder, kind)
        elif foreign:
            raise StoreError(
                f"{folder} holds {foreign[0]!r}, which parasphere did not write. Choose a new or empty folder."
            )
        return
    if _is_wreck(folder):
        return
    held = _manifest_facts(folder)["kind"]
    if held != kind:
        raise StoreError(f"{folder} holds {held!r}, which {kind!r} must not replace. Choose another folder.")


def remove(folder: str | Path) -> None:
    """Remove the files that :func:`save` wrote, and the folder if nothing else is in it."""
    folder = Path(folder).expanduser()
    with writing(folder, "Some of it may be left."):
        with _only_writer(folder) as journal:
            if (folder / MANIFEST).exists():
                journal.record({_manifest_facts(folder)["data"], *journal.names})
                (folder / MANIFEST).unlink()
        with contextlib.suppress(OSError):
            folder.rmdir()


def load(
    folder: str | Path, kind: str, *, verify: bool = True, inspect: Callable[[Arrays], None] | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Map the arrays of a saved folder into memory, read-only, and return them with the meta.

    Parameters
    ----------
    folder : path
        A folder that :func:`save` wrote.
    kind : str
        What the folder must hold.
    verify : bool, default=True
        Compare the data file with its checksum. This is done once per file: while it does not change, later loads and
        later processes skip it.
    inspect : callable, default=None
        Called with the arrays when their checksum is compared, so once per file too; it raises if they are not sound.

    Returns
    -------
    arrays : dict of str to read-only ndarray
        Memory-mapped; pages are shared between processes.
    meta : dict
        The facts that were saved.
    """
    folder = Path(folder).expanduser()
    manifest = read_manifest(folder)
    while True:
        if manifest["kind"] != kind:
            raise StoreError(f"{folder} holds {manifest['kind']!r}, not {kind!r}.")
        path = folder / manifest["data"]
        try:
            with _open_plain(path) as file:
                return _load_data(file, path, manifest, verify, inspect), manifest["meta"]
        except FileNotFoundError:
            newer = read_manifest(folder)
            if newer == manifest:
                raise StoreError(f"{path} is missing, though {MANIFEST} names it. Save the folder again.") from None
            manifest = newer  # saved again while we were reading
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error


def is_saved(folder: str | Path, kind: str | None = None) -> bool:
    """Return whether a folder was written by :func:`save` (with this kind, if one is given)."""
    folder = Path(folder).expanduser()
    if not (folder / MANIFEST).is_file():
        return False
    return kind is None or read_manifest(folder)["kind"] == kind


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the checked manifest of a saved folder: ``kind``, ``data``, ``size``, ``sha256`` and ``meta``."""
    folder = Path(folder).expanduser()
    manifest = _manifest_facts(folder)
    if manifest["version"] > VERSION:
        raise StoreError(
            f"{folder} has format version {manifest['version']}; this parasphere reads up to {VERSION}. Upgrade it."
        )
    try:
        intact = manifest.get("manifest_sha256") == _manifest_checksum(manifest)
    except RecursionError:
        intact = False
    if not intact:
        raise StoreError(f"{folder / MANIFEST} was changed after it was written. Save the folder again.")
    return manifest


def _load_data(
    file: BufferedReader, path: Path, manifest: dict[str, Any], verify: bool, inspect: Callable[[Arrays], None] | None
) -> Arrays:
    size = os.fstat(file.fileno()).st_size
    if size != manifest["size"]:
        raise StoreError(f"{path} has {size:,} bytes instead of {manifest['size']:,}: it is damaged.")
    if not verify or verified.is_known(file, manifest["sha256"]):
        return map_tensors(file, path)
    verified.compare(file, path, manifest["sha256"])
    arrays = map_tensors(file, path)
    if inspect is not None:
        inspect(arrays)
    verified.remember(file, manifest["sha256"])
    return arrays


def _manifest_facts(folder: Path) -> dict[str, Any]:
    """Return a manifest whose fields have the right types; its checksum is not checked."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder; a folder that parasphere saved is needed.")
    try:
        with _open_plain(path) as file:
            manifest = json.loads(file.read(_LARGEST_MANIFEST).decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise StoreError(f"{folder} holds no {MANIFEST}: parasphere did not save it.") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not readable JSON ({error}): it is damaged.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "parasphere":
        raise StoreError(f"{path} was not written by parasphere.")
    for name, kind in _FIELDS.items():
        if type(manifest.get(name)) is not kind:
            shown, due = repr(manifest.get(name))[:60], kind.__name__
            raise StoreError(f"{path} has {shown} as its {name!r}, which is not of type {due}: it is damaged.")
    data = manifest["data"]
    if not _DATA.fullmatch(data):
        raise StoreError(f"{path} names {data[:60]!r} as its data file, which is not a name that parasphere gives.")
    return manifest


def _is_wreck(folder: Path) -> bool:
    """Return whether a folder holds an unreadable manifest and otherwise only data files of parasphere."""
    try:
        _manifest_facts(folder)
    except StoreError:
        others = {path.name for path in folder.iterdir()} - {MANIFEST, LOCK}
        return bool(others) and all(_DATA.fullmatch(name) for name in others)
    return False


def _data_files(folder: Path) -> set[str]:
    """Return the names of the data files that a save replaces."""
    if not (folder / MANIFEST).exists():
        return set()
    if _is_wreck(folder):
        return {path.name for path in folder.iterdir() if _DATA.fullmatch(path.name)}
    return {_manifest_facts(folder)["data"]}


def _open_plain(path: Path) -> BufferedReader:
    """Open a regular file for reading; a pipe or device, on which one could wait for ever, is refused."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{path} is not a regular file: it is damaged.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


# ------------------------------------------------------------------------------------------------ one writer at a time


class _Journal:
    """The list in the lock of a folder: files that may be removed unless the manifest names them."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder, self.descriptor = folder, descriptor
        self.names = _journal_names(folder)

    def record(self, names: set[str]) -> None:
        """List the names of files before any of them is made or replaced."""
        self.names = names
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, json.dumps(sorted(names)).encode())
        os.fsync(self.descriptor)

    def clear(self) -> None:
        """Remove the listed files that the manifest does not name, and then the lock itself."""
        manifest = self.folder / MANIFEST
        current = _manifest_facts(self.folder)["data"] if manifest.exists() else None
        for name in sorted(self.names - {current}):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / LOCK).unlink(missing_ok=True)


def _journal_names(folder: Path) -> set[str]:
    """Return the names in the lock of a folder, as far as a save can have made them."""
    try:
        with _open_plain(folder / LOCK) as file:
            names = json.loads(file.read(_LARGEST_MANIFEST))
    except (OSError, ValueError, RecursionError, StoreError):
        return set()  # no lock, or an empty one
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return {name for name in known if _DATA.fullmatch(name) or _PART.fullmatch(name)}


@contextmanager
def _only_writer(folder: Path) -> Iterator[_Journal]:
    """Make a folder and hold its lock; afterwards the listed files are removed, except the current save."""
    made = not folder.exists()
    try:
        with ExitStack() as stack:
            journal = _Journal(folder, _lock(folder, stack))
            try:
                yield journal
            finally:
                with contextlib.suppress(OSError, StoreError):  # what cannot be removed stays listed
                    journal.clear()
    finally:
        if made:
            with contextlib.suppress(OSError):  # it holds what was saved, unless saving failed
                folder.rmdir()


def _lock(folder: Path, stack: ExitStack) -> int:
    """Hold the lock of a folder while the stack is open, waiting for other writers; return its descriptor."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = stack.enter_context(claimed(folder / LOCK))
        except FileNotFoundError:
            continue  # another process removed the folder after we had made it
        if descriptor is not None:
            return descriptor
        time.sleep(0.005)
    raise StoreError(f"{folder} has been written to by another process for {WAIT_SECONDS:.0f} s. Try again later.")


def _replace(folder: Path, tensors: Tensors, manifest: bytes, data: str, journal: _Journal) -> None:
    """List every file that is made or replaced, write the data, then the manifest."""
    parts = [folder / f"part-{secrets.token_hex(8)}" for _ in range(2)]
    journal.record({*journal.names, *_data_files(folder), data, *(part.name for part in parts)})
    tensors.write(parts[0])
    flush(parts[0])
    parts[0].replace(folder / data)
    parts[1].write_bytes(manifest)
    flush(parts[1])
    flush(folder)  # the data file is on the disk before the manifest that names it
    parts[1].replace(folder / MANIFEST)
    flush(folder)

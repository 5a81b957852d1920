"""Saved folders: arrays and facts, replaced in one step, memory-mapped, never pickled.

A folder holds a manifest and the data file that it names::

    parasphere.json                       kind, version, facts, and the data file's name, size and checksum
    data-3f1c09ab55d2e871.safetensors     the arrays

**Saving.** A data file never changes once it has its name, which is that of its content. It is written first and the
manifest last, by a rename, which is the moment at which the folder changes. One process writes at a time: it claims
``parasphere.lock`` and notes there every file that it is about to make or to replace. The lock ends with its process.
Whoever claims it next removes what the note names and the manifest does not: the rest of a save that was killed.
Nothing else in a folder is ever removed.

**Loading** takes no lock. A data file that vanished because the folder was saved meanwhile sends the reader to the
new manifest; one that is open stays readable.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
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
        Made if need be. If it exists it must be empty or hold an earlier save of the same kind; files that parasphere
        did not write stay as they are.
    kind : str
        What this is ("word-vectors", "bags", ...); :func:`load` insists on it.
    arrays : mapping of str to ndarray
        Any shapes; numbers and booleans.
    meta : mapping
        Anything JSON can hold.

    Raises
    ------
    StoreError
        If the folder must not or cannot be written to. It is then as it was.
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
        if foreign:
            raise StoreError(
                f"{folder} holds {foreign[0]!r}, which parasphere did not write. Choose a new or empty folder."
            )
        return
    if _is_wreck(folder):
        return
    found = _manifest_facts(folder)["kind"]
    if found != kind:
        raise StoreError(f"{folder} holds {found!r}, which {kind!r} must not replace. Choose another folder.")


def remove(folder: str | Path) -> None:
    """Remove what :func:`save` wrote, and the folder if nothing else is in it."""
    folder = Path(folder).expanduser()
    with writing(folder, "Some of it may be left."):
        with _only_writer(folder) as journal:
            if (folder / MANIFEST).exists():
                journal.record({_manifest_facts(folder)["data"], *journal.names})
                (folder / MANIFEST).unlink()
        with contextlib.suppress(OSError):
            folder.rmdir()


def load(folder: str | Path, kind: str, *, verify: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """Map the arrays of a saved folder into memory, read-only, and return them with the meta.

    Parameters
    ----------
    folder : path
    kind : str
        What the folder must hold.
    verify : bool, default=True
        Compare the data file with its checksum. That is done once per file: while it stays as it was, later loads and
        later processes trust it.

    Returns
    -------
    arrays : dict of str to read-only ndarray
        Pages are read when touched, and shared between processes.
    meta : dict
    """
    folder = Path(folder).expanduser()
    manifest = read_manifest(folder)
    while True:
        if manifest["kind"] != kind:
            raise StoreError(f"{folder} holds {manifest['kind']!r}, not {kind!r}.")
        path = folder / manifest["data"]
        try:
            with _open_plain(path) as file:
                return _load_data(file, path, manifest, verify), manifest["meta"]
        except FileNotFoundError:
            newer = read_manifest(folder)
            if newer == manifest:
                raise StoreError(f"{path} is missing, though {MANIFEST} names it. Save the folder again.") from None
            manifest = newer  # saved anew while we were reading
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error


def is_saved(folder: str | Path, kind: str | None = None) -> bool:
    """Tell whether a folder holds a save of ours (of this kind, if one is named)."""
    folder = Path(folder).expanduser()
    if not (folder / MANIFEST).is_file():
        return False
    return kind is None or read_manifest(folder)["kind"] == kind


def map_arrays(path: str | Path) -> Arrays:
    """Memory-map every array of a safetensors file, read-only."""
    with _open_plain(Path(path)) as file:
        return map_tensors(file, Path(path))


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a saved folder: ``kind``, ``data``, ``size``, ``sha256`` and ``meta``, checked."""
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


def _load_data(file: BufferedReader, path: Path, manifest: dict[str, Any], verify: bool) -> Arrays:
    size = os.fstat(file.fileno()).st_size
    if size != manifest["size"]:
        raise StoreError(f"{path} has {size:,} bytes where {manifest['size']:,} were written: it is damaged.")
    if verify:
        verified.check(file, path, manifest["sha256"])
    return map_tensors(file, path)


def _manifest_facts(folder: Path) -> dict[str, Any]:
    """Return a manifest whose fields are of the right types; whether it was changed is not asked."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder; one that parasphere saved is needed.")
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
            shown = repr(manifest.get(name))[:60]
            raise StoreError(f"{path} has {shown} as its {name!r}, which is no {kind.__name__}: it is damaged.")
    if not _DATA.fullmatch(manifest["data"]):
        raise StoreError(f"{path} names {manifest['data'][:60]!r} as its data file, which no save of ours does.")
    return manifest


def _is_wreck(folder: Path) -> bool:
    """Tell whether a folder holds a manifest that cannot be read, and nothing else than data of ours."""
    try:
        _manifest_facts(folder)
    except StoreError:
        others = {path.name for path in folder.iterdir()} - {MANIFEST, LOCK}
        return bool(others) and all(_DATA.fullmatch(name) for name in others)
    return False


def _data_files(folder: Path) -> set[str]:
    """Return the names of the data files that a save leaves without a manifest."""
    if not (folder / MANIFEST).exists():
        return set()
    if _is_wreck(folder):
        return {path.name for path in folder.iterdir() if _DATA.fullmatch(path.name)}
    return {_manifest_facts(folder)["data"]}


def _open_plain(path: Path) -> BufferedReader:
    """Open a file for reading, but nothing that one could wait for: no FIFO, no device."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{path} is no plain file: it is damaged.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


# ------------------------------------------------------------------------------------------------ one writer at a time


class _Journal:
    """What is noted in a folder's lock: files that may be removed once the manifest does not name them."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder, self.descriptor = folder, descriptor
        self.names = _journal_names(folder)

    def record(self, names: set[str]) -> None:
        """Note the names of files before any of them is made or replaced."""
        self.names = names
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, json.dumps(sorted(names)).encode())
        os.fsync(self.descriptor)

    def clear(self) -> None:
        """Remove the files noted that the manifest does not name, and then the lock itself."""
        manifest = self.folder / MANIFEST
        current = _manifest_facts(self.folder)["data"] if manifest.exists() else None
        for name in sorted(self.names - {current}):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / LOCK).unlink(missing_ok=True)


def _journal_names(folder: Path) -> set[str]:
    """Return the names in a folder's lock, those alone that a save can have made."""
    try:
        with _open_plain(folder / LOCK) as file:
            names = json.loads(file.read(_LARGEST_MANIFEST))
    except (OSError, ValueError, RecursionError, StoreError):
        return set()  # no lock, or one whose owner had noted nothing yet
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return {name for name in known if _DATA.fullmatch(name) or _PART.fullmatch(name)}


@contextmanager
def _only_writer(folder: Path) -> Iterator[_Journal]:
    """Make a folder and claim its lock; afterwards all that is noted there, but for the current save, is removed."""
    made = not folder.exists()
    try:
        with ExitStack() as stack:
            journal = _Journal(folder, _lock(folder, stack))
            try:
                yield journal
            finally:
                with contextlib.suppress(OSError, StoreError):  # what cannot be removed stays noted
                    journal.clear()
    finally:
        if made:
            with contextlib.suppress(OSError):  # it holds what was saved, unless saving failed
                folder.rmdir()


def _lock(folder: Path, stack: ExitStack) -> int:
    """Claim a folder's lock while the stack is open, waiting for other writers; return its descriptor."""
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
    """Write the data, then the manifest; noted first is every file that this makes or leaves without a manifest."""
    parts = [folder / f"part-{secrets.token_hex(8)}" for _ in range(2)]
    journal.record({*journal.names, *_data_files(folder), data, *(part.name for part in parts)})
    tensors.write(parts[0])
    flush(parts[0])
    parts[0].replace(folder / data)
    parts[1].write_bytes(manifest)
    flush(parts[1])
    flush(folder)  # the data's name is on the disk before the manifest that names it
    parts[1].replace(folder / MANIFEST)
    flush(folder)

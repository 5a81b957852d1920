"""Saved folders: arrays and JSON-able facts, replaced in one step, memory-mapped, never pickled.

A folder holds a manifest and the data file that it names::

    parasphere.json                             kind, version, facts, and the data file's name, size and checksum
    parasphere-3f1c09ab55d2e871.safetensors     the arrays

**Saving.** A data file has a random name and never changes. It is written first; then the new manifest replaces the old
one by a rename, which is the moment at which the folder changes. One process writes at a time, while it holds
``parasphere.lock``. Before it releases the lock, it removes all data files except the one that the manifest names: the
old one, and those left by saves that were killed. Nothing else in a folder is ever removed. Every write creates a new
file, so that nothing is written through a link.

**Loading** takes no lock. If a data file is missing because the folder was saved again meanwhile, the new manifest is
read; a data file that is open stays readable. The CRC-32 checksums detect accidental damage only: code that uses loaded
numbers relies on its own checks of them.
"""

import contextlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import StoreError
from .lock import LOCK, only_one
from .output import flush, writing
from .paths import path_of
from .tensors import Arrays, Tensors, map_tensors, open_plain

VERSION = 2
MANIFEST = "parasphere.json"
WAIT_SECONDS = 60.0  # to wait for another process that writes to the same folder

_DATA = re.compile(r"parasphere-[0-9a-f]{16}\.safetensors")
_OURS = re.compile(r"parasphere-[0-9a-f]{16}\.(safetensors|part)")
_LARGEST_MANIFEST = 8 << 20  # bytes; as Python objects it can take thirty times as much memory
_FIELDS = {"version": int, "kind": str, "data": str, "size": int, "crc32": int, "meta": dict}


def save(folder: str | Path, kind: str, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able facts to ``folder``, replacing an earlier save in one step.

    Parameters
    ----------
    folder : path
        Created if necessary. If it exists, it must be empty or hold an earlier save of the same kind; files not written
        by parasphere are not changed.
    kind : str
        What is saved ("word-vectors", "bags", ...); :func:`load` checks it.
    arrays : mapping of str to ndarray
        Numbers and booleans, of any shapes.
    meta : mapping
        JSON-able facts.

    Raises
    ------
    StoreError
        If the folder cannot or must not be written to; its content is then unchanged.
    """
    folder = path_of(folder)
    check_target(folder, kind)
    tensors, data = Tensors(arrays), f"parasphere-{secrets.token_hex(8)}.safetensors"
    manifest = {
        "format": "parasphere", "version": VERSION, "kind": kind, "data": data,
        "size": tensors.size, "crc32": tensors.checksum(), "meta": dict(meta),
    }  # fmt: skip
    manifest["manifest_crc32"] = _manifest_checksum(manifest)
    text = json.dumps(manifest, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(text) > _LARGEST_MANIFEST:
        raise StoreError(f"{folder}: the facts take {len(text):,} bytes; at most {_LARGEST_MANIFEST:,} can be saved.")
    kept = "What it held before is unchanged." if is_saved(folder) else "Nothing was saved."
    with writing(folder, kept), _only_writer(folder):
        check_target(folder, kind)  # again, as another process may have saved something else meanwhile
        _replace(folder, tensors, data, text)


def check_target(folder: str | Path, kind: str) -> None:
    """Raise if :func:`save` cannot or must not write to a folder; nothing is changed."""
    folder = path_of(folder)
    if not folder.exists():
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise StoreError(f"{folder} cannot be created: {above} is not a writable folder.")
        return
    if not folder.is_dir():
        raise StoreError(f"{folder} is a file, but a folder is to be written. Choose another name.")
    if not (folder / MANIFEST).exists():
        foreign = sorted(name for name in _names(folder) if name != LOCK and not _OURS.fullmatch(name))
        if (folder / MANIFEST).exists():  # another process has just saved
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
    folder = path_of(folder)
    with writing(folder, "Some of it may be left."):
        with _only_writer(folder):
            (folder / MANIFEST).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def load(folder: str | Path, kind: str, *, verify: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """Map the arrays of a saved folder into memory, read-only, and return them with the meta.

    Only the types and shapes of the arrays are checked: code that uses their numbers as sizes or positions must check
    the numbers.

    Parameters
    ----------
    folder : path
        A folder written by :func:`save`.
    kind : str
        What the folder must hold.
    verify : bool, default=True
        Compare the data file with its checksum.

    Returns
    -------
    arrays : dict of str to read-only ndarray
        Memory-mapped; pages are shared between processes.
    meta : dict
        The facts that were saved.
    """
    folder = path_of(folder)
    manifest = read_manifest(folder)
    while True:
        if manifest["kind"] != kind:
            raise StoreError(f"{folder} holds {manifest['kind']!r:.60}, not {kind!r}.")
        path = folder / manifest["data"]
        try:
            return map_tensors(path, manifest["size"], manifest["crc32"] if verify else None), manifest["meta"]
        except FileNotFoundError:
            newer = read_manifest(folder)
            if newer == manifest:
                raise StoreError(f"{path} is missing, though {MANIFEST} names it. Save the folder again.") from None
            manifest = newer  # the folder was saved again during reading
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error


def is_saved(folder: str | Path, kind: str | None = None) -> bool:
    """Return whether a folder was written by :func:`save`, and is of this kind unless that is None."""
    folder = path_of(folder)
    if not (folder / MANIFEST).is_file():
        return False
    return kind is None or read_manifest(folder)["kind"] == kind


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the checked manifest of a saved folder: ``kind``, ``meta``, and ``data``, which differs for every save."""
    folder = path_of(folder)
    manifest = _manifest_facts(folder)
    try:
        intact = manifest.get("manifest_crc32") == _manifest_checksum(manifest)
    except RecursionError:
        intact = False
    if not intact:
        raise StoreError(f"{folder / MANIFEST} was changed after it was written. Save the folder again.")
    return manifest


def _manifest_facts(folder: Path) -> dict[str, Any]:
    """Return a manifest whose fields have the right types; its checksum is not checked."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder; a folder that parasphere saved is needed.")
    try:
        with open_plain(path) as file:
            text = file.read(_LARGEST_MANIFEST + 1)
    except FileNotFoundError:
        raise StoreError(f"{folder} holds no {MANIFEST}: parasphere did not save it.") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}).") from error
    if len(text) > _LARGEST_MANIFEST:
        raise StoreError(f"{path} has more than {_LARGEST_MANIFEST:,} bytes, which no save writes: it is damaged.")
    try:
        manifest = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not readable JSON ({error}): it is damaged.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "parasphere":
        raise StoreError(f"{path} was not written by parasphere.")
    version = manifest.get("version")
    if type(version) is int and version != VERSION:
        advice = "Upgrade parasphere" if version > VERSION else "Make it again, in a new folder"
        raise StoreError(f"{folder} has format version {version}; this parasphere reads version {VERSION}. {advice}.")
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
        others = _names(folder) - {MANIFEST, LOCK}
        return bool(others) and all(_OURS.fullmatch(name) for name in others)
    return False


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _manifest_checksum(manifest: Mapping[str, Any]) -> int:
    rest = {key: value for key, value in manifest.items() if key != "manifest_crc32"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Create a folder and hold its lock; afterwards remove all data files except that of the manifest."""
    made = not folder.exists()
    busy = f"{folder} has been written to by another process for {WAIT_SECONDS:.0f} s. Try again later."
    try:
        with only_one(folder, busy, WAIT_SECONDS):
            try:
                yield
            finally:
                with contextlib.suppress(OSError, StoreError):
                    _clean(folder)
    finally:
        if made:
            with contextlib.suppress(OSError):  # fails unless saving failed and left the folder empty
                folder.rmdir()


def _replace(folder: Path, tensors: Tensors, data: str, manifest: bytes) -> None:
    """Write the data, then the manifest under another name, and rename it."""
    part = folder / f"parasphere-{secrets.token_hex(8)}.part"
    tensors.write(folder / data)
    flush(folder / data)
    with part.open("xb") as file:
        file.write(manifest)
    flush(part)
    flush(folder)  # the data file is on the disk before the manifest that names it
    part.replace(folder / MANIFEST)
    flush(folder)


def _clean(folder: Path) -> None:
    """Remove all data files and parts except the data file that the manifest names."""
    current = _manifest_facts(folder)["data"] if (folder / MANIFEST).exists() else None
    for name in _names(folder):
        if _OURS.fullmatch(name) and name != current:
            with contextlib.suppress(OSError):  # Windows removes no mapped file; the next save tries again
                (folder / name).unlink()

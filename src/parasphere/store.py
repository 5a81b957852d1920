"""What is written to disk, and how: a folder of safetensors and JSON, atomic, memory-mapped, never pickled.

A folder holds one data file and one manifest that names it::

    parasphere.json             kind, format version, meta, the data file's name, size and checksum
    data-3f1c….safetensors      the arrays

The data file is written first, under a name made of its content, and the manifest last, by a rename. The
rename is the moment of truth: a kill before it leaves the old folder as it was, a kill after it leaves the
new one.
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from .errors import StoreError

VERSION = 1
MANIFEST = "parasphere.json"
# A larger data file is checked by its size alone unless `verify=True`: hashing it would read every page of
# what is meant to be mapped.
ALWAYS_VERIFIED = 16 << 20
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip

Arrays = dict[str, NDArray[Any]]


def save(folder: str | Path, kind: str, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able facts to ``folder``, replacing what it held in one step.

    Parameters
    ----------
    folder : path
        Made if need be. If it exists it must be empty or hold an earlier save of ours.
    kind : str
        What this is ("word-vectors", "bags", ...); :func:`load` insists on it.
    arrays : mapping of str to ndarray
        Any shapes; the dtypes safetensors knows.
    meta : mapping
        Anything JSON can hold.
    """
    folder = Path(folder).expanduser()
    check_target(folder, kind)
    folder.mkdir(parents=True, exist_ok=True)
    data, size, checksum = _write_data(folder, arrays)
    manifest = {
        "format": "parasphere", "version": VERSION, "kind": kind, "data": data, "size": size,
        "sha256": checksum, "meta": dict(meta),
    }  # fmt: skip
    manifest["manifest_sha256"] = _manifest_checksum(manifest)
    _write_manifest(folder, json.dumps(manifest, indent=1, ensure_ascii=False))
    for stale in folder.iterdir():
        if _ours(stale.name) and stale.name not in (MANIFEST, data):
            with contextlib.suppress(OSError):  # another process may have been quicker
                stale.unlink()


def check_target(folder: str | Path, kind: str) -> None:
    """Raise if :func:`save` could not or should not write to a folder; nothing is changed."""
    folder = Path(folder).expanduser()
    if folder.is_file():
        raise StoreError(f"{folder} is a file; a folder is written here. Choose another name.")
    if not folder.exists():
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise StoreError(f"{folder} cannot be made: {above} is not a folder one may write to.")
        return
    if not (folder / MANIFEST).exists():
        if any(not _ours(path.name) for path in folder.iterdir()):
            raise StoreError(f"{folder} holds files that parasphere did not write. Choose a new or empty folder.")
        return
    try:
        found = _read_manifest(folder)["kind"]
    except StoreError:
        return  # what is damaged may be replaced
    if found != kind:
        raise StoreError(f"{folder} holds {found!r}, which {kind!r} must not replace. Choose another folder.")


def remove(folder: str | Path) -> None:
    """Remove what :func:`save` wrote, and the folder if nothing else is in it."""
    folder = Path(folder).expanduser()
    for path in list(folder.iterdir()):
        if _ours(path.name):
            path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def load(folder: str | Path, kind: str, *, verify: bool | None = None) -> tuple[Arrays, dict[str, Any]]:
    """Map the arrays of a saved folder into memory, read-only, and return them with the meta.

    Parameters
    ----------
    folder : path
    kind : str
        What the folder must hold.
    verify : bool, optional
        Compare the data file with its checksum. By default only files up to 16 MiB are; every file's size is.

    Returns
    -------
    arrays : dict of str to read-only ndarray
        Pages are read when touched, and shared between processes.
    meta : dict
    """
    folder = Path(folder).expanduser()
    manifest = _read_manifest(folder)
    if manifest["kind"] != kind:
        raise StoreError(f"{folder} holds {manifest['kind']!r}, not {kind!r}.")
    path = folder / manifest["data"]
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"{path} is missing, though {MANIFEST} names it. Save the folder again.") from None
    if size != manifest["size"]:
        raise StoreError(f"{path} has {size:,} bytes where {manifest['size']:,} were written: it is damaged.")
    if verify or (verify is None and size <= ALWAYS_VERIFIED):
        found = _checksum(path)
        if found != manifest["sha256"]:
            raise StoreError(f"{path} was changed after it was written: its checksum is {found[:12]}…, "
                             f"not {manifest['sha256'][:12]}…. Save the folder again.")  # fmt: skip
    return map_arrays(path), manifest["meta"]


def is_saved(folder: str | Path, kind: str | None = None) -> bool:
    """Tell whether a folder holds a save of ours (of this kind, if one is named)."""
    folder = Path(folder).expanduser()
    if not (folder / MANIFEST).is_file():
        return False
    return kind is None or _read_manifest(folder)["kind"] == kind


def map_arrays(path: str | Path) -> Arrays:
    """Memory-map every array of a safetensors file, read-only.

    The safetensors library copies; the format itself (an eight-byte length, a JSON header, raw bytes) does
    not ask for it.
    """
    path = Path(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise StoreError(f"{path} has no readable safetensors header: {error}.") from None
    try:
        return {name: _mapped(path, 8 + length, entry) for name, entry in header.items() if name != "__metadata__"}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path} has a header that does not fit its data ({error!r}): it is damaged.") from error


def _mapped(path: Path, begin: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    if 0 in shape:  # an empty range cannot be mapped
        return np.empty(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=begin + entry["data_offsets"][0], shape=shape)


def _ours(name: str) -> bool:
    return name == MANIFEST or (name.startswith(("data-", "part-")) and name.endswith((".safetensors", ".json")))


def _write_data(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, int, str]:
    part = _part(folder, ".safetensors")
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, part)
        _flush(part)
        checksum = _checksum(part)
        name = f"data-{checksum[:16]}.safetensors"
        size = part.stat().st_size
        part.replace(folder / name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return name, size, checksum


def _write_manifest(folder: Path, text: str) -> None:
    part = _part(folder, ".json")
    try:
        part.write_text(text, encoding="utf-8")
        _flush(part)
        part.replace(folder / MANIFEST)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(folder: Path, suffix: str) -> Path:
    # Not by `tempfile`, whose files only their owner may read: a saved folder is for others too.
    return folder / f"part-{os.getpid()}-{secrets.token_hex(6)}{suffix}"


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder; one that parasphere saved is needed.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{folder} holds no {MANIFEST}: parasphere did not save it.") from None
    except ValueError as error:
        raise StoreError(f"{path} is not readable JSON ({error}): it is damaged.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "parasphere":
        raise StoreError(f"{path} was not written by parasphere.")
    version = manifest.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise StoreError(f"{folder} has format version {version}; this parasphere reads up to {VERSION}. Upgrade it.")
    if manifest.get("manifest_sha256") != _manifest_checksum(manifest):
        raise StoreError(f"{path} was changed after it was written. Save the folder again.")
    return manifest

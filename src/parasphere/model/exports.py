"""Document vectors in files for other programs: Parquet, .npy and .csv, written block by block."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ..corpus import Block
from ..errors import ParasphereError
from ..storage import replacing
from .posterior import Posterior, Space

Write = Callable[[Block, Posterior], None]
_OWN = {"id", "label", "information", "concentration", "length", "unknown", "vector"}  # columns of the files
_NPY_HEADER = 128  # bytes, enough for any number of rows, which is known only at the end


@contextmanager
def writer(path: str | Path, dim: int, space: Space = "offset") -> Iterator[Write]:
    """Open a file for document vectors; yields ``write(block, posterior)``. The file appears when it is complete.

    Parameters
    ----------
    path : path
        ``.parquet`` and ``.csv`` files have one row per document with its id, label and carried columns (if any),
        ``information`` (how much it says, in nats), ``concentration``, ``length`` and ``unknown``, and its vector: one
        list column in Parquet, columns ``v0``, ``v1``, ... in CSV. ``.npy`` files have the (n_docs, dim) vectors alone.
        "-" is CSV to standard output.
    dim : int
        Dimension of the vectors.
    space : {"offset", "direction"}, default="offset"
        Which vectors are written (:meth:`SphericalParagraphModel.transform`).
    """
    if str(path) == "-":
        with _csv(sys.stdout.buffer, dim, space) as write:
            yield write
        return
    path = Path(path)
    openers = {".parquet": _parquet, ".npy": _npy, ".csv": _csv}
    kind = path.suffix.lower()
    if kind not in openers:
        raise ParasphereError(
            f"{path} must end in {', '.join(openers)}: these are the formats that vectors are written in."
        )
    with replacing(path) as part, openers[kind](part, dim, space) as write:
        yield write


def _table(block: Block, posterior: Posterior, vectors: dict[str, pa.Array]) -> pa.Table:
    columns: dict[str, Any] = {}
    if block.ids is not None:
        columns["id"] = block.ids
    if block.labels is not None:
        columns["label"] = block.labels
    if block.carried is not None:
        columns |= dict(zip(_carried_names(block), block.carried.flatten(), strict=True))
    columns["information"] = posterior.information
    columns["concentration"] = posterior.concentration
    columns["length"] = posterior.length
    columns["unknown"] = posterior.unknown
    return pa.table({**columns, **vectors})


def _carried_names(block: Block) -> list[str]:
    names = [field.name for field in block.carried.type]  # type: ignore[union-attr]
    absent = {name for name, column in (("id", block.ids), ("label", block.labels)) if column is None}
    taken = (_OWN - absent) & set(names) or {name for name in names if re.fullmatch(r"v\d+", name)}
    if taken:
        raise ParasphereError(
            f"the column {sorted(taken)[0]!r} cannot be carried along: what is written has one of its own. Rename it."
        )
    return names


@contextmanager
def _parquet(part: Path, dim: int, space: Space) -> Iterator[Write]:
    opened: list[pq.ParquetWriter] = []

    def write(block: Block, posterior: Posterior) -> None:
        flat = pa.array(np.ascontiguousarray(posterior.vectors(space)).reshape(-1))
        table = _table(block, posterior, {"vector": pa.FixedSizeListArray.from_arrays(flat, dim)})
        if not opened:
            opened.append(pq.ParquetWriter(part, table.schema))
        opened[0].write_table(table)

    try:
        yield write
        if not opened:  # an empty corpus still has columns
            kind = pa.list_(pa.float32(), dim)
            pq.write_table(pa.table({"vector": pa.array([], kind)}), part)
    finally:
        for file in opened:
            file.close()


@contextmanager
def _csv(part: Path | BinaryIO, dim: int, space: Space) -> Iterator[Write]:
    opened: list[pa_csv.CSVWriter] = []

    def write(block: Block, posterior: Posterior) -> None:
        names = [f"v{i}" for i in range(dim)]
        table = _table(block, posterior, dict(zip(names, posterior.vectors(space).T, strict=True)))
        if not opened:
            opened.append(pa_csv.CSVWriter(str(part) if isinstance(part, Path) else part, table.schema))
        opened[0].write_table(table)

    try:
        yield write
        if not opened:
            header = (",".join(f"v{i}" for i in range(dim)) + "\n").encode()
            part.write_bytes(header) if isinstance(part, Path) else part.write(header)
    finally:
        for file in opened:
            file.close()


@contextmanager
def _npy(part: Path, dim: int, space: Space) -> Iterator[Write]:
    count = 0
    dtype = np.dtype(np.float32)
    with part.open("wb") as file:
        file.write(b" " * _NPY_HEADER)

        def write(block: Block, posterior: Posterior) -> None:
            nonlocal count, dtype
            if block.carried is not None:
                raise ParasphereError("an .npy file holds vectors alone: carry columns along to .parquet or .csv.")
            dtype = posterior.direction.dtype
            count += len(posterior)
            file.write(np.ascontiguousarray(posterior.vectors(space)).data)

        yield write
        file.seek(0)
        _write_npy_header(file, (count, dim), dtype)


def _write_npy_header(file: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    facts = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode()
    size = _NPY_HEADER - 10
    file.write(b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + facts.ljust(size - 1) + b"\n")

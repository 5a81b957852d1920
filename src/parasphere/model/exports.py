"""Writing document vectors to files for other programs: .npy, .jsonl, .csv and Parquet, block by block."""

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import orjson
from numpy.typing import NDArray

from ..corpus import Block
from ..errors import ParasphereError, import_extra
from ..storage import replacing
from .posterior import Posterior, Space

Write = Callable[[Block, Posterior], None]
_OWN = {"id", "label", "information", "concentration", "length", "unknown", "vector"}  # columns of the files
_NPY_HEADER = 128  # bytes: enough for any number of rows, which is known only at the end


@contextmanager
def writer(path: str | Path, dim: int, space: Space = "offset") -> Iterator[Write]:
    """Open a file for document vectors; yield ``write(block, posterior)``. The file is created only when complete.

    Parameters
    ----------
    path : path
        ``.jsonl``, ``.csv`` and ``.parquet`` (extra ``arrow``) files have one row per document with its id, label and
        carried columns (if any), ``information`` (in nats), ``concentration``, ``length`` and ``unknown`` (see
        :class:`Posterior`), and its vector: one list, or in CSV columns ``v0``, ``v1``, ... ``.npy`` files have only
        the (n_docs, dim) vectors; ids are written beside them as a JSON list, ``v.ids.json`` for ``v.npy``. "-" writes
        CSV to standard output.
    dim : int
        Dimension of the vectors.
    space : {"offset", "direction"}, default="offset"
        Which vectors are written (:meth:`SphericalParagraphModel.transform`).
    """
    if str(path) == "-":
        yield _csv(sys.stdout.buffer, dim, space)
        return
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _OPENERS:
        raise ParasphereError(
            f"{path} must end in one of {', '.join(_OPENERS)}, the formats that vectors are written in."
        )
    if kind == ".parquet":
        import_extra("pyarrow", "arrow", f"Writing {path}")
    with _OPENERS[kind](path, dim, space) as write:
        yield write


def ids_beside(path: str | Path) -> Path:
    """Return the path of the ids of an .npy file."""
    return Path(path).with_suffix(".ids.json")


def _columns(block: Block, posterior: Posterior) -> dict[str, Any]:
    """Return the columns of a block except the vectors, as lists and arrays."""
    columns: dict[str, Any] = {}
    if block.ids is not None:
        columns["id"] = block.ids
    if block.labels is not None:
        columns["label"] = block.labels
    if block.carried is not None:
        _check_names(block)
        columns |= block.carried
    columns["information"] = posterior.information
    columns["concentration"] = posterior.concentration
    columns["length"] = posterior.length
    columns["unknown"] = posterior.unknown
    return columns


def _check_names(block: Block) -> None:
    names = block.carried or {}
    absent = {name for name, column in (("id", block.ids), ("label", block.labels)) if column is None}
    taken = (_OWN - absent) & set(names) or {name for name in names if re.fullmatch(r"v\d+", name)}
    if taken:
        raise ParasphereError(
            f"the column {sorted(taken)[0]!r} cannot be carried along: the output has a column of this name. Rename it."
        )


def _vectors(posterior: Posterior, space: Space) -> NDArray[Any]:
    return np.ascontiguousarray(posterior.vectors(space))


@contextmanager
def _jsonl(path: Path, _dim: int, space: Space) -> Iterator[Write]:
    with replacing(path) as part, part.open("wb") as file:

        def write(block: Block, posterior: Posterior) -> None:
            columns = {name: _within_64_bits(_plain(column)) for name, column in _columns(block, posterior).items()}
            columns["vector"] = list(_vectors(posterior, space))
            for row in zip(*columns.values(), strict=True):
                option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
                file.write(orjson.dumps(dict(zip(columns, row, strict=True)), default=str, option=option))

        yield write


@contextmanager
def _csv_file(path: Path, dim: int, space: Space) -> Iterator[Write]:
    with replacing(path) as part, part.open("wb") as file:
        yield _csv(file, dim, space)
        if not file.tell():  # an empty corpus still has columns
            file.write(",".join(f"v{i}" for i in range(dim)).encode() + b"\n")


def _csv(file: BinaryIO, dim: int, space: Space) -> Write:
    begun = False

    def write(block: Block, posterior: Posterior) -> None:
        nonlocal begun
        columns = {name: _plain(column) for name, column in _columns(block, posterior).items()}
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        if not begun:
            rows.writerow([*columns, *(f"v{i}" for i in range(dim))])
            begun = True
        for *cells, vector in zip(*columns.values(), _vectors(posterior, space), strict=True):
            rows.writerow(cells + orjson.loads(orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY)))
        file.write(text.getvalue().encode())

    return write


def _plain(column: Any) -> list[Any]:
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return values


def _within_64_bits(column: list[Any]) -> list[Any]:
    """Return a column with strings in place of larger integers, which few readers of JSON keep."""
    return [str(x) if isinstance(x, int) and not -(2**63) <= x < 2**64 else x for x in column]


@contextmanager
def _parquet(path: Path, dim: int, space: Space) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened: list[Any] = []
    with replacing(path) as part, ExitStack() as stack:

        def write(block: Block, posterior: Posterior) -> None:
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(_vectors(posterior, space).reshape(-1)), dim)
            columns = _columns(block, posterior) | {"vector": vectors}
            try:
                table = pa.table(columns, opened[0].schema if opened else None)
            except (pa.ArrowException, TypeError, OverflowError) as error:
                at = f"the documents from position {block.start} on"
                raise ParasphereError(f"a column is not of one type in {at} ({error}); write .jsonl instead") from None
            if not opened:
                opened.append(stack.enter_context(pq.ParquetWriter(part, table.schema)))
            opened[0].write_table(table)

        yield write
        if not opened:  # an empty corpus still has columns
            pq.write_table(pa.table({"vector": pa.array([], pa.list_(pa.float32(), dim))}), part)


@contextmanager
def _npy(path: Path, dim: int, space: Space) -> Iterator[Write]:
    count = 0
    dtype = np.dtype(np.float32)
    ids: list[bytes] = []
    with replacing(path) as part:
        with part.open("wb") as file:
            file.write(b" " * _NPY_HEADER)

            def write(block: Block, posterior: Posterior) -> None:
                nonlocal count, dtype
                if block.carried is not None or block.labels is not None:
                    raise ParasphereError(
                        "an .npy file holds only vectors, with the ids in a list beside it: write labels and other "
                        "columns to .jsonl, .csv or .parquet."
                    )
                if block.ids is not None:
                    ids.append(orjson.dumps(_within_64_bits(block.ids), default=str)[1:-1])
                dtype = posterior.direction.dtype
                count += len(posterior)
                file.write(_vectors(posterior, space).data)

            yield write
            file.seek(0)
            _write_npy_header(file, (count, dim), dtype)
        if ids:
            with replacing(ids_beside(path)) as beside:
                beside.write_bytes(b"[" + b",".join(ids) + b"]\n")
        else:
            ids_beside(path).unlink(missing_ok=True)  # of an earlier file


def _write_npy_header(file: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    facts = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode()
    size = _NPY_HEADER - 10
    file.write(b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + facts.ljust(size - 1) + b"\n")


_OPENERS = {".npy": _npy, ".jsonl": _jsonl, ".csv": _csv_file, ".parquet": _parquet}

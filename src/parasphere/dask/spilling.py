"""The bags of partitions in files: written once, mapped into memory in each step of EM. All of this runs on workers.

A partition consists of files, its pieces (bags of documents with known words), and a folder with the statistics from
which EM starts. The folder is written last, so that a partition with statistics is complete. It has the checksums of
the pieces, so that a damaged or exchanged piece is noticed. Everything is written under another name and renamed, and
its content depends on the documents alone, so that two workers may write the same partition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from .. import storage
from ..errors import ParasphereError, StoreError
from ..model import Bags, CorpusStatistics, Partition, Prior, Reader
from .outcomes import Errors, Outcome, attempt

PIECE = 1 << 26  # bytes of sums of a piece, about
_REMEDY = "remove its parent folder and fit again."


@dataclass(frozen=True)
class Reading:
    """How the partitions of a corpus are read, and into which folder.

    Attributes
    ----------
    folder : Path
        The folder of the partitions.
    reader : Path
        The folder of the saved reader.
    tokenizer : callable or None
        The tokenizer of the reader, if it is a Python function, which is not saved.
    columns : dict
        Passed to :func:`parasphere.corpus.blocks`.
    errors : {"raise", "skip"}
    """

    folder: Path
    reader: Path
    tokenizer: Any
    columns: dict[str, Any]
    errors: Errors

    def partition(self, number: int) -> Path:
        """Return the folder of a partition."""
        return self.folder / f"partition-{number:06d}"


def save_reader(folder: Path, reader: Reader) -> Path:
    """Save a reader with its vectors to a subfolder that is named by a hash of its content; return the subfolder."""
    # Vectors that were loaded from a file of this machine are copied: workers may not have it.
    reader = Reader(
        reader.vectors.without_source(), reader.tokenizer, weights=reader.weights,
        unknown_weight=reader.unknown_weight, dtype=reader.dtype,
    )  # fmt: skip
    facts, arrays = storage.packed(reader, "reader")
    named = folder / f"reader-{storage.key_of(storage.Tensors(arrays).digest(), facts)[:16]}"
    if not storage.is_saved(named):
        storage.save(named, "reader", arrays, {"reader": facts})
    return named


@lru_cache(maxsize=2)
def load_reader(folder: Path, tokenizer: Any) -> Reader:
    """Return a saved reader; it is loaded once per process."""
    arrays, facts = storage.load(folder, "reader")
    reader: Reader = storage.unpacked(facts["reader"], arrays, "reader", tokenizer=tokenizer)
    return reader


def read_partition(material: Any, number: int, name: str, reading: Reading) -> Outcome:
    """Write the bags of a partition to files, unless that has been done; return the statistics that EM starts from."""
    folder = reading.partition(number)

    def work() -> tuple[CorpusStatistics, int]:
        if not storage.is_saved(folder):
            _save_statistics(folder, _read(material, folder, reading))
        statistics = load_statistics(folder)
        return statistics, statistics.counts["documents"]

    return attempt(number, name, reading.errors, work)


def step_partition(files: list[tuple[Path, int]], number: int, name: str, prior: Prior) -> Outcome:
    """Return the statistics of a partition under a prior, given its :func:`pieces`."""

    def work() -> tuple[CorpusStatistics, None]:
        parts = (Partition(_load_piece(*piece)).statistics(prior) for piece in files)
        return reduce(add, parts), None

    return attempt(number, name, "raise", work)


def load_statistics(folder: Path) -> CorpusStatistics:
    """Return the statistics, from which EM starts, of a partition that has been read."""
    arrays, facts = storage.load(folder, "partition")
    _check_identity(folder, facts)
    try:
        statistics: CorpusStatistics = storage.unpacked(facts["statistics"], arrays, "statistics")
    except storage.WRONG_FACTS as error:
        raise StoreError(f"{folder} is damaged ({error}); {_REMEDY}") from error
    return statistics


def pieces(folder: Path) -> list[tuple[Path, int]]:
    """Return the pieces of a partition that has been read, in the order of the documents, and their checksums."""
    facts = storage.read_manifest(folder)["meta"]
    _check_identity(folder, facts)
    return [(_piece(folder, number), checksum) for number, checksum in enumerate(facts["pieces"])]


def _check_identity(folder: Path, facts: dict[str, Any]) -> None:
    """Raise unless the folder of a partition was written for it."""
    if facts.get("partition") != _identity(folder):
        raise StoreError(f"{folder} holds {str(facts.get('partition'))[:60]!r}, another partition; {_REMEDY}")


def _identity(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def _piece(folder: Path, number: int) -> Path:
    return folder.with_name(f"{folder.name}-piece-{number:05d}.safetensors")


def _save_piece(path: Path, bags: Bags) -> int:
    """Write bags; return their checksum."""
    tensors = storage.Tensors(bags.to_saved()[1])
    with storage.replacing(path) as part:
        tensors.write(part, "wb")
    return tensors.checksum()


def _load_piece(path: Path, checksum: int) -> Bags:
    """Map bags into memory, once per process."""
    status = path.stat()
    return _mapped_piece(path, checksum, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _mapped_piece(path: Path, checksum: int, _size: int, _changed: int) -> Bags:
    """Map bags into memory; their checksum and the consistency of their numbers are checked."""
    try:
        return Bags.from_saved({}, storage.map_tensors(path, checksum=checksum), {})
    except (ParasphereError, TypeError, ValueError, KeyError) as error:
        raise StoreError(f"{path} is damaged ({error}); {_REMEDY}") from error


def _save_statistics(folder: Path, read: tuple[CorpusStatistics, list[int]]) -> None:
    facts, arrays = storage.packed(read[0], "statistics")
    meta = {"statistics": facts, "partition": _identity(folder), "pieces": read[1]}
    storage.save(folder, "partition", arrays, meta)


def _read(material: Any, folder: Path, reading: Reading) -> tuple[CorpusStatistics, list[int]]:
    """Write the pieces of a partition; return the statistics of the bags, and the checksums of the pieces."""
    reader = load_reader(reading.reader, reading.tokenizer)
    counts = np.zeros(len(reader.vectors), np.int64)
    total = Partition(reader.empty(), word_counts=counts).statistics(None)
    checksums: list[int] = []
    for bags, words in _gathered(reader, material, reading.columns):
        part = Partition.of(bags, words)
        total = total + part.statistics(None)
        if len(part.bags):
            checksums.append(_save_piece(_piece(folder, len(checksums)), part.bags))
    return total, checksums


def _gathered(reader: Reader, material: Any, columns: dict[str, Any]) -> Iterator[tuple[Bags, Any]]:
    """Yield bags of about the size of a piece, and the counts of their words."""
    counts = np.zeros(len(reader.vectors))
    gathered, rows = [reader.empty()], 0
    most = max(1, PIECE // (reader.dim * reader.dtype.itemsize))
    for _, bags in reader.stream(material, None, counts, **columns):
        gathered.append(bags)
        rows += len(bags)
        if rows >= most:
            yield Bags.concatenate(gathered), counts
            gathered, rows = [reader.empty()], 0
            counts[:] = 0.0  # in place: the stream adds to it
    yield Bags.concatenate(gathered), counts

"""The parameters of reading a corpus, the same for every kind of source."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .block import Part
from .plain import Null, choose_column
from .unpacking import ByteReader


@dataclass(frozen=True)
class Request:
    """What to read from a source, and how."""

    path: Path | None  # None is standard input, or the source in memory called `name`
    text: str
    label: str | None
    id: str | None
    encoding: str
    block_bytes: int
    packing: str | None = None  # how the file is compressed; None if it is not
    null: Null = "error"
    carry: tuple[str, ...] = ()
    name: str = "standard input"

    @property
    def where(self) -> str:
        """The name of the source in messages."""
        return self.name if self.path is None else str(self.path)

    @property
    def columns(self) -> list[str]:
        """The requested columns, in the order text, label, id, others."""
        return [name for name in (self.text, self.label, self.id, *self.carry) if name is not None]

    def open(self) -> ByteReader:
        """Open the file, or standard input."""
        return ByteReader(self.path, self.where, self.packing)

    def choose(self, names: list[str]) -> "Request":
        """Return the request with its columns checked against those of the file."""
        for name in filter(None, (self.label, self.id, *self.carry)):
            choose_column(names, name, self.where)
        return replace(self, text=choose_column(names, self.text, self.where))

    def part(self, columns: list[list[Any]], consumed: int) -> Part:
        """Make a part from columns in the order of `self.columns`; the first holds texts."""
        texts, *others = columns
        labels, ids = (None if name is None else others.pop(0) for name in (self.label, self.id))
        return Part(texts, labels, ids, consumed, dict(zip(self.carry, others, strict=True)) if self.carry else None)

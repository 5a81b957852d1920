"""Copying selected documents of a file to another file, unchanged."""

import csv
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..errors import CorpusError
from ..storage import replacing
from .lines import csv_rows, whole_lines
from .unpacking import PACKINGS, ByteReader

SIZE = 1 << 20  # bytes that are read at a time
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def copy_documents(source: Path, target: Path, kept: list[bool], *, encoding: str = "utf-8") -> None:
    """Write selected documents of a file to another one of the same format, each with all of its columns.

    Parameters
    ----------
    source : path
        .txt, .jsonl, .ndjson, .csv or .tsv, perhaps compressed.
    target : path
        A file of the same format, not compressed; it is created only when it is complete.
    kept : (n_docs,) list of bool
        Which documents are written.
    encoding : str, default="utf-8"
        Encoding of the source; the target is UTF-8.
    """
    packing = PACKINGS.get(source.suffix.lower())
    suffix = (source if packing is None else source.with_suffix("")).suffix.lower()
    if suffix not in {".txt", ".jsonl", ".ndjson", *DELIMITERS}:
        raise CorpusError(f"{source}: only documents of .txt, .jsonl, .csv and .tsv are copied; copy others in Python")
    if target.suffix.lower() != suffix:
        raise CorpusError(f"{target}: its name must end in {suffix}, as its documents are copied from {source}")
    with (
        ByteReader(source, str(source), packing) as reader,
        replacing(target) as part,
        part.open("w", encoding="utf-8", newline="") as out,
    ):
        if suffix in DELIMITERS:
            rows = (row for _, row in csv_rows(reader, encoding, SIZE, DELIMITERS[suffix]))
            writer = csv.writer(out, delimiter=DELIMITERS[suffix], lineterminator="\n")
            writer.writerows(islice(rows, 1))
            writer.writerows(_chosen(rows, kept, source))
        else:
            lines = chain.from_iterable(lines for _, lines in whole_lines(reader, encoding, SIZE))
            documents = lines if suffix == ".txt" else (line for line in lines if line.strip())
            out.writelines(f"{line}\n" for line in _chosen(documents, kept, source))


def _chosen(documents: Iterator[Any], kept: list[bool], source: Path) -> Iterator[Any]:
    count = 0
    for document, keep in zip(documents, kept, strict=False):
        count += 1
        if keep:
            yield document
    if count < len(kept) or next(documents, None) is not None:
        raise CorpusError(f"{source}: the file has changed while it was read")

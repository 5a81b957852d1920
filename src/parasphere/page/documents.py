"""The documents that a page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..corpus import blocks
from ..errors import CorpusError, ParasphereError
from ..search import Column, Index

Columns = Sequence[str] | Mapping[str, Sequence[Any]] | None  # names, or names and values


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts, their ids and columns.

    Attributes
    ----------
    texts, ids : (n_docs,) list of str
    columns : list of Column
        Columns to filter and colour by, of kinds "text", "number" and "date".
    """

    texts: list[str]
    ids: list[str]
    columns: list[Column]

    def __len__(self) -> int:
        return len(self.texts)


def read_documents(source: Any, *, columns: Columns = None, ids: Any = None, **reading: Any) -> Documents:
    """Read a whole corpus into memory.

    Parameters
    ----------
    source : texts, table, path or Index
        What :func:`parasphere.corpus.blocks` takes, or an index. The names of subfolders become a column.
    columns : sequence of str or dict of sequences, default=None
        Columns to filter by: their names, or their names and values. None is none, or all columns of an index.
    ids : str or sequence, default=None
        Name of the column with the ids, or the ids themselves. Without ids texts are numbered from 1.
    **reading
        Passed to :func:`parasphere.corpus.blocks`.

    Examples
    --------
    >>> documents = read_documents(["a", "b"], columns={"kind": ["x", "y"], "year": [1999, 2001]})
    >>> [(column.name, column.kind) for column in documents.columns], documents.ids
    ([('kind', 'text'), ('year', 'number')], ['1', '2'])
    """
    if isinstance(columns, str):
        raise ParasphereError(f"columns must be a list of names, as in [{columns!r}], not one string")
    names = () if columns is None or isinstance(columns, Mapping) else tuple(columns)
    if isinstance(source, Index):
        return _of_index(source, names if columns is not None else tuple(source.columns), ids)
    held = list(blocks(source, id=ids, carry=names, **reading))
    if not held:
        raise CorpusError("there are no texts to show; give a corpus with at least two")
    texts = [" ".join(text) if block.tokenised else text for block in held for text in block.texts]
    values: dict[str, Sequence[Any]] = dict(columns) if isinstance(columns, Mapping) else {}
    if held[0].labels is not None:
        values["folder"] = [label for block in held for label in block.labels or ()]
    values |= {name: [value for block in held for value in (block.carried or {})[name]] for name in names}
    for name, column in values.items():
        if len(column) != len(texts):
            raise CorpusError(f'"{name}" has {len(column):,} values for {len(texts):,} texts; give one per text')
    own = [str(id) for block in held for id in block.ids or range(block.start + 1, block.start + len(block) + 1)]
    return Documents(texts, own, [Column.parsed(name, column) for name, column in values.items()])


def _of_index(index: Index, names: Sequence[str], ids: Any) -> Documents:
    """Return the documents of an index."""
    if ids is not None:
        raise ParasphereError("the documents of an index have ids of their own; leave ids out")
    if index.texts is None or index.bm25 is None:
        raise ParasphereError(
            "the index was made with texts=False or words=False; a page needs the texts and the words"
        )
    for name in names:
        if name not in index.columns:
            there = ", ".join(index.columns) or "none"
            raise ParasphereError(f'the index has no column "{name}"; its columns: {there}')
    columns = [Column.parsed(name, index.columns[name].tolist()) for name in names]
    return Documents(index.texts.tolist(), [str(id) for id in index.ids], columns)

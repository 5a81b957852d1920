"""Document vectors on a cluster: one Parquet file per partition."""

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq  # a dependency of dask.dataframe

from .. import storage
from ..errors import ParasphereWarning, StoreError
from ..model import Encoder
from ..model.exports import writer
from ..text import Tokenizer
from .connecting import current
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import Source, sources_of

_PART = re.compile(r"part-\d{6}-([0-9a-f]{16})\.parquet")


class Written(NamedTuple):
    """The files that :func:`transform` wrote.

    Attributes
    ----------
    documents : int
        Number of documents in all parts.
    parts : list of Path
        The Parquet files, in the order of the corpus.
    reused : int
        Number of parts that existed before.
    skipped : dict of str to str
        Why partitions were skipped, by their names.
    """

    documents: int
    parts: list[Path]
    reused: int
    skipped: dict[str, str]


class Sent(NamedTuple):
    """An encoder for workers: a folder that all of them can access, and the tokenizer, if that cannot be saved."""

    folder: Path
    tokenizer: Any


def transform(
    model: Any,
    corpus: Any,
    out: str | Path,
    *,
    space: str | None = None,
    client: Any = None,
    errors: Errors = "raise",
    **columns: Any,
) -> Written:
    """Write the vectors of a corpus to a folder, one Parquet file per partition.

    A file appears when it is complete, under a name with a hash of the model, the partition and the options. Existing
    files are not computed again: if anything dies, call ``transform`` again.

    Parameters
    ----------
    model : Encoder or fitted SphericalParagraphModel
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
    out : path
        A folder that all workers can access. It must not hold parts of another model or corpus.
    space : {"offset", "direction"}, default=None
        Which vectors are written; None is the ``space`` of the fit.
    client : dask.distributed.Client, default=None
        None is the last client made in this process.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read: raise an error that names the file and the row, or write no
        part for it, with a :class:`SkippedPartitionsWarning` at the end.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"`` or ``id="name"``.

    Returns
    -------
    Written
    """
    check_errors(errors)
    client, sources, folder = current(client), sources_of(corpus, columns), storage.path_of(out).absolute()
    encoder = Encoder.of(model)
    space = encoder.space if space is None else space
    with storage.only_one(folder, f"another transform is writing to {folder}: wait until it ends."):
        return _write(encoder, sources, folder, space, client, errors, columns)


def _write(
    encoder: Encoder, sources: Sequence[Source], folder: Path, space: Any, client: Any, errors: Errors,
    columns: dict[str, Any],
) -> Written:  # fmt: skip
    """Write the vectors of all partitions while no other process uses the folder."""
    sent = send(encoder, folder)
    options = {name: repr(value) for name, value in sorted(columns.items())}
    paths = {}
    for source in sources:
        key = storage.key_of("vectors", sent.folder.name, source.key, space, options)[:16]
        paths[source.number] = folder / f"part-{source.number:06d}-{key}.parquet"
    foreign = sorted(
        path.name for path in folder.iterdir() if _PART.fullmatch(path.name) and path not in paths.values()
    )
    if foreign:
        raise StoreError(
            f"{folder} holds {foreign[0]}, a part of another model, corpus or options. Choose another folder."
        )
    tasks = (
        submitted(client, _transform, source, paths[source.number], sent, space, errors, columns) for source in sources
    )
    outcome = total_of(client, tasks)
    warn_of_skipped(outcome, sources)
    storage.remove(sent.folder)
    parts = [paths[number] for number in sorted(outcome.facts)]
    return Written(outcome.total, parts, sum(outcome.facts.values()), outcome.skipped)


def send(encoder: Encoder, folder: Path) -> Sent:
    """Save an encoder to a subfolder that is named by a hash of its content."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParasphereWarning)  # a tokenizer that is a function is sent too
        facts, arrays = storage.packed(encoder.with_own_vectors(), "encoder")
        # Parquet datasets leave out folders whose names begin with an underscore.
        named = folder / f"_model-{storage.key_of(storage.Tensors(arrays).digest(), facts)[:16]}"
        if not storage.is_saved(named):
            encoder.save(named, embed_vectors=True)
    reader = encoder.reader
    return Sent(named, None if reader is None or isinstance(reader.tokenizer, Tokenizer) else reader.tokenizer)


@lru_cache(maxsize=2)
def received(sent: Sent) -> Encoder:
    """Return an encoder that was sent; it is loaded once per process."""
    return Encoder.load(sent.folder, tokenizer=sent.tokenizer)


def _transform(
    material: Any, number: int, name: str, path: Path, sent: Sent, space: Any, errors: Errors, columns: dict[str, Any]
) -> Outcome:
    """Write the part of a partition, unless it exists; the outcome is the number of documents."""

    def work() -> tuple[int, bool]:
        if path.exists():
            return pq.read_metadata(path).num_rows, True
        encoder, count = received(sent), 0
        with writer(path, encoder.dim, space) as write:
            for block, posterior in encoder.stream(material, **columns):
                write(block, posterior)
                count += len(block)
        return count, False

    return attempt(number, name, errors, work)

"""Fitting a model on a cluster: texts are read once; each EM iteration is a map over partitions and a sum."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .. import storage
from ..errors import ParasphereError
from ..model import CorpusStatistics, EMState, Prior, Reader, first_texts, run_em
from ..progress import progress
from ..text import Tokenizer
from ..vectors import is_learner
from .connecting import current
from .drawing import sample_texts
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import Source, sources_of
from .spilling import Reading, pieces, read_partition, save_reader, step_partition

Model = TypeVar("Model", bound=Any)


def fit(
    model: Model,
    corpus: Any,
    *,
    work: str | Path,
    client: Any = None,
    errors: Errors = "raise",
    sample: int = 100_000,
    keep: bool = False,
    **columns: Any,
) -> Model:
    """Fit a model to a corpus on a Dask cluster; the result is that of ``model.fit`` to the last bit.

    Texts are read once. The sums of their word vectors are kept in files, which workers map into memory in each
    iteration. If anything dies, call ``fit`` again with the same ``work``: partitions that have been read are not read
    again, and EM continues from the last iteration. Models with ``init="paper"`` are fitted in memory alone.

    Parameters
    ----------
    model : SphericalParagraphModel
        The model, which is fitted in place.
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
        Each file is a partition, of any kind that :func:`parasphere.corpus.blocks` reads.
    work : path
        A folder that all workers can access. It holds the sums, ``4 * dim + 32`` bytes per document, until the end.
        Only one fit can use it at a time.
    client : dask.distributed.Client, default=None
        None is the last client made in this process.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read: raise an error that names the file and the row, or leave the
        whole partition out, with a :class:`SkippedPartitionsWarning` at the end.
    sample : int, default=100000
        If the model learns word vectors, it learns them in this process, from so many texts drawn at random.
    keep : bool, default=False
        Keep the files in ``work`` for another fit to the same corpus, say with another ``prior_strength``.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"``.

    Returns
    -------
    model
    """
    check_errors(errors)
    if model.init != "data":
        raise ParasphereError(f'a cluster fits models with init="data"; init={model.init!r} is for fit, in memory')
    client, sources, work = current(client), sources_of(corpus, columns), storage.path_of(work).absolute()
    with storage.only_one(work, f"another fit is using {work}: wait until it ends, or choose another folder."):
        return _fit(model, corpus, sources, work, client, errors, sample, keep, columns)


def _fit(
    model: Model, corpus: Any, sources: Sequence[Source], work: Path, client: Any, errors: Errors, sample: int,
    keep: bool, columns: dict[str, Any],
) -> Model:  # fmt: skip
    """Fit a model while no other process uses the folder."""
    first = [] if model.tokenizer is not None else _first_texts(client, sources, errors, columns)
    reader = _reader(model, corpus, client, sample, columns, first)
    reading = _reading(reader, sources, work, errors, columns)
    first_sums = _read(client, sources, reading, bool(model.verbose))
    warn_of_skipped(first_sums, sources)
    state = _run_em(client, sources, reading, model, first_sums)
    model.keep(state, reader, first_sums.total.scatter(reader))
    if not keep:
        shutil.rmtree(reading.folder)
    return model


def _first_texts(client: Any, sources: Sequence[Source], errors: Errors, columns: dict[str, Any]) -> list[str]:
    """Return the first texts of the corpus, from which ``fit`` chooses a tokenizer for scripts without spaces."""
    for source in sources:
        texts = submitted(client, _look, source, errors, columns).result().total
        if texts:
            return list(texts)
    return []


def _look(material: Any, number: int, name: str, errors: Errors, columns: dict[str, Any]) -> Outcome:
    return attempt(number, name, errors, lambda: (first_texts(material, **columns)[1], None))


def _reader(model: Any, corpus: Any, client: Any, sample: int, columns: dict[str, Any], first: Sequence[str]) -> Reader:
    """Return the reader of a model; word vectors that are to be learned are learned here, from a sample."""
    if not is_learner(model.vectors):
        reader: Reader = model.make_reader(sample=first)
        return reader
    seed = model.random_state if isinstance(model.random_state, int) else 0
    drawn = sample_texts(corpus, sample, seed=seed, client=client, **columns)
    learned: Reader = model.make_reader(drawn, sample=first if getattr(model.vectors, "tokenizer", 0) is None else ())
    return learned


def _reading(reader: Reader, sources: Sequence[Source], work: Path, errors: Errors, columns: dict[str, Any]) -> Reading:
    """Return how the corpus is read, and into which folder; its name is a hash of all that the sums depend on."""
    saved = save_reader(work, reader)
    tokenizer = None if isinstance(reader.tokenizer, Tokenizer) else reader.tokenizer
    options = {name: repr(value) for name, value in sorted(columns.items())}
    key = storage.key_of("sums", saved.name, [source.key for source in sources], options, errors)
    folder = work / f"sums-{key[:16]}"
    folder.mkdir(exist_ok=True)
    return Reading(folder, saved, tokenizer, columns, errors)


def _read(client: Any, sources: Sequence[Source], reading: Reading, shown: bool) -> Outcome:
    """Read all partitions; the outcome's total is the statistics from which EM starts."""
    with progress("reading", len(sources), unit="partitions", shown=shown) as advance:

        def tasks() -> Iterator[Any]:
            for source in sources:
                yield submitted(client, read_partition, source, reading)
                advance(1)

        return total_of(client, tasks())


def _run_em(client: Any, sources: Sequence[Source], reading: Reading, model: Any, first_sums: Outcome) -> EMState:
    """Run EM, from its last iteration if it was interrupted; the state after each is written to a checkpoint."""
    options = {"strength": float(model.prior_strength), "method": model.kappa_method}
    limits = {"max_iter": model.max_iter, "tol": model.tol}
    folder = reading.folder / f"em-{storage.key_of(repr(options), repr(limits))[:16]}"
    checkpoint = storage.Checkpoint(folder, "em-state", {"corpus": reading.folder.name})
    names = {source.number: source.name for source in sources}
    # A step runs on the worker that holds the list of its files and has them cached; if it dies, Dask moves the list.
    known = sorted(number for number, documents in first_sums.facts.items() if documents)  # others have no files
    held = {number: client.submit(pieces, reading.partition(number), pure=False) for number in known}

    def statistics(prior: Prior | None) -> CorpusStatistics:
        if prior is None:
            total: CorpusStatistics = first_sums.total
            return total
        steps = (
            client.submit(step_partition, files, number, names[number], prior, pure=False)
            for number, files in held.items()
        )
        expected: CorpusStatistics = total_of(client, steps).total
        return expected

    with progress("EM", model.max_iter, unit="iterations", shown=bool(model.verbose)) as advance:

        def report(state: EMState) -> None:
            packed, arrays = storage.packed(state, "state")
            checkpoint.write(arrays, {"state": packed})
            advance(1)

        kept = checkpoint.resume()
        state = None if kept is None else storage.unpacked(kept[1]["state"], kept[0], "state")
        return run_em(statistics, **options, **limits, state=state, report=report)

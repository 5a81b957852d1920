"""Fitting a model on a cluster: read once, then a map and a sum per iteration."""

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from sklearn.base import clone

from .. import storage
from ..errors import ParasphereError
from ..model import Bags, CorpusStatistics, Reader, Run, first_texts
from ..model.em import BLOCK
from ..progress import progress
from ..text import Tokenizer
from ..vectors import is_learner
from .connecting import current
from .counting import sample_texts
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import Source, sources_of
from .spilling import Reading, bags_of, read_partition, save_reader, step_partition

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

    Texts are read once. The sums of their word vectors lie in files, which workers map into memory in each iteration.
    If anything dies, call ``fit`` again with the same ``work``: partitions that have been read are not read again, and
    EM goes on from the last iteration.

    Parameters
    ----------
    model : SphericalParagraphModel
        The model, which is fitted in place.
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
        Each file is a partition, of any kind that :func:`parasphere.corpus.blocks` reads.
    work : path
        A folder that all workers see. It holds the sums, of ``4 * dim + 32`` bytes per document, until the end.
    client : dask.distributed.Client, default=None
        None is the client that was made last.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read: raise an error that names the file and the row, or leave the
        whole partition out, with a :class:`SkippedPartitionsWarning` at the end.
    sample : int, default=100000
        If the model learns word vectors, it learns them in this process, from so many texts drawn from the corpus.
    keep : bool, default=False
        Keep the files in ``work`` for another fit to the same corpus, say with another ``prior_strength``.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"``.

    Returns
    -------
    model
    """
    check_errors(errors)
    model._validate_params()
    client, sources, work = current(client), sources_of(corpus, columns), Path(work).expanduser().absolute()
    first = [] if model.tokenizer is not None else _first_texts(client, sources, errors, columns)
    reader = _reader(model, corpus, client, sample, columns, first)
    reading = _reading(model, reader, sources, work, errors, columns)
    shown = bool(model.verbose)
    looked = _read(client, sources, reading, shown)
    warn_of_skipped(looked, sources)
    run = _run_em(client, sources, reading, model, looked, shown)
    model._fitted(run, looked.total.scatter(reader), reader, _few(run, sources, reading, looked))
    if not keep:
        shutil.rmtree(reading.folder)
    return model


def _first_texts(client: Any, sources: Sequence[Source], errors: Errors, columns: dict[str, Any]) -> list[str]:
    """Return the first texts of the corpus, by which ``fit`` chooses a tokenizer for scripts without spaces."""
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
        reader: Reader = model._new_reader(None, first)
        return reader
    seed = model.random_state if isinstance(model.random_state, int) else 0
    drawn = sample_texts(corpus, sample, seed=seed, client=client, **columns)
    learned: Reader = clone(model)._new_reader(drawn, first if getattr(model.vectors, "tokenizer", 0) is None else ())
    return learned


def _reading(
    model: Any, reader: Reader, sources: Sequence[Source], work: Path, errors: Errors, columns: dict[str, Any]
) -> Reading:
    """Say how the corpus is read, and where to: a folder that is named by all that the sums depend on."""
    if model.init == "paper" and not isinstance(model.random_state, int):
        raise ParasphereError(
            'init="paper" draws initial values, on a cluster from a seed that all workers share: random_state must be '
            f"an integer, not {model.random_state!r}"
        )
    work.mkdir(parents=True, exist_ok=True)
    saved = save_reader(work, reader)
    tokenizer = None if isinstance(reader.tokenizer, Tokenizer) else reader.tokenizer
    given = {name: repr(value) for name, value in sorted(columns.items())}
    key = storage.key_of("sums", saved.name, [source.key for source in sources], given, model.init, errors)
    folder = work / f"sums-{key[:16]}"
    folder.mkdir(exist_ok=True)
    return Reading(folder, saved, tokenizer, columns, model.init, errors)


def _read(client: Any, sources: Sequence[Source], reading: Reading, shown: bool) -> Outcome:
    """Read all partitions; the outcome is what EM starts from."""
    with progress("reading", len(sources), unit="partitions", shown=shown) as advance:

        def tasks() -> Iterator[Any]:
            for source in sources:
                yield submitted(client, read_partition, source, reading)
                advance(1)

        return total_of(client, tasks())


def _run_em(client: Any, sources: Sequence[Source], reading: Reading, model: Any, looked: Outcome, shown: bool) -> Run:
    """Run EM, from its last iteration if it was interrupted."""
    options = {"strength": float(model.prior_strength), "method": model.kappa_method, "start": model.init}
    folder = (
        reading.folder
        / f"em-{storage.key_of(repr(options), repr((model.random_state, model.max_iter, model.tol)))[:16]}"
    )
    checkpoint = storage.Checkpoint(folder, "em-run", {"corpus": reading.folder.name})
    found = checkpoint.resume()
    run = Run.begin(looked.total, **options) if found is None else storage.unpacked(found[1]["run"], found[0], "run")
    numbers = sorted(looked.facts)
    before = dict(zip(numbers, accumulate([0, *(looked.facts[number] for number in numbers)]), strict=False))
    places, names = looked.places, {source.number: source.name for source in sources}
    parts = [(number, names[number], before[number]) for number in numbers]
    with progress("EM", model.max_iter, unit="iterations", shown=shown) as advance:
        while not run.monitor(model.max_iter, model.tol).finished:
            _write(checkpoint, run, model.random_state)
            start = partial(_start_step, client, parts, reading, folder, run)
            outcome = total_of(client, start(places), again=partial(start, {}))
            places = outcome.places
            run = run.after(_only(outcome), model.max_iter, model.tol)
            advance(1)
    _write(checkpoint, run, model.random_state)
    return run


def _start_step(
    client: Any, parts: Sequence[tuple[int, str, int]], reading: Reading, folder: Path, run: Run, places: dict[int, str]
) -> Iterator[Any]:
    """Start the next step of EM on partitions: where their state is held, but elsewhere rather than not at all."""
    step = len(run.priors)
    for number, name, before in parts:
        place = {"workers": [places[number]], "allow_other_workers": True} if number in places else {}
        yield client.submit(
            step_partition, number, name, reading, folder, step, run.prior, before, pure=False, **place
        )  # fmt: skip


def _only(outcome: Outcome) -> CorpusStatistics:
    statistics: CorpusStatistics = outcome.total
    return statistics


def _write(checkpoint: storage.Checkpoint, run: Run, random_state: Any) -> None:
    facts, arrays = storage.packed(run, "run")
    checkpoint.write(arrays, {"run": facts, "seed": random_state if isinstance(random_state, int) else None})


def _few(run: Run, sources: Sequence[Source], reading: Reading, looked: Outcome) -> Bags | None:
    """Return all bags if there are so few that the model holds them for ``partial_fit``."""
    if run.documents >= BLOCK:
        return None
    found = [bags_of(reading.partition(source.number)) for source in sources if source.number in looked.facts]
    bags = Bags.concatenate([each for each in found if each is not None])
    # In memory, since the files are removed.
    return bags[list(range(len(bags)))]

"""Corpora larger than a machine: fitting and transforming with Dask (extra ``dask``).

Dask runs on the cluster of the current :class:`distributed.Client`, or with its local schedulers if there is none. It
keeps the partitions that were read in memory, spills them to disk, and reads them again if a worker dies.
"""

import glob
import os
import pickle
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from itertools import accumulate, chain, islice
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .corpus import Block, blocks, is_tokenised
from .errors import CorpusError, ParasphereError, import_extra
from .model import CorpusStatistics, Encoder, Partition, Prior, Reader, Space, check_space, run_em
from .model.exports import writer
from .model.reader import SAMPLE
from .progress import progress
from .vectors import adapting, seed_of

Model = TypeVar("Model", bound=Any)
Part = tuple[Any, str]  # a path or a delayed value, and its name in messages

FAN_IN = 8  # statistics that are added up by one task
__all__ = ["fit", "transform"]

LARGEST_READER = "4 GiB"  # by default Dask warns of tasks larger than 10 MB


def fit(model: Model, corpus: Any, **columns: Any) -> Model:
    """Fit a model to a corpus on a Dask cluster; the result is that of ``model.fit`` to about 1e-9.

    Each iteration of EM is a map over the partitions and a sum in their order. Vectors are adapted, or a learner of
    vectors is fitted, in this process: to the texts that ``model.fit`` adapts to, of at most 100 MB. Then the corpus is
    computed three times, and otherwise once; persist a collection that is expensive to compute.

    Parameters
    ----------
    model : SphericalParagraphModel
        The model, which is fitted in place. Models with ``init="paper"`` are fitted in memory alone.
    corpus : dask.bag.Bag, dask.dataframe.Series or DataFrame, list of Delayed, list of Path, or pattern of files
        The partitions of a collection, or delayed partitions: anything that :func:`parasphere.corpus.blocks` reads. A
        file is a partition.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"``.

    Returns
    -------
    model
    """
    dask = _dask()
    if model.init != "data":
        raise ParasphereError(f'a cluster fits models with init="data"; init={model.init!r} is for fit, in memory')
    parts = _parts_of(corpus)
    seed = 0 if model.random_state is None else seed_of(deepcopy(model.random_state))
    # Texts are read only if the vectors learn from them, and the first ones only if no tokenizer is given.
    reader = model.make_reader(_drawn_texts(parts, columns, seed), sample=_first_texts(parts, columns))
    sent = _sent(reader)
    read = dask.persist(*(dask.delayed(_read)(sent, *part, columns) for part in parts))

    def statistics(prior: Prior | None) -> CorpusStatistics:
        values = [dask.delayed(Partition.statistics)(part, prior) for part in read]
        while len(values) > 1:
            values = [dask.delayed(reduce)(add, values[i : i + FAN_IN]) for i in range(0, len(values), FAN_IN)]
        total: CorpusStatistics = values[0].compute()
        return total

    first = statistics(None)
    with progress("EM", model.max_iter, unit="iterations", shown=bool(model.verbose)) as advance:
        state = run_em(
            lambda prior: first if prior is None else statistics(prior),
            strength=float(model.prior_strength), method=model.kappa_method, max_iter=model.max_iter, tol=model.tol,
            report=lambda _: advance(1),
        )  # fmt: skip
    model.keep(state, reader, first.scatter(reader))
    return model


def transform(model: Any, corpus: Any, out: str | Path, *, space: Space | None = None, **columns: Any) -> list[Path]:
    """Write the vectors of a corpus to a folder, one Parquet file per partition; return the files, in order.

    The vectors are those of ``model.transform``, to the last bit.

    Parameters
    ----------
    model : Encoder or fitted SphericalParagraphModel
    corpus : dask.bag.Bag, dask.dataframe.Series or DataFrame, list of Delayed, list of Path, or pattern of files
        As in :func:`fit`.
    out : path
        A folder that all workers can access, which is empty or does not exist.
    space : {"offset", "direction"}, default=None
        Which vectors are written; None is the ``space`` of the fit.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"`` or ``id="name"``.
    """
    dask, encoder = _dask(), replace(Encoder.of(model), n_jobs=1)  # Dask's threads are the others
    space = encoder.space if space is None else space
    check_space(space)
    parts, folder = _parts_of(corpus), Path(out).expanduser().absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ParasphereError(f"{folder} is not empty; the vectors need a folder of their own")
    sent, write = _sent(encoder), dask.delayed(_write)
    paths = [folder / f"part-{number:06d}.parquet" for number in range(len(parts))]
    dask.compute(*(write(sent, *part, columns, path, space) for part, path in zip(parts, paths, strict=True)))
    return paths


def _dask() -> Any:
    """Return the library ``dask``."""
    return import_extra("dask", "dask", "A cluster")


# ------------------------------------------------------------------------------------------ partitions


def _parts_of(corpus: Any) -> list[Part]:
    """Return the partitions of a corpus."""
    if isinstance(corpus, str | os.PathLike):
        corpus = _matching(Path(corpus).expanduser())
    elif hasattr(corpus, "to_delayed"):
        corpus = corpus.to_delayed()
    found = list(corpus) if isinstance(corpus, Sequence) else []
    if not found or not all(isinstance(part, os.PathLike) or hasattr(part, "dask") for part in found):
        raise CorpusError(
            f"the corpus is of type {type(corpus).__name__}; on a cluster it must be a dask.bag, a dask.dataframe or a "
            'column of it, a list of delayed partitions or of pathlib.Path, or a pattern of files such as "texts/*.txt"'
        )
    return [
        # Workers have another current folder.
        (Path(part).expanduser().absolute(), str(part)) if isinstance(part, os.PathLike) else (part, name)
        for part, name in zip(found, (f"partition {i} of {len(found)}" for i in range(len(found))), strict=True)
    ]


def _matching(pattern: Path) -> list[Path]:
    if pattern.is_dir():
        raise CorpusError(f'{pattern} is a folder; give a pattern of files, such as "{pattern / "*.parquet"}"')
    paths = [pattern] if pattern.is_file() else sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207
    if not paths:
        raise CorpusError(f"no file matches {pattern}")
    return paths


def _sent(value: Reader | Encoder) -> Any:
    """Send a value to the cluster once; workers pass it on to each other."""
    import cloudpickle

    dask = _dask()
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGEST_READER}):
        # The scheduler keeps the bytes, so that the value outlives all workers.
        return dask.persist(dask.delayed(pickle.loads)(cloudpickle.dumps(value)))[0]


# ------------------------------------------------------------------------------------- the vectors of a fit


def _first_texts(parts: Sequence[Part], columns: dict[str, Any]) -> Iterator[str]:
    """Yield the first texts of the corpus, by which a tokenizer is chosen; none if they are token lists."""
    first: list[Any] = []
    for part in parts:
        first += _dask().delayed(_head)(*part, columns).compute()
        if len(first) >= SAMPLE:
            break
    yield from [] if is_tokenised(first) else first[:SAMPLE]


def _drawn_texts(parts: Sequence[Part], columns: dict[str, Any], seed: int) -> Iterator[Block]:
    """Yield the texts that :func:`parasphere.vectors.adapting.drawn_texts` draws from the whole corpus."""
    dask = _dask()
    delayed = dask.delayed
    sizes = dask.persist(*(delayed(_sizes)(*part, columns) for part in parts))
    starts = [0, *accumulate(dask.compute(*(delayed(len)(each) for each in sizes)))]
    numbered = list(zip(parts, sizes, starts, strict=False))
    totals = sum(dask.compute(*(delayed(_sizes_below)(each, seed, start) for _, each, start in numbered)))
    share = adapting.share_of(np.asarray(totals))
    drawn = dask.compute(*(delayed(_draw)(*part, columns, seed, start, share) for part, _, start in numbered))
    yield from chain.from_iterable(drawn)


# ----------------------------------------------------------------------------------- what runs on workers


def _documents(material: Any, name: str, columns: dict[str, Any]) -> Iterator[Block]:
    """Yield the documents of a partition; errors have its name."""
    try:
        yield from blocks(material, **columns)
    except CorpusError as error:
        raise CorpusError(str(error) if name in str(error) else f"{name}: {error}") from None


def _read(reader: Reader, material: Any, name: str, columns: dict[str, Any]) -> Partition:
    return Partition.read(reader, _documents(material, name, columns), n_jobs=1)


def _head(material: Any, name: str, columns: dict[str, Any]) -> list[Any]:
    texts = chain.from_iterable(block.texts for block in _documents(material, name, columns))
    return list(islice(texts, SAMPLE))


def _sizes(material: Any, name: str, columns: dict[str, Any]) -> NDArray[np.int64]:
    sizes = map(adapting.sizes_of, _documents(material, name, columns))
    return np.concatenate([np.empty(0, np.int64), *sizes])


def _sizes_below(sizes: NDArray[np.int64], seed: int, start: int) -> NDArray[np.int64]:
    return adapting.sizes_below(sizes, adapting.numbers_of(seed, start, len(sizes)))


def _draw(material: Any, name: str, columns: dict[str, Any], seed: int, start: int, share: float) -> list[Block]:
    drawn = []
    for block in _documents(material, name, columns):
        drawn.append(adapting.below(share, block, adapting.numbers_of(seed, start, len(block)))[0])
        start += len(block)
    return drawn


def _write(encoder: Encoder, material: Any, name: str, columns: dict[str, Any], path: Path, space: Space) -> None:
    with writer(path, encoder.dim, space) as write:
        for block, posterior in encoder.stream(_documents(material, name, columns)):
            write(block, posterior)

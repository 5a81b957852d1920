"""Indexes in shards: one per partition, made on a cluster, and searched together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

from .. import storage
from ..errors import StoreError
from ..model import Encoder, Match
from ..search import Ids, Index
from .connecting import current
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import sources_of
from .transforming import Sent, received, send

_SHARD = re.compile(r"shard-\d{6}-([0-9a-f]{16})")


def index(
    model: Any,
    corpus: Any,
    out: str | Path,
    *,
    ids: str | None = None,
    client: Any = None,
    errors: Errors = "raise",
    texts: bool = True,
    words: bool = True,
    **columns: Any,
) -> "ShardedIndex":
    """Make an index of a corpus on a cluster, one shard per partition; existing shards are kept.

    Parameters
    ----------
    model : Encoder or fitted SphericalParagraphModel
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
    out : path
        A folder that all workers can access, with one saved :class:`Index` per partition.
    ids : str, default=None
        The name of the column with the ids. None numbers documents as in "3:17", number 17 of partition 3.
    client : dask.distributed.Client, default=None
        None is the last client made in this process.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read.
    texts, words : bool, default=True
        As in :meth:`SphericalParagraphModel.index`.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.
    """
    check_errors(errors)
    client, sources, folder = current(client), sources_of(corpus, columns), storage.path_of(out).absolute()
    with storage.only_one(folder, f"another index is being written to {folder}: wait until it ends."):
        sent = send(Encoder.of(model), folder)
        options_key = {name: repr(value) for name, value in sorted(columns.items())}
        paths = {}
        for source in sources:
            key = storage.key_of("shard", sent.folder.name, source.key, ids, texts, words, options_key)[:16]
            paths[source.number] = folder / f"shard-{source.number:06d}-{key}"
        foreign = sorted(
            path.name for path in folder.iterdir() if _SHARD.fullmatch(path.name) and path not in paths.values()
        )
        if foreign:
            raise StoreError(
                f"{folder} holds {foreign[0]}, a shard of another model, corpus or options. Choose another folder."
            )
        options = {"ids": ids, "texts": texts, "words": words, "columns": columns}
        tasks = (submitted(client, _make, source, paths[source.number], sent, options, errors) for source in sources)
        warn_of_skipped(total_of(client, tasks), sources)
        storage.remove(sent.folder)
    return ShardedIndex.load(folder)


@dataclass(frozen=True)
class ShardedIndex:
    """Indexes that are searched together.

    Cosines are those of a single index, to the last bit. Document frequencies (in BM25) are those of each shard, so
    that scores with words differ a little from those of a single index; all shards use the weight of the first.

    Attributes
    ----------
    shards : list of Index
    """

    shards: Sequence[Index]

    @classmethod
    def load(cls, folder: str | Path, *, tokenizer: Any = None) -> "ShardedIndex":
        """Map the shards that :func:`index` wrote into memory.

        Parameters
        ----------
        folder : path
        tokenizer : callable, default=None
            The tokenizer, if it was a Python function, which is not saved.
        """
        paths = sorted(path for path in storage.path_of(folder).glob("shard-*") if _SHARD.fullmatch(path.name))
        if not paths:
            raise StoreError(f"{folder} holds no shards; parasphere.dask.index makes them")
        shards = [Index.load(path, tokenizer=tokenizer) for path in paths]
        for shard in shards:
            shard.fusion = shards[0].fusion
        return cls(shards)

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @overload
    def search(self, queries: str, k: int = 10, *, weight: float | None = None, exact: bool = True) -> list[Match]: ...

    @overload
    def search(
        self, queries: list[str] | tuple[str, ...], k: int = 10, *, weight: float | None = None, exact: bool = True
    ) -> list[list[Match]]: ...

    def search(
        self,
        queries: str | list[str] | tuple[str, ...],
        k: int = 10,
        *,
        weight: float | None = None,
        exact: bool = True,
    ) -> list[Match] | list[list[Match]]:
        """Return the ``k`` best documents of all shards for a query, or for each of several, best first.

        The parameters are those of :meth:`Index.search`; the position of a match is that in the whole corpus.
        """
        texts = [queries] if isinstance(queries, str) else list(queries)
        starts = list(accumulate([0, *map(len, self.shards)]))
        all_matches: list[list[Match]] = [[] for _ in texts]
        for start, shard in zip(starts, self.shards, strict=False):
            for number, text in enumerate(texts):
                matches = shard.search(text, k, weight=weight, exact=exact)
                all_matches[number] += [match._replace(position=start + match.position) for match in matches]
        best = [nsmallest(k, matches, key=lambda match: (-match.score, match.position)) for matches in all_matches]
        return best[0] if isinstance(queries, str) else best


def _make(
    material: Any, number: int, name: str, path: Path, sent: Sent, options: dict[str, Any], errors: Errors
) -> Outcome:
    """Make the shard of a partition, unless it exists; the outcome is the number of documents."""

    def work() -> tuple[int, None]:
        if not storage.is_saved(path):
            made = Index(received(sent), texts=options["texts"], words=options["words"])
            made.add(material, options["ids"], **options["columns"])
            if options["ids"] is None:
                names = Ids.of(f"{number}:{each}" for each in made.ids)
                made.contents = replace(made.contents, ids=names)
            made.save(path)
        return int(storage.read_manifest(path)["meta"].get("added", 0)), None

    return attempt(number, name, errors, work)

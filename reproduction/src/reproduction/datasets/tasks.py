"""Data of tasks that measure similarity: pairs of sentences, test collections for retrieval, texts to cluster.

The files lie in one folder, which is given or named by the environment variable ``PARASPHERE_TASKS``; each may also be
compressed (``.gz``)::

    sts/stsb-en-train.csv, stsb-en-dev.csv, stsb-en-test.csv     sentence1,sentence2,score
    retrieval/NAME/corpus.jsonl, queries.jsonl                   {"_id": ..., "title": ..., "text": ...}, as BEIR has it
    retrieval/NAME/qrels.tsv                                     query-id, corpus-id, score
    clustering/NAME.tsv                                          label, text
"""

import csv
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from parasphere.datasets import Dataset
from parasphere.errors import CorpusError

FOLDER = "PARASPHERE_TASKS"


@dataclass(frozen=True)
class SentencePairs:
    """Pairs of sentences, and how similar people found them.

    Attributes
    ----------
    name : str
    first, second : list of str
        The sentences.
    scores : (n_pairs,) float array
        From 0, nothing in common, to 5, the same meaning.
    """

    name: str
    first: list[str]
    second: list[str]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True)
class Collection:
    """A test collection: documents, queries, and which documents answer which query.

    Attributes
    ----------
    name : str
    ids, texts : list of str
        The documents; a text begins with the title of the document, if it has one.
    query_ids, queries : list of str
        The queries for which there are judgements.
    judgements : dict of str to dict of str to int
        Per query, the documents that are judged, and how relevant each is; 0 is not at all.
    """

    name: str
    ids: list[str]
    texts: list[str]
    query_ids: list[str]
    queries: list[str]
    judgements: dict[str, dict[str, int]]

    def __len__(self) -> int:
        return len(self.ids)


def task_folder(given: str | Path | None = None) -> Path:
    """Return the folder of the data: the given one, or that of the environment variable PARASPHERE_TASKS."""
    named = given or os.environ.get(FOLDER)
    if not named:
        raise CorpusError(
            f"the data of the tasks must be in a folder that is given (--task-data FOLDER) or that {FOLDER} names: "
            "sts/stsb-en-test.csv, retrieval/NAME/corpus.jsonl, clustering/NAME.tsv and so on, as "
            "reproduction.datasets.tasks tells"
        )
    folder = Path(named)
    if not folder.is_dir():
        raise CorpusError(f"{folder} is not a folder; the data of the tasks must be in one (--task-data or {FOLDER})")
    return folder


def sentence_pairs(part: str, folder: str | Path | None = None) -> SentencePairs:
    """Load a part of the STS benchmark: "train", "dev" or "test"."""
    path = task_folder(folder) / "sts" / f"stsb-en-{part}.csv"
    columns = ("sentence1", "sentence2", "score")
    rows = list(_rows(path, columns))
    scores = np.array([_number(path, line, row[2], float) for line, row in rows], np.float64)
    return SentencePairs(f"stsb-{part}", [row[0] for _, row in rows], [row[1] for _, row in rows], scores)


def collection(name: str, folder: str | Path | None = None) -> Collection:
    """Load a test collection in the layout of BEIR; queries without judgements are left out."""
    home = task_folder(folder) / "retrieval" / name
    documents = list(_objects(home / "corpus.jsonl"))
    queries = {str(query["_id"]): str(query["text"]) for query in _objects(home / "queries.jsonl")}
    path = home / "qrels.tsv"
    judgements: dict[str, dict[str, int]] = {}
    for line, (query, document, score) in _rows(path, ("query-id", "corpus-id", "score")):
        if query not in queries:
            raise CorpusError(f"{path}, line {line}: no query has the id {query!r}")
        judgements.setdefault(query, {})[document] = _number(path, line, score, int)
    return Collection(
        name=name,
        ids=[str(document["_id"]) for document in documents],
        texts=[f"{document.get('title', '')} {document['text']}".strip() for document in documents],
        query_ids=list(judgements),
        queries=[queries[query] for query in judgements],
        judgements=judgements,
    )


def texts_to_cluster(name: str, folder: str | Path | None = None) -> Dataset:
    """Load labelled texts; the labels are for measuring only."""
    path = task_folder(folder) / "clustering" / f"{name}.tsv"
    rows = [row for _, row in _rows(path, ("label", "text"))]
    label_names = sorted({label for label, _ in rows})
    places = {label: place for place, label in enumerate(label_names)}
    return Dataset(
        name=name,
        texts=[text for _, text in rows],
        labels=np.array([places[label] for label, _ in rows], np.int64),
        label_names=label_names,
        ids=[f"{path.name}:{number}" for number in range(2, len(rows) + 2)],
        licence="free for research",
        citation="",
    )


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a file of text that may have been compressed."""
    packed = path.with_name(f"{path.name}.gz")
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            yield file
    elif packed.is_file():
        with gzip.open(packed, "rt", encoding="utf-8", newline="") as file:
            yield file
    else:
        raise CorpusError(
            f"{path} is missing (and {packed.name} too); reproduction.datasets.tasks tells how the data of the tasks "
            "are laid out"
        )


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line of a table, and its values in these columns."""
    with _opened(path) as file:
        lines = _commas(file) if path.suffix == ".csv" else _tabs(file)
        _, header = next(lines, (1, []))
        absent = [column for column in columns if column not in header]
        if absent:
            raise CorpusError(f"{path} has no column {absent[0]!r}; its columns are {', '.join(header) or 'none'}")
        places = [header.index(column) for column in columns]
        for number, values in lines:
            if len(values) != len(header):
                raise CorpusError(f"{path}, line {number}: {len(values)} values for {len(header)} columns")
            yield number, [values[place] for place in places]


def _commas(file: IO[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(file)
    for values in reader:
        yield reader.line_num, values


def _tabs(file: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """Split lines at tabs; quotes mean nothing, and what remains is the last column: texts have tabs too."""
    columns = 0
    for number, line in enumerate(file, 1):
        values = line.rstrip("\r\n").split("\t", columns - 1)
        columns = columns or len(values)
        yield number, values


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, each with an id and a text."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                found = json.loads(line)
            except ValueError as error:
                raise CorpusError(f"{path}, line {number}: not JSON ({error})") from None
            if not isinstance(found, dict) or not {"_id", "text"} <= set(found):
                raise CorpusError(f'{path}, line {number}: an object with "_id" and "text" is needed')
            yield found


def _number(path: Path, line: int, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise CorpusError(f"{path}, line {line}: the score {text!r} is not a number") from None

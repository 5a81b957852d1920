"""Fit and transform on Ray: ``python ray_data.py 'texts/*.txt' vectors-path model.safetensors``.

Fit maps tasks over partitions in Ray's object store and adds up their statistics in a tree; transform is
``map_batches`` of Ray Data. The model is that of one machine with ``adapt=False``, to about 1e-9.
"""

import sys
from pathlib import Path

import ray

from parasphere import SphericalParagraphModel
from parasphere.model import CorpusStatistics, Partition


@ray.remote
def read(model: SphericalParagraphModel, texts: list[str]) -> Partition:
    """Read the texts of a partition."""
    return model.partition(texts)


@ray.remote
def accumulate(model: SphericalParagraphModel, part: Partition) -> CorpusStatistics:
    """Return what a step of EM needs of a partition."""
    return model.accumulate(part)


@ray.remote
def add(*statistics: CorpusStatistics) -> CorpusStatistics:
    """Add up statistics."""
    return sum(statistics[1:], statistics[0])


def fit(model: SphericalParagraphModel, texts: list[list[str]]) -> SphericalParagraphModel:
    """Fit a model to partitions of texts."""
    shared = ray.put(model)  # once per node
    parts = [read.remote(shared, part) for part in texts]
    finished = False
    while not finished:
        now = ray.put(model)
        found = [accumulate.remote(now, part) for part in parts]
        while len(found) > 1:
            found = [add.remote(*found[i : i + 8]) for i in range(0, len(found), 8)]
        finished = model.update(ray.get(found[0]))
    return model


class Vectors:
    """Transforms batches; one per actor, which loads the model once."""

    def __init__(self, path: str) -> None:
        self.model = SphericalParagraphModel.load(path)

    def __call__(self, batch: dict) -> dict:
        """Return the vectors of a batch of texts."""
        return {"vector": self.model.transform(list(batch["text"]))}


def transform(path: str, texts: "ray.data.Dataset") -> "ray.data.Dataset":
    """Return the vectors of a dataset with a column ``text``, by a saved model."""
    # From one actor, which leaves a processor to those who read, to as many as there is work for.
    return texts.map_batches(Vectors, fn_constructor_args=(path,), concurrency=(1, 64))


if __name__ == "__main__":
    pattern, out, path = sys.argv[1:]
    files = sorted(Path(pattern).parent.glob(Path(pattern).name))
    fit(SphericalParagraphModel(), [file.read_text("utf-8").splitlines() for file in files]).save(path)
    transform(path, ray.data.read_text(list(map(str, files)))).write_parquet(out)

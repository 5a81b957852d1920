"""Fit and transform on Spark: ``spark-submit spark.py 'texts/*.txt' vectors-path model.safetensors``.

Fit is a ``treeReduce`` per iteration over partitions that were read once; transform is ``mapInArrow``. The model is
that of one machine with ``adapt=False``, to about 1e-9.
"""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from parasphere import SphericalParagraphModel
from parasphere.model import Partition


def fit(model: SphericalParagraphModel, texts: DataFrame) -> SphericalParagraphModel:
    """Fit a model to a DataFrame with one column of texts."""
    spark = texts.sparkSession.sparkContext
    fresh = spark.broadcast(model)  # once per executor; Spark sends it again to one that takes the place of another

    def read(rows: Iterator) -> Iterator[Partition]:
        yield fresh.value.partition([row[0] for row in rows])

    parts = texts.rdd.mapPartitions(read).persist(StorageLevel.MEMORY_AND_DISK)
    finished = False
    while not finished:
        now = spark.broadcast(model)
        statistics = parts.map(lambda part, now=now: now.value.accumulate(part)).treeReduce(lambda a, b: a + b, depth=2)
        finished = model.update(statistics)
    parts.unpersist()
    return model


def transform(model: SphericalParagraphModel, texts: DataFrame) -> DataFrame:
    """Return the vectors of a DataFrame with one column of texts, in the order of its rows."""
    shared = texts.sparkSession.sparkContext.broadcast(model)

    def vectors(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = shared.value.transform(batch.column(0).to_pylist())
            yield pa.RecordBatch.from_arrays([pa.array(rows.tolist(), pa.list_(pa.float32()))], names=["vector"])

    return texts.mapInArrow(vectors, "vector array<float>")


if __name__ == "__main__":
    pattern, out, path = sys.argv[1:]
    session = SparkSession.builder.getOrCreate()
    corpus = session.read.text(pattern)
    fitted = fit(SphericalParagraphModel(), corpus)
    fitted.save(path)
    transform(fitted, corpus).write.parquet(out)

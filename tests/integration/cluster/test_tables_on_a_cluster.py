"""What a cluster reads as one machine does: scripts without spaces, nulls, carried columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from parasphere import JointVectors, ScriptWarning, SegmentingTokenizer, SphericalParagraphModel, WordVectors

pytest.importorskip("distributed", reason="the extra dask")

import dask.bag
import dask.dataframe
from distributed import Client
from test_cluster import same

import parasphere.dask as cluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
CHINESE = ["显示文件的内容", "复制文件和目录", "更改文件的所有者", "显示日期和时间", "更改用户的密码"] * 8


@pytest.fixture
def client(two_workers: Client) -> Client:
    return two_workers


def test_a_tokenizer_is_chosen_by_the_script(client: Client, tmp_path: Path) -> None:
    words = sorted({word for text in CHINESE for word in SegmentingTokenizer()(text)})
    vectors = WordVectors.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 6)))
    with pytest.warns(ScriptWarning):
        alone = SphericalParagraphModel(vectors, adapt=False, tol=1e-2).fit(CHINESE)
    together = SphericalParagraphModel(vectors, adapt=False, tol=1e-2)
    with pytest.warns(ScriptWarning):
        cluster.fit(together, dask.bag.from_sequence(CHINESE, npartitions=2), work=tmp_path, client=client)
    assert isinstance(together.encoder_.reader.tokenizer, SegmentingTokenizer)
    same(together, alone)
    learning = SphericalParagraphModel(JointVectors(4, start=None, epochs=2, min_count=1), tol=0.1)
    with pytest.warns(ScriptWarning):
        cluster.fit(learning, dask.bag.from_sequence(CHINESE, npartitions=2), work=tmp_path, client=client)
    assert "文件" in learning.vectors_


def test_nulls_are_skipped_and_columns_carried(client: Client, tmp_path: Path) -> None:
    vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    model = SphericalParagraphModel(vectors, tol=0.1).fit(["north", "east", "north east"] * 5)
    frame = pd.DataFrame({"body": ["north", "east", "north east", "east east"], "year": [2000, 2001, 2002, 2003]})
    parts = dask.dataframe.from_pandas(frame, npartitions=2)
    written = cluster.transform(model, parts, tmp_path / "frame", text="body", carry=["year"], client=client)
    years = [year for part in written.parts for year in pq.read_table(part)["year"].to_pylist()]
    assert years == [2000, 2001, 2002, 2003]
    (tmp_path / "a.jsonl").write_text('{"body": "north", "year": 1}\n{"body": null, "year": 2}\n')
    options = {"text": "body", "carry": ["year"], "null": "skip"}
    written = cluster.transform(model, tmp_path / "*.jsonl", tmp_path / "files", client=client, **options)
    assert pq.read_table(written.parts[0])["year"].to_pylist() == [1]

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from blocksize import small_blocks

from parasphere import ParasphereError, SphericalParagraphModel, WordVectors
from parasphere.model.exports import writer
from parasphere.model.posterior import Space


@pytest.fixture
def model(rng: np.random.Generator) -> SphericalParagraphModel:
    vectors = WordVectors.from_arrays(["a", "b", "c"], rng.normal(size=(3, 5)) + 1)
    return SphericalParagraphModel(vectors, tokenizer=str.split, tol=1e-2).fit(["a b", "b c", "c"])


TEXTS = ["a", "b b", "", "c a z"]


def export(
    model: SphericalParagraphModel, path: Path, texts: list[str], space: Space = "offset", **columns: object
) -> None:
    with writer(path, 5, space) as write, small_blocks(2):
        for block, posterior in model.stream(texts, **columns):
            write(block, posterior)


def test_every_format_holds_the_vectors(model: SphericalParagraphModel, tmp_path: Path) -> None:
    expected = model.posterior(TEXTS)
    columns = {"id": ["w", "x", "y", "z"], "label": ["p", "q", "p", "q"]}
    export(model, tmp_path / "v.npy", TEXTS)
    assert np.array_equal(np.load(tmp_path / "v.npy"), expected.vectors("offset"))
    assert isinstance(np.load(tmp_path / "v.npy", mmap_mode="r"), np.memmap)
    export(model, tmp_path / "v.parquet", TEXTS, **columns)
    table = pq.read_table(tmp_path / "v.parquet")
    assert np.array_equal(np.array(table["vector"].to_pylist(), np.float32), expected.vectors("offset"))
    assert table["id"].to_pylist() == columns["id"]
    assert table["label"].to_pylist() == columns["label"]
    assert table["concentration"].to_pylist() == expected.concentration.tolist()
    assert table["information"].to_pylist() == expected.information.tolist()
    assert table["unknown"].to_pylist() == [0, 0, 0, 1]
    export(model, tmp_path / "v.csv", TEXTS, **columns)
    frame = pd.read_csv(tmp_path / "v.csv")
    np.testing.assert_allclose(frame[[f"v{i}" for i in range(5)]], expected.vectors("offset"), rtol=1e-6)
    export(model, tmp_path / "v.jsonl", TEXTS, **columns)
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), expected.vectors("offset"))
    assert [(row["id"], row["label"]) for row in rows] == list(zip(*columns.values(), strict=True))
    assert [row["length"] for row in rows] == expected.length.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.csv", "v.jsonl", "v.npy", "v.parquet"]
    export(model, tmp_path / "d.npy", TEXTS, space="direction")
    assert np.array_equal(np.load(tmp_path / "d.npy"), expected.direction)


@pytest.mark.parametrize("name", ["v.npy", "v.jsonl", "v.parquet", "v.csv"])
def test_an_empty_corpus(model: SphericalParagraphModel, tmp_path: Path, name: str) -> None:
    export(model, tmp_path / name, [])
    assert (tmp_path / name).exists()
    if name == "v.npy":
        assert np.load(tmp_path / name).shape == (0, 5)


@pytest.mark.parametrize("name", ["v.npy", "v.jsonl", "v.parquet", "v.csv"])
def test_a_failure_leaves_the_old_file(model: SphericalParagraphModel, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    with pytest.raises(ValueError, match="document 2"):
        export(model, tmp_path / name, ["a", "b", 7, "c"])  # type: ignore[list-item]
    assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_ids_lie_beside_an_npy_file(model: SphericalParagraphModel, tmp_path: Path) -> None:
    export(model, tmp_path / "v.npy", TEXTS, id=[7, "x", 2**40, "ü"])
    assert json.loads((tmp_path / "v.ids.json").read_text(encoding="utf-8")) == [7, "x", 2**40, "ü"]
    export(model, tmp_path / "v.npy", TEXTS)  # ids of an earlier file would be wrong
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy"]
    with pytest.raises(ParasphereError, match=r"write labels and other columns to \.jsonl"):
        export(model, tmp_path / "v.npy", TEXTS, label=["p"] * 4)


def test_a_column_that_changes_its_type(model: SphericalParagraphModel, tmp_path: Path) -> None:
    with pytest.raises(ParasphereError, match=r"not of one type .*write \.jsonl"):
        export(model, tmp_path / "v.parquet", TEXTS, id=[1, 2, "x", "y"])


def test_an_unknown_format(tmp_path: Path) -> None:
    with (
        pytest.raises(ParasphereError, match=r"must end in one of \.npy, \.jsonl, \.csv, \.parquet"),
        writer(tmp_path / "v.xlsx", 5),
    ):
        pass

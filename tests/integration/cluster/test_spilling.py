"""The files of a fit on a cluster, without a cluster."""

from pathlib import Path

import numpy as np
import pytest

from parasphere.dask.spilling import _load_piece, _save_piece
from parasphere.errors import StoreError
from parasphere.model import Bags


@pytest.fixture
def piece(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Bags]:
    bags = Bags.from_rows(rng.normal(size=(20, 5)))
    path = tmp_path / "piece.safetensors"
    _save_piece(path, bags)
    return path, bags


def test_a_piece_comes_back_as_it_was(piece: tuple[Path, Bags]) -> None:
    path, bags = piece
    found = _load_piece(path)
    assert np.array_equal(found.sums, bags.sums)
    assert np.array_equal(found.squared_norms, bags.squared_norms)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name]


@pytest.mark.parametrize("cut", [0, 7, 100, -8])
def test_a_piece_that_is_cut_short_is_told(piece: tuple[Path, Bags], cut: int) -> None:
    path, _ = piece
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StoreError, match=r"piece\.safetensors"):
        _load_piece(path)


def test_a_piece_with_other_numbers_is_told(piece: tuple[Path, Bags]) -> None:
    path, bags = piece
    content = path.read_bytes()
    own = bags.sums[3].tobytes()
    assert content.count(own) == 1
    path.write_bytes(content.replace(own, (2 * bags.sums[3]).tobytes()))
    with pytest.raises(StoreError, match="document 3 has the squared length 4"):
        _load_piece(path)

"""The files of a fit on a cluster, without a cluster."""

import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Child

from parasphere import WordVectors, storage
from parasphere.dask.spilling import (
    Reading,
    _load_piece,
    _read,
    _save_piece,
    _save_statistics,
    load_statistics,
    pieces,
    save_reader,
)
from parasphere.errors import StoreError
from parasphere.model import Bags, Reader

Saved = tuple[Path, int, Bags]


@pytest.fixture
def piece(tmp_path: Path, rng: np.random.Generator) -> Saved:
    bags = Bags.from_rows(rng.normal(size=(20, 5)))
    path = tmp_path / "piece.safetensors"
    return path, _save_piece(path, bags), bags


def test_a_piece_comes_back_as_it_was(piece: Saved) -> None:
    path, checksum, bags = piece
    found = _load_piece(path, checksum)
    assert np.array_equal(found.sums, bags.sums)
    assert np.array_equal(found.squared_norms, bags.squared_norms)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name]


@pytest.mark.parametrize("cut", [0, 7, 100, -8])
def test_a_piece_that_is_cut_short_is_told(piece: Saved, cut: int) -> None:
    path, checksum, _ = piece
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StoreError, match=r"piece\.safetensors"):
        _load_piece(path, checksum)


def test_a_piece_with_other_numbers_is_told(piece: Saved) -> None:
    path, _, bags = piece
    content = path.read_bytes()
    own = bags.sums[3].tobytes()
    assert content.count(own) == 1
    path.write_bytes(content.replace(own, (2 * bags.sums[3]).tobytes()))
    with pytest.raises(StoreError, match="document 3 has the squared length 4"):
        _load_piece(path, zlib.crc32(path.read_bytes()))


@pytest.mark.parametrize("byte", [9, 300, -1])
def test_a_flipped_bit_is_told(piece: Saved, byte: int) -> None:
    path, checksum, _ = piece
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="its checksum differs"):
        _load_piece(path, checksum)


def test_a_piece_in_the_place_of_another_is_told(piece: Saved) -> None:
    path, checksum, bags = piece
    _save_piece(path, bags[::-1])
    with pytest.raises(StoreError, match="its checksum differs"):
        _load_piece(path, checksum)


def test_a_partition_in_the_place_of_another_is_told(tmp_path: Path) -> None:
    reader = Reader(WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]]))
    reading = Reading(tmp_path / "sums", save_reader(tmp_path, reader), None, {}, "raise")
    for number, texts in enumerate((["north", "east north"], ["north north east"])):
        folder = reading.partition(number)
        _save_statistics(folder, _read(texts, folder, reading))
        assert len(pieces(folder)) == 1
        assert load_statistics(folder).counts["documents"] == len(texts)
    first, second = reading.partition(0), reading.partition(1)
    first.rename(tmp_path / "aside")
    second.rename(first)
    for use in (pieces, load_statistics):
        with pytest.raises(StoreError, match="holds 'sums/partition-000001', another partition"):
            use(first)


def test_one_fit_at_a_time(tmp_path: Path) -> None:
    def hold(tell: Callable[[object], None]) -> None:
        with storage.only_one(tmp_path / "work", "busy"):
            tell("held")
            time.sleep(60)

    with Child(hold) as process:
        process.out.readline()
        with pytest.raises(StoreError, match="busy"), storage.only_one(tmp_path / "work", "busy"):
            pass
    with storage.only_one(tmp_path / "work", "busy"):  # that process was killed
        pass
    assert not list((tmp_path / "work").iterdir())

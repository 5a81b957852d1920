"""Every way of writing a file: whole or not at all, with the permissions that the umask gives."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import full_disk

from parasphere import MovMF, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import StoreError
from parasphere.model.exports import writer
from parasphere.plots.maps import draw_map

VECTORS = WordVectors.from_arrays([f"w{i}" for i in range(300)], np.random.default_rng(0).normal(size=(300, 4)))
TEXTS = [f"w{i} w{i + 1}" for i in range(200)]
MODEL = SphericalParagraphModel(VECTORS, tokenizer=Tokenizer(digits=True), tol=1e-2).fit(TEXTS)


def export(path: Path) -> None:
    with writer(path, 4) as write:
        for block, posterior in MODEL.stream(TEXTS):
            write(block, posterior)


def picture(path: Path) -> None:
    draw_map(path, MODEL.transform(TEXTS))


WRITERS: dict[str, Callable[[Path], None]] = {
    "model": MODEL.save,
    "vectors": VECTORS.save,
    "bags": MODEL.read(TEXTS).save,
    "mixture": MovMF(2, random_state=0).fit(MODEL.transform(TEXTS)).save,
    "v.vec": VECTORS.write,
    "v.bin": VECTORS.write,
    "d.parquet": export,
    "d.csv": export,
    "d.npy": export,
    "map.svg": picture,
    "map.png": picture,
}


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("name", WRITERS)
def test_others_may_read_what_the_umask_lets_them(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / "below" / name)
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.rglob("*")}
    assert modes == {(True, 0o750), (False, 0o640)}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with full_disk(100), pytest.raises(StoreError, match=f"{name} cannot be written .*Nothing was"):
        WRITERS[name](path)
    assert list(tmp_path.iterdir()) == []
    WRITERS[name](path)
    before = contents(tmp_path)
    with full_disk(100), pytest.raises(StoreError, match=f"{name} cannot be written .*before is unchanged"):
        WRITERS[name](path)
    assert contents(tmp_path) == before

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from parasphere import store
from parasphere.errors import StoreError


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    store.save(folder, "thing", {"x": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 4), np.int32)}, {"name": "é"})
    return folder


def test_what_is_saved_is_loaded_as_a_read_only_map(saved: Path) -> None:
    arrays, meta = store.load(saved, "thing")
    assert np.array_equal(arrays["x"], np.arange(6.0).reshape(2, 3))
    assert arrays["none"].shape == (0, 4)
    assert arrays["none"].dtype == np.int32
    assert meta == {"name": "é"}
    assert isinstance(arrays["x"], np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        arrays["x"][0, 0] = 1


def test_the_data_is_plain_safetensors(saved: Path) -> None:
    (data,) = saved.glob("*.safetensors")
    assert np.array_equal(load_file(data)["x"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_every_type(tmp_path: Path, dtype: str) -> None:
    array = np.array([0, 1, 1, 0, 1]).astype(dtype)
    store.save(tmp_path / "a", "thing", {"x": array, "y": array.astype("u1")}, {})
    loaded, _ = store.load(tmp_path / "a", "thing")
    assert loaded["x"].dtype == array.dtype
    assert np.array_equal(loaded["x"], array)


def test_saving_again_replaces_and_leaves_nothing_behind(saved: Path) -> None:
    store.save(saved, "thing", {"x": np.ones(3)}, {})
    assert np.array_equal(store.load(saved, "thing")[0]["x"], np.ones(3))
    assert len(list(saved.iterdir())) == 2


def test_a_failed_save_leaves_the_old_one(saved: Path) -> None:
    with pytest.raises(TypeError, match="serializable"):
        store.save(saved, "thing", {"x": np.ones(3)}, {"bad": object()})
    assert np.array_equal(store.load(saved, "thing")[0]["x"], np.arange(6.0).reshape(2, 3))


def test_foreign_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="did not write"):
        store.save(tmp_path, "thing", {}, {})
    with pytest.raises(StoreError, match="is a file"):
        store.save(tmp_path / "thesis.tex", "thing", {}, {})


def edit(folder: Path, **changes: object) -> None:
    path = folder / store.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_damage_is_named(saved: Path) -> None:
    (data,) = saved.glob("*.safetensors")
    whole = data.read_bytes()
    data.write_bytes(whole[:-1])
    with pytest.raises(StoreError, match="damaged"):
        store.load(saved, "thing")
    data.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(StoreError, match="changed after it was written"):
        store.load(saved, "thing")
    data.unlink()
    with pytest.raises(StoreError, match="is missing"):
        store.load(saved, "thing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"version": 99}, "version 99"), ({"format": "other"}, "not written by"), ({"meta": {}}, "was changed")],
)
def test_an_edited_manifest_is_named(saved: Path, changes: dict[str, object], message: str) -> None:
    edit(saved, **changes)
    with pytest.raises(StoreError, match=message):
        store.load(saved, "thing")


def test_other_folders(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds 'thing', not 'model'"):
        store.load(saved, "model")
    with pytest.raises(StoreError, match="is no folder"):
        store.load(tmp_path / "absent", "thing")
    with pytest.raises(StoreError, match=r"holds no parasphere\.json"):
        store.load(tmp_path, "thing")
    (saved / store.MANIFEST).write_text("{")
    with pytest.raises(StoreError, match="not readable JSON"):
        store.load(saved, "thing")
    assert not store.is_saved(tmp_path)


WRITER = """
import sys, numpy as np
from parasphere import store
number = 0
while True:
    number += 1
    store.save(sys.argv[1], "thing", {"x": np.full(200_000, number)}, {"number": number})
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_leaves_a_whole_save(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    for attempt in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()  # at least one save is whole
        time.sleep(0.003 * attempt)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        arrays, meta = store.load(folder, "thing", verify=True)
        assert (arrays["x"] == meta["number"]).all()


def test_another_kind_is_never_replaced(saved: Path) -> None:
    with pytest.raises(StoreError, match="'thing', which 'model' must not replace"):
        store.save(saved, "model", {"x": np.ones(1)}, {})
    assert store.load(saved, "thing")[1] == {"name": "é"}


def test_removing_leaves_what_is_not_ours(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    store.remove(saved)
    assert [path.name for path in saved.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        store.check_target(tmp_path / "file" / "below", "thing")
    store.check_target(tmp_path / "new" / "deep", "thing")
    assert not (tmp_path / "new").exists()


def test_a_header_that_lies_is_named(saved: Path) -> None:
    (data,) = saved.glob("*.safetensors")
    raw = data.read_bytes()
    for lie in (raw.replace(b'"F64"', b'"Q64"'), raw.replace(b"[2,3]", b"[9,9]")):
        data.write_bytes(lie)
        with pytest.raises(StoreError, match="does not fit its data"):
            store.map_arrays(data)

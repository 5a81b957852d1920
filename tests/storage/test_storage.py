import json
import os
import re
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from conftest import Child, full_disk, is_mapped
from safetensors.numpy import load_file

from parasphere import storage
from parasphere.errors import StoreError
from parasphere.storage.folder import _manifest_checksum
from parasphere.storage.tensors import map_tensors


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    storage.save(
        folder, "thing", {"x": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 4), np.int32)}, {"name": "é"}
    )
    return folder


def test_what_is_saved_is_loaded_as_a_read_only_map(saved: Path) -> None:
    arrays, meta = storage.load(saved, "thing")
    assert np.array_equal(arrays["x"], np.arange(6.0).reshape(2, 3))
    assert arrays["none"].shape == (0, 4)
    assert arrays["none"].dtype == np.int32
    assert meta == {"name": "é"}
    assert is_mapped(arrays["x"])
    with pytest.raises(ValueError, match="read-only"):
        arrays["x"][0, 0] = 1


def test_the_data_is_plain_safetensors(saved: Path) -> None:
    (data,) = saved.glob("*.safetensors")
    assert np.array_equal(load_file(data)["x"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_every_type(tmp_path: Path, dtype: str) -> None:
    array = np.array([0, 1, 1, 0, 1]).astype(dtype)
    storage.save(tmp_path / "a", "thing", {"x": array, "y": array.astype("u1")}, {})
    loaded, _ = storage.load(tmp_path / "a", "thing")
    assert loaded["x"].dtype == array.dtype
    assert np.array_equal(loaded["x"], array)


def test_saving_again_replaces_and_leaves_nothing_behind(saved: Path) -> None:
    storage.save(saved, "thing", {"x": np.ones(3)}, {})
    assert np.array_equal(storage.load(saved, "thing")[0]["x"], np.ones(3))
    assert len(list(saved.iterdir())) == 2


def test_a_failed_save_leaves_the_old_one(saved: Path) -> None:
    with pytest.raises(TypeError, match="serializable"):
        storage.save(saved, "thing", {"x": np.ones(3)}, {"bad": object()})
    assert np.array_equal(storage.load(saved, "thing")[0]["x"], np.arange(6.0).reshape(2, 3))


def test_foreign_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="did not write"):
        storage.save(tmp_path, "thing", {}, {})
    with pytest.raises(StoreError, match="is a file"):
        storage.save(tmp_path / "thesis.tex", "thing", {}, {})


def edit(folder: Path, **changes: object) -> None:
    path = folder / storage.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_damage_is_named(saved: Path) -> None:
    (data,) = saved.glob("*.safetensors")
    whole = data.read_bytes()
    data.write_bytes(whole[:-1])
    with pytest.raises(StoreError, match="damaged"):
        storage.load(saved, "thing")
    data.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(StoreError, match="changed after it was written"):
        storage.load(saved, "thing")
    data.unlink()
    with pytest.raises(StoreError, match="is missing"):
        storage.load(saved, "thing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"version": 99}, "version 99"), ({"format": "other"}, "not written by"), ({"meta": {}}, "was changed")],
)
def test_an_edited_manifest_is_named(saved: Path, changes: dict[str, object], message: str) -> None:
    edit(saved, **changes)
    with pytest.raises(StoreError, match=message):
        storage.load(saved, "thing")


def test_other_folders(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds 'thing', not 'model'"):
        storage.load(saved, "model")
    with pytest.raises(StoreError, match="is not a folder"):
        storage.load(tmp_path / "absent", "thing")
    with pytest.raises(StoreError, match=r"holds no parasphere\.json"):
        storage.load(tmp_path, "thing")
    (saved / storage.MANIFEST).write_text("{")
    with pytest.raises(StoreError, match="not readable JSON"):
        storage.load(saved, "thing")
    assert not storage.is_saved(tmp_path)


# Damage, and lies.


def lie(folder: Path, **changes: object) -> None:
    """Change a manifest as somebody would who knows its checksum."""
    manifest = json.loads((folder / storage.MANIFEST).read_text()) | changes
    manifest["manifest_crc32"] = _manifest_checksum(manifest)
    (folder / storage.MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "changes",
    [
        {"data": 5}, {"data": "../secret"}, {"data": "/etc/passwd"}, {"data": None}, {"kind": None}, {"kind": 7},
        {"size": "large"}, {"size": True}, {"size": -1}, {"crc32": []}, {"meta": []}, {"version": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_lies_gets_a_sentence(saved: Path, changes: dict[str, object]) -> None:
    lie(saved, **changes)
    with pytest.raises(StoreError, match=re.escape(str(saved))):
        storage.load(saved, "thing")


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"\xff\xfe", b"", b"[]", b'{"format": "parasphere", "version": 1' + b"0" * 9_999]
)
def test_a_manifest_that_cannot_be_read_gets_a_sentence(saved: Path, content: bytes) -> None:
    (saved / storage.MANIFEST).write_bytes(content)
    with pytest.raises(StoreError, match=r"parasphere\.json"):
        storage.load(saved, "thing")


@pytest.mark.parametrize("name", ["manifest", "data"])
def test_nobody_waits_for_a_fifo(saved: Path, name: str) -> None:
    path = saved / storage.MANIFEST if name == "manifest" else next(saved.glob("parasphere-*"))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StoreError, match="not a regular file"):
        storage.load(saved, "thing")


HEADERS = [
    {"dtype": "Q64"}, {"shape": [9, 9]}, {"shape": [-2, -3]}, {"shape": [2.0, 3.0]}, {"shape": "23"},
    {"shape": [2**62, 2**3]}, {"data_offsets": [0, 10**9]}, {"data_offsets": [-48, 0]}, {"data_offsets": [1, 49]},
    {"data_offsets": [0]}, {"data_offsets": 5},
    {"shape": [0, 10**30], "data_offsets": [0, 0]}, {"shape": [1] * 65, "data_offsets": [0, 8]},
]  # fmt: skip


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_a_header_that_lies_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    entry = {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]} | change
    header = json.dumps({"x": entry}).encode().ljust(248)
    path = tmp_path / "lie.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(48))
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(path)


@pytest.mark.parametrize(
    "content", [b"", b"12345678", (1 << 60).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"]
)
def test_a_file_without_a_header_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        map_tensors(path)


def written(path: Path, header: dict[str, object], size: int) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text.ljust(-(-len(text) // 8) * 8) + bytes(size))
    return path


@pytest.mark.parametrize(
    ("begins", "size"), [((0, 0), 8), ((0, 8), 24), ((0, 16), 24), ((8, 16), 24)],
    ids=["overlap", "rest", "gap", "late"],
)  # fmt: skip
def test_arrays_follow_each_other(tmp_path: Path, begins: tuple[int, int], size: int) -> None:
    header = {
        name: {"dtype": "F64", "shape": [1], "data_offsets": [begin, begin + 8]}
        for name, begin in zip("xy", begins, strict=True)
    }
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(written(tmp_path / "lie.safetensors", header, size))


def test_a_shape_of_very_many_axes_is_refused_at_once(tmp_path: Path) -> None:
    header = {"x": {"dtype": "U8", "shape": [2**62] * 100_000, "data_offsets": [0, 0]}}
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(written(tmp_path / "lie.safetensors", header, 0))


def test_facts_that_could_not_be_read_again_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.folder, "_LARGEST_MANIFEST", 1000)
    with pytest.raises(StoreError, match="at most 1,000 can be saved"):
        storage.save(tmp_path / "new", "thing", {}, {"long": "x" * 2000})
    assert not list(tmp_path.iterdir())


def test_a_manifest_that_would_fill_the_memory_is_not_parsed(saved: Path) -> None:
    (saved / storage.MANIFEST).write_bytes(b"[" + b"[]," * (3 << 20) + b"[]]")
    with pytest.raises(StoreError, match=r"parasphere\.json has more than 8,388,608 bytes"):
        storage.load(saved, "thing")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    storage.save(tmp_path / "large", "thing", {"x": np.zeros(5 << 20, np.uint8)}, {})
    return tmp_path / "large"


def test_one_flipped_bit_is_found_in_a_large_file(large: Path) -> None:
    (data,) = large.glob("parasphere-*")
    storage.load(large, "thing")
    times = data.stat()
    with data.open("r+b") as file:
        file.seek(3 << 20)
        file.write(b"\x01")
    os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a copying program would set it back
    with pytest.raises(StoreError, match="changed after it was written"):
        storage.load(large, "thing")
    assert storage.load(large, "thing", verify=False)[0]["x"].sum() == 1


# What is not ours stays.


@pytest.mark.parametrize("name", ["data-train.json", "part-1.json", "data-notes.safetensors", "parasphere.json"])
def test_a_folder_with_files_of_the_user_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(StoreError, match=re.escape(name)):
        storage.save(tmp_path, "thing", {"x": np.ones(2)}, {})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine"}


def test_files_of_the_user_beside_a_save_outlive_every_save(saved: Path) -> None:
    names = [
        "data-train.json",
        "part-1.json",
        "data-0123456789abcdef.safetensors",
        "part-0123456789abcdef",
        "parasphere-mine.safetensors",
        "parasphere-0123456789abcdef.safetensors.bak",
    ]
    for name in names:
        (saved / name).write_text("mine")
    storage.save(saved, "thing", {"x": np.ones(2)}, {})
    storage.save(saved, "thing", {"x": np.ones(3)}, {})
    storage.remove(saved)
    assert {path.name: path.read_text() for path in saved.iterdir()} == dict.fromkeys(names, "mine")


def test_a_save_whose_manifest_was_damaged_may_be_replaced(saved: Path) -> None:
    (saved / storage.MANIFEST).write_text("{")
    storage.save(saved, "thing", {"x": np.ones(2)}, {})
    assert storage.load(saved, "thing")[0]["x"].sum() == 2
    assert len(list(saved.iterdir())) == 2
    (saved / storage.MANIFEST).write_text("{")
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="not readable JSON"):
        storage.save(saved, "thing", {"x": np.ones(2)}, {})


# Links, which lead elsewhere.


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("years of work")
    return path


Link = Callable[[Path, Path], None]
LINKS: dict[str, Link] = {
    "symbolic": lambda path, target: path.symlink_to(target),
    "hard": lambda path, target: path.hardlink_to(target),
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, victim: Path, link: Link) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    link(folder / "parasphere.lock", victim)
    with pytest.raises(StoreError, match=r"parasphere\.lock is a link or not a file"):
        storage.save(folder, "thing", {"x": np.ones(3)}, {})
    assert victim.read_text() == "years of work"
    assert [path.name for path in folder.iterdir()] == ["parasphere.lock"]


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("name", ["manifest", "data"])
def test_a_link_in_a_saved_folder_is_replaced(saved: Path, victim: Path, link: Link, name: str) -> None:
    path = saved / storage.MANIFEST if name == "manifest" else next(saved.glob("parasphere-*"))
    victim.write_bytes(path.read_bytes())  # so that the folder is taken for a saved one
    before = victim.read_bytes()
    path.unlink()
    link(path, victim)
    storage.save(saved, "thing", {"x": np.ones(3)}, {})
    storage.save(saved, "thing", {"x": np.ones(4)}, {})
    assert victim.read_bytes() == before
    assert storage.load(saved, "thing")[0]["x"].sum() == 4
    storage.remove(saved)
    assert victim.read_bytes() == before


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("name", ["v.npy", ".v.npy.part0"])
def test_a_file_is_not_written_through_a_link(tmp_path: Path, victim: Path, link: Link, name: str) -> None:
    link(tmp_path / name, victim)
    storage.write_file(tmp_path / "v.npy", b"new")
    assert victim.read_text() == "years of work"
    assert (tmp_path / "v.npy").read_bytes() == b"new"


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "v.npy")
    with pytest.raises(StoreError, match="is not a regular file"):
        storage.write_file(tmp_path / "v.npy", b"new")


# Paths that no file can have.


@pytest.mark.parametrize("path", ["a" * 300, "a" * 5000, "a/" * 3000, "~nosuchuser/x", "a\0b", "\ud800"], ids=ascii)
def test_a_path_that_cannot_be_gets_a_sentence(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (
        lambda: storage.load(path, "thing"),
        lambda: storage.save(path, "thing", {}, {}),
        lambda: storage.remove(path),
        lambda: storage.is_saved(path),
        lambda: storage.write_file(path, b""),
        lambda: storage.Checkpoint(path, "thing", {}),
    ):
        with pytest.raises(StoreError, match="cannot be the path of a file or folder"):
            use()
    assert not list(tmp_path.iterdir())


# Disks that are full.


def test_a_full_disk_leaves_the_old_save(saved: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    with full_disk(1 << 10), pytest.raises(StoreError, match=r"saved cannot be written \(.*\)\. What it held"):
        storage.save(saved, "thing", {"x": np.ones(10_000)}, {})
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


@pytest.mark.parametrize("room", [0, 1 << 10, 80_300])  # the note, the data, the manifest
def test_a_full_disk_leaves_no_folder_behind(tmp_path: Path, room: int) -> None:
    with full_disk(room), pytest.raises(StoreError, match="Nothing was saved"):
        storage.save(tmp_path / "new", "thing", {"x": np.ones(10_000)}, {"long": "x" * 90_000})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    storage.write_file(path, b"old")
    with full_disk(10), pytest.raises(StoreError, match=r"file.txt cannot be written .* before is unchanged"):
        storage.write_file(path, bytes(100))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file.txt": b"old"}


# Processes that are killed, and processes that meet.


def writing(folder: Path, number: int = 1) -> Child:
    def save_on_and_on(tell: Callable[[object], None]) -> None:
        for n in count(number):
            storage.save(folder, "thing", {"x": np.full(200_000, n)}, {"number": n})
            tell(n)

    return Child(save_on_and_on)


def whole(folder: Path) -> bool:
    arrays, meta = storage.load(folder, "thing")
    return bool((arrays["x"] == meta["number"]).all())


def test_a_kill_at_any_moment_leaves_a_whole_save_and_is_cleaned_up(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    for attempt in range(6):
        with writing(folder) as process:
            process.out.readline()  # at least one save is whole
            time.sleep(0.003 * attempt)
        assert whole(folder)
        storage.save(folder, "thing", {"x": np.full(3, attempt)}, {"number": attempt})
        assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("moment", ["first", "second", "third", "fourth"])
def test_a_kill_before_each_step_is_cleaned_up(tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "saved"
    steps = iter(["first", "second", "third", "fourth"])

    def flush(_: Path) -> None:
        if next(steps) == moment:
            os._exit(0)

    monkeypatch.setattr(storage.folder, "flush", flush)
    if not (child := os.fork()):  # a process of its own that ends there without a word
        storage.save(folder, "thing", {"x": np.zeros(3)}, {"number": 0})
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.undo()
    assert storage.is_saved(folder) == (moment == "fourth")
    storage.save(folder, "thing", {"x": np.ones(3)}, {"number": 1})
    assert whole(folder)
    assert len(list(folder.iterdir())) == 2


def test_two_writers_and_a_reader_never_break_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with writing(folder, 1) as first, writing(folder, 10**6) as second:
        for process in (first, second):
            process.out.readline()
        assert all(whole(folder) for _ in range(200))
        for process in (first, second):
            assert os.waitpid(process.pid, os.WNOHANG) == (0, 0)  # it still writes
    assert whole(folder)


def test_two_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    with storage.replacing(tmp_path / "file.txt") as outer, storage.replacing(tmp_path / "file.txt") as inner:
        outer.write_text("outer")
        inner.write_text("inner")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file.txt": "outer"}


def test_another_kind_is_never_replaced(saved: Path) -> None:
    with pytest.raises(StoreError, match="'thing', which 'model' must not replace"):
        storage.save(saved, "model", {"x": np.ones(1)}, {})
    assert storage.load(saved, "thing")[1] == {"name": "é"}


def test_removing_leaves_what_is_not_ours(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    storage.remove(saved)
    assert [path.name for path in saved.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created"):
        storage.check_target(tmp_path / "file" / "below", "thing")
    storage.check_target(tmp_path / "new" / "deep", "thing")
    assert not (tmp_path / "new").exists()

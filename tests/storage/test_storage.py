"""One safetensors file: written whole or not at all, mapped, and refused with a sentence if it is something else."""

import json
import os
import random
import re
import signal
import time
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Child, full_disk, is_mapped
from safetensors import safe_open
from safetensors.numpy import load_file

from parasphere import storage
from parasphere.errors import ParasphereWarning, StoreError
from parasphere.storage import map_tensors, read, write


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.safetensors"
    write(path, "Thing", {"x": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 4), np.int32)}, {"name": "é\ud800"})
    return path


def header_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        header: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header


def with_header(path: Path, header: dict[str, Any]) -> None:
    """Replace the header of a file."""
    whole = path.read_bytes()
    data = whole[8 + int.from_bytes(whole[:8], "little") :]
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def with_metadata(path: Path, **changes: object) -> None:
    header = header_of(path)
    header["__metadata__"] |= changes
    with_header(path, header)


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_saved_is_loaded_read_only(saved: Path, mapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MAPPED", mapped)  # Windows reads, as it does not replace a mapped file
    arrays, info = read(saved, verify=True)
    assert np.array_equal(arrays["x"], np.arange(6.0).reshape(2, 3))
    assert arrays["none"].shape == (0, 4)
    assert arrays["none"].dtype == np.int32
    assert (info.kind, info.facts) == ("Thing", {"name": "é\ud800"})
    assert is_mapped(arrays["x"]) == mapped
    assert not any(array.flags.writeable for array in arrays.values())


def test_a_file_without_a_map_is_read_with_every_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from parasphere import SphericalParagraphModel, WordVectors, load

    monkeypatch.setattr(storage, "MAPPED", False)
    model = SphericalParagraphModel(WordVectors.from_arrays(["a", "b"], np.eye(2)), tol=1e-2).fit(["a b", "a", "b"])
    index = model.index(["a", "b"])
    index.save(tmp_path / "index")
    again = load(tmp_path / "index")
    again.add(["a b"], ids=["new"])
    again.save(tmp_path / "index")  # over the file that it came from
    assert len(load(tmp_path / "index", verify=True)) == 3


def test_the_safetensors_library_reads_it(saved: Path) -> None:
    assert np.array_equal(load_file(saved)["x"], np.arange(6.0).reshape(2, 3))
    with safe_open(saved, "numpy") as file:
        metadata = file.metadata()
    assert metadata["format"] == "parasphere"
    assert json.loads(metadata["facts"]) == {"name": "é\ud800"}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_every_type(tmp_path: Path, dtype: str) -> None:
    array = np.array([0, 1, 1, 0, 1]).astype(dtype)
    write(tmp_path / "a", "Thing", {"x": array, "y": array.astype("u1")}, {})
    loaded, _ = read(tmp_path / "a", verify=True)
    assert loaded["x"].dtype == array.dtype
    assert np.array_equal(loaded["x"], array)


def test_booleans_that_are_neither_0_nor_1_are_made_so(tmp_path: Path) -> None:
    write(tmp_path / "a", "Thing", {"x": np.array([True, False, True])}, {})
    whole = bytearray((tmp_path / "a").read_bytes())
    whole[-3:] = b"\x07\x00\xff"
    (tmp_path / "a").write_bytes(whole)
    assert read(tmp_path / "a")[0]["x"].view(np.uint8).tolist() == [1, 0, 1]


def test_saving_again_replaces_and_leaves_nothing_behind(saved: Path) -> None:
    old = read(saved)[0]["x"]
    write(saved, "Thing", {"x": np.ones(3)}, {})
    assert np.array_equal(read(saved)[0]["x"], np.ones(3))
    assert np.array_equal(old, np.arange(6.0).reshape(2, 3))  # what is mapped stays as it was
    assert list(saved.parent.iterdir()) == [saved]


def test_a_failed_save_leaves_the_old_one(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(TypeError, match="serializable"):
        write(saved, "Thing", {"x": np.ones(3)}, {"bad": object()})
    with pytest.raises(StoreError, match="of type complex128, which cannot be saved"):
        write(saved, "Thing", {"x": np.ones(3, complex)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_the_permissions_are_those_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "below" / "file", "Thing", {}, {})
    finally:
        os.umask(before)
    assert (tmp_path / "below" / "file").stat().st_mode & 0o777 == 0o640


# What must not be replaced, and what is no file of ours.


def test_nothing_else_is_replaced(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "empty").write_text("")
    storage.write_tensors(tmp_path / "other.safetensors", {"x": np.ones(2)}, {"format": "pt"})
    storage.write_tensors(tmp_path / "plain.safetensors", {"x": np.ones(2)})
    newer, older, damaged = (saved.with_name(name) for name in ("newer", "older", "damaged"))
    for path in (newer, older, damaged):
        path.write_bytes(saved.read_bytes())
    with_metadata(newer, version="99")
    with_metadata(older, version="2")
    with_metadata(damaged, facts="{")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, message in {
        "thesis.tex": "parasphere did not write it",
        "empty": "parasphere did not write it",
        "other.safetensors": "was not written by parasphere",
        "plain.safetensors": "was not written by parasphere",
        "newer": "format version 99; .* It is not replaced",
        "older": "format version 2; .* It is not replaced",
        "damaged": "metadata that cannot be read .* It is not replaced",
        "saved.safetensors": "holds 'Thing', which 'Model' must not replace",
    }.items():
        with pytest.raises(StoreError, match=f"{re.escape(name)}.*{message}"):
            write(tmp_path / name, "Model", {}, {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_of_an_earlier_release_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "parasphere.json").write_text("{}")
    with pytest.raises(
        StoreError, match=r"model is a folder saved by parasphere 0\.2, which this version does not read"
    ):
        read(tmp_path / "model")
    with pytest.raises(StoreError, match=r"folder saved by parasphere 0\.2.* such as model\.safetensors"):
        write(tmp_path / "model", "Thing", {}, {})
    with pytest.raises(StoreError, match="is a folder where a file is to be written"):
        write(tmp_path, "Thing", {}, {})
    with pytest.raises(StoreError, match="is a folder; a file that parasphere saved is needed"):
        read(tmp_path)


def test_what_is_not_ours_cannot_be_loaded(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="absent does not exist"):
        read(tmp_path / "absent")
    (tmp_path / "text").write_text("a text of more than eight bytes")
    with pytest.raises(StoreError, match="parasphere did not write it, or it is damaged"):
        read(tmp_path / "text")
    with_metadata(saved, version="99")
    with pytest.raises(StoreError, match="has format version 99; this parasphere reads version 3"):
        read(saved)
    with_metadata(saved, format="other")
    with pytest.raises(StoreError, match="was not written by parasphere"):
        read(saved)
    assert not storage.is_saved(tmp_path)
    assert not storage.is_saved(saved)


def test_a_folder_that_cannot_be_made_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created"):
        storage.check_target(tmp_path / "file" / "below", "Thing")
    storage.check_target(tmp_path / "new" / "deep", "Thing")
    assert not (tmp_path / "new").exists()


# Damage, and lies.


def test_damage_is_named(saved: Path) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[:-1])
    with pytest.raises(StoreError, match="damaged"):
        read(saved)
    saved.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert read(saved)[0]["x"].shape == (2, 3)
    with pytest.raises(StoreError, match=r"saved\.safetensors was changed after it was written"):
        read(saved, verify=True)


def test_every_flipped_bit_is_found_or_changes_nothing(saved: Path) -> None:
    whole, (arrays, info) = saved.read_bytes(), read(saved)
    rng = random.Random(0)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        saved.write_bytes(damaged)
        try:
            found, same = read(saved, verify=True)
        except StoreError as error:
            assert str(saved) in str(error)  # noqa: PT017
        else:
            assert (same.facts, same.kind) == (info.facts, info.kind)
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": None}, {"kind": 7}, {"facts": None}, {"facts": "[]"}, {"facts": "{"}, {"facts": "[" * 100_000},
        {"version": "one"}, {"version": None}, {"version": "9" * 9_999}, {"crc32": 5}, {"crc32": None},
    ],
    ids=lambda changes: str(changes)[:30],
)  # fmt: skip
def test_metadata_that_lie_get_a_sentence(saved: Path, changes: dict[str, object]) -> None:
    with_metadata(saved, **changes)
    with pytest.raises(StoreError, match=re.escape(str(saved))):
        read(saved)


@pytest.mark.parametrize("header", [{}, {"__metadata__": 5}, {"__metadata__": []}, {"__metadata__": {}}], ids=str)
def test_a_header_without_metadata_gets_a_sentence(saved: Path, header: dict[str, Any]) -> None:
    with_header(saved, header)
    with pytest.raises(StoreError, match="was not written by parasphere"):
        read(saved)


def test_nobody_waits_for_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for use in (lambda: read(tmp_path / "pipe"), lambda: write(tmp_path / "pipe", "Thing", {}, {})):
        with pytest.raises(StoreError, match="not a regular file"):
            use()


HEADERS = [
    {"dtype": "Q64"}, {"shape": [9, 9]}, {"shape": [-2, -3]}, {"shape": [2.0, 3.0]}, {"shape": "23"},
    {"shape": [2**62, 2**3]}, {"data_offsets": [0, 10**9]}, {"data_offsets": [-48, 0]}, {"data_offsets": [1, 49]},
    {"data_offsets": [0]}, {"data_offsets": 5},
    {"shape": [0, 10**30], "data_offsets": [0, 0]}, {"shape": [1] * 65, "data_offsets": [0, 8]},
]  # fmt: skip


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_a_header_that_lies_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    entry = {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]} | change
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(written(tmp_path / "lie.safetensors", {"x": entry}, 48))


@pytest.mark.parametrize(
    "content", [b"", b"12345678", (1 << 60).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"]
)
def test_a_file_without_a_header_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"bad\.safetensors has"):
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
    header: dict[str, object] = {
        name: {"dtype": "F64", "shape": [1], "data_offsets": [begin, begin + 8]}
        for name, begin in zip("xy", begins, strict=True)
    }
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(written(tmp_path / "lie.safetensors", header, size))


def test_a_shape_of_very_many_axes_is_refused_at_once(tmp_path: Path) -> None:
    header: dict[str, object] = {"x": {"dtype": "U8", "shape": [2**62] * 100_000, "data_offsets": [0, 0]}}
    with pytest.raises(StoreError, match="does not fit its data"):
        map_tensors(written(tmp_path / "lie.safetensors", header, 0))


def test_facts_that_could_not_be_read_again_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_LONGEST_HEADER", 1000)
    with pytest.raises(StoreError, match="at most 1,000 can be saved"):
        write(tmp_path / "new", "Thing", {}, {"long": "x" * 2000})
    assert not list(tmp_path.iterdir())


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
def test_a_lock_that_is_a_link_is_refused(saved: Path, victim: Path, link: Link) -> None:
    link(saved.with_name(f".{saved.name}.lock"), victim)
    with pytest.raises(StoreError, match=r"\.lock is a link or not a file"), storage.updating(saved):
        pass
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_link_is_replaced_and_not_what_it_leads_to(saved: Path, link: Link) -> None:
    link(saved.with_name("link"), saved)
    before = saved.read_bytes()
    write(saved.with_name("link"), "Thing", {"x": np.ones(4)}, {})
    assert saved.read_bytes() == before
    assert read(saved.with_name("link"))[0]["x"].sum() == 4
    assert not saved.with_name("link").is_symlink()


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_file_is_not_written_through_a_link(tmp_path: Path, victim: Path, link: Link) -> None:
    link(tmp_path / "v.npy", victim)
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

    def update() -> None:
        with storage.updating(path):
            pass

    for use in (
        lambda: read(path),
        lambda: write(path, "Thing", {}, {}),
        lambda: storage.write_file(path, b""),
        update,
    ):
        with pytest.raises(StoreError, match="cannot be the path of a file or folder"):
            use()
    assert not storage.is_saved(path)
    assert not list(tmp_path.iterdir())


# Disks that are full.


@pytest.mark.parametrize("room", [0, 1 << 10, 80_000])
def test_a_full_disk_leaves_the_old_save(saved: Path, room: int) -> None:
    before = saved.read_bytes()
    with (
        full_disk(room),
        pytest.raises(StoreError, match=r"saved\.safetensors cannot be written .*before is unchanged"),
    ):
        write(saved, "Thing", {"x": np.ones(10_000)}, {"long": "x" * 1000})
    assert saved.read_bytes() == before
    with full_disk(room), pytest.raises(StoreError, match="Nothing was written"):
        write(saved.with_name("new"), "Thing", {"x": np.ones(10_000)}, {"long": "x" * 1000})
    assert list(saved.parent.iterdir()) == [saved]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    storage.write_file(path, b"old")
    with full_disk(10), pytest.raises(StoreError, match=r"file.txt cannot be written .* before is unchanged"):
        storage.write_file(path, bytes(100))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file.txt": b"old"}


# Processes that are killed, and processes that meet.


def writing(path: Path, number: int = 1) -> Child:
    def save_on_and_on(tell: Callable[[object], None]) -> None:
        for n in count(number):
            write(path, "Thing", {"x": np.full(200_000, n)}, {"number": n})
            tell(n)

    return Child(save_on_and_on)


def whole(path: Path) -> bool:
    arrays, info = read(path, verify=True)
    return bool((arrays["x"] == info.facts["number"]).all())


def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    path, rng = tmp_path / "saved", random.Random(0)
    for _ in range(25):
        with writing(path) as process:
            process.out.readline()  # at least one save is whole
            time.sleep(rng.random() / 100)
        assert whole(path)
    write(path, "Thing", {"x": np.full(3, 7)}, {"number": 7})
    assert whole(path)


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_a_kill_before_each_step(tmp_path: Path, moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "saved"
    write(path, "Thing", {"x": np.zeros(3)}, {"number": 0})
    steps = count()

    def die(_: Path) -> None:  # before the file is on the disk, before its folder is, and not at all
        if next(steps) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(storage, "_flush", die)
    if not (child := os.fork()):
        write(path, "Thing", {"x": np.ones(3)}, {"number": 1})
        os._exit(0)
    os.waitpid(child, 0)
    monkeypatch.undo()
    assert whole(path)
    assert read(path)[1].facts["number"] == (moment > 0)


def test_two_writers_and_a_reader_never_break_a_file(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    with writing(path, 1) as first, writing(path, 10**6) as second:
        for process in (first, second):
            process.out.readline()
        assert all(whole(path) for _ in range(200))
        for process in (first, second):
            assert os.waitpid(process.pid, os.WNOHANG) == (0, 0)  # it still writes
    assert whole(path)


def test_two_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    with storage.replacing(tmp_path / "file.txt") as outer, storage.replacing(tmp_path / "file.txt") as inner:
        outer.write_text("outer")
        inner.write_text("inner")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file.txt": "outer"}


def test_several_that_update_all_count(tmp_path: Path) -> None:
    path, rounds = tmp_path / "saved", 20
    write(path, "Thing", {}, {"number": 0})

    def update(tell: Callable[[object], None]) -> None:
        warnings.simplefilter("ignore", ParasphereWarning)  # of waiting
        for _ in range(rounds):
            with storage.updating(path):
                number = read(path)[1].facts["number"]
                time.sleep(0.001)
                write(path, "Thing", {}, {"number": number + 1})
        tell("done")

    with Child(update) as first, Child(update) as second, Child(update) as third:
        assert [child.out.readline() for child in (first, second, third)] == ["done\n"] * 3
    assert read(path)[1].facts["number"] == 3 * rounds
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_ends_with_its_process_and_who_waits_is_told(tmp_path: Path) -> None:
    path = tmp_path / "saved"

    def hold(tell: Callable[[object], None]) -> None:
        with storage.updating(path):
            tell("held")
            time.sleep(60)

    with Child(hold) as holder:
        holder.out.readline()

        def wait(tell: Callable[[object], None]) -> None:
            tell("waits")
            with pytest.warns(ParasphereWarning, match="is being updated by another process"), storage.updating(path):
                tell("got it")

        with Child(wait) as waiting:
            assert waiting.out.readline() == "waits\n"
            os.kill(holder.pid, signal.SIGKILL)
            assert waiting.out.readline() in ("got it\n", "")  # "": the other was dead before it could be waited for
    with storage.updating(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_in_a_folder_that_does_not_exist_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be updated"), storage.updating(tmp_path / "file" / "index"):
        pass

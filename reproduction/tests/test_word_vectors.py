"""The recipe of the word vectors, on a small text."""

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parasphere import WordVectors

SCRIPT = Path(__file__).parent.parent / "scripts" / "word_vectors.py"
TEXT = "\n".join(["The cat sat on 2 mats, and 1 dog.", "Dogs sat on logs; THE café was open.", ""] * 40 + ["seldom"])
SMALL = ("--dim", 8, "--epochs", 1)


def made(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_words_are_letters_in_lower_case_and_numbers_are_rounded(text: Path, tmp_path: Path) -> None:
    done = made(text, *SMALL, "--out", tmp_path / "v.bin.gz")
    assert done.returncode == 0, done.stderr
    vectors = WordVectors.load(tmp_path / "v.bin.gz")
    assert set(vectors.words) == set("the cat sat on mats and dog dogs logs café was open".split())
    raw = gzip.decompress((tmp_path / "v.bin.gz").read_bytes())
    assert raw.startswith(b"12 8\n")
    word, _, rest = raw[5:].partition(b" ")
    row = np.frombuffer(rest[:32], "<f4")
    assert word.decode() == vectors.words[0]
    assert np.array_equal(row.astype(np.float16).astype(np.float32), row)


@pytest.mark.parametrize("packing", [gzip, bz2, lzma])
def test_packed_text_gives_the_same_bytes(text: Path, tmp_path: Path, packing: Any) -> None:
    packed = tmp_path / f"text.txt.{ {'gzip': 'gz', 'bz2': 'bz2', 'lzma': 'xz'}[packing.__name__] }"
    packed.write_bytes(packing.compress(text.read_bytes()))
    for path, name in ((text, "a.bin.gz"), (packed, "b.bin.gz")):
        assert made(path, *SMALL, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "a.bin.gz").read_bytes() == (tmp_path / "b.bin.gz").read_bytes()


def test_the_most_frequent_words_and_those_of_corpora(text: Path, tmp_path: Path) -> None:
    done = made(text, *SMALL, "--most", 3, "--corpora", "docstrings", "--out", tmp_path / "v.bin.gz")
    assert done.returncode == 0, done.stderr
    words = WordVectors.load(tmp_path / "v.bin.gz").words
    assert {"the", "sat", "on", "open"} <= set(words)  # docstrings open files
    assert "café" not in words


def test_help_and_faults(text: Path, tmp_path: Path) -> None:
    assert "--dim 300 --epochs 2" in made("--help").stdout
    for arguments, said in (
        ((text, "--out", tmp_path / "v.bin"), "must end in .bin.gz"),
        ((tmp_path / "absent.txt", "--out", tmp_path / "v.bin.gz"), "is not a file of text"),
        ((text, "--min-count", 999, "--out", tmp_path / "v.bin.gz"), "no word occurs 999 times"),
    ):
        done = made(*arguments)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.glob("*.gz"))

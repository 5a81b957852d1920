"""What commands print: nothing in it acts on the terminal, is taken for markup, or is spelled as in Python."""

import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Told, typed

from parasphere import SphericalParagraphModel
from parasphere.cli.common import BOLD, show, show_table
from parasphere.errors import ParasphereError
from parasphere.plots.maps import draw_map
from parasphere.printable import visible, visible_json

# Colours, a title, a rubout, an 8-bit CSI, text that runs backwards, a byte that is no UTF-8, and markup.
HOSTILE = "\x1b[31mred\x1b]0;owned\x07\x08\r\x7f\x9b1m\u202e\u2066back[/][bold]:bug:"
FOLDER = Path("a[", "]b[red]\x1b[2J\u202e")  # "a[/]b": an end of nothing, to markup
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_what_acts_is_spelled_and_all_else_is_left_alone() -> None:
    everything = "".join(map(chr, range(0x110000)))
    shown = visible(everything)
    assert ACTING.search(shown) is None
    assert shown.encode().decode() == shown  # no surrogates
    for kept in ("\n", "\t", "é", "漢字", "עברית\u200f", "क्‍ष", "👩‍👩‍👧", "[bold]"):
        assert visible(kept) == kept
    sound = "".join(c for c in everything if not "\ud800" <= c <= "\udfff") + "\ud800"
    content = visible_json(json.dumps([sound], ensure_ascii=False))
    assert ACTING.search(content) is None
    assert json.loads(content) == [sound]


def test_text_is_shown_as_text_wherever_it_stands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for terminal in (False, True):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)  # noqa: B023
        monkeypatch.setenv("COLUMNS", "400")
        show(HOSTILE, (HOSTILE, BOLD))
        show_table([HOSTILE], [[HOSTILE], [(HOSTILE, BOLD)]])
        shown = capsys.readouterr().out
        shown = re.sub(r"\x1b\[[0-9;]*m", "", shown) if terminal else shown  # our own colours
        assert ACTING.search(shown) is None
        assert shown.count("\\x1b[31mred\\x1b]0;owned\\x07") == 5
        assert shown.count("[/][bold]:bug:") == 5


def test_a_table_has_a_line_per_row_and_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("1", "a text\nof two lines, and a long one"), ("22", "複製文件和目錄 and more"), ("3", "e\u0301" * 30)]
    show_table(["no", "text"], rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["no  text", "1   a text of two lines, and a long one", "22  複製文件和目錄 and more"]
    assert lines[3:] == [f"3   {rows[2][1]}"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "16")
    monkeypatch.setenv("NO_COLOR", "1")
    show_table(["no", "text"], rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["no  text", "1   a text of t…", "22  複製文件和…"]


@pytest.fixture
def hostile(tmp_path: Path) -> dict[str, Path]:
    """Return files whose names, words, ids and columns are hostile."""
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    vectors, corpus = folder / "vectors[\x1b].txt", folder / "corpus[\x1b].jsonl"
    rng = np.random.default_rng(0)
    words = ["north", "east", "\x1b[31mevil", "[/]", "\x9b"]
    rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, rng.normal(size=(5, 4)), strict=True)]
    vectors.write_text("\n".join(rows) + "\n")
    lines = [{HOSTILE: f"north east {HOSTILE}", "id": f"{i}{HOSTILE}", "label": f"{HOSTILE}{i % 3}"} for i in range(20)]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"vectors": vectors, "corpus": corpus, "model": folder / "model"}


def harmless(told: Told, code: int = 0) -> Told:
    assert told.code == code, told.err
    assert ACTING.search(told.out + told.err) is None
    return told


def test_every_command_with_hostile_names_and_texts(hostile: dict[str, Path]) -> None:
    vectors, corpus, model = hostile.values()
    columns = ["--text-column", HOSTILE]
    out = model.parent
    assert "vectors" in harmless(typed("fit", corpus, "-v", vectors, "-o", model, *columns)).out
    harmless(typed("fit", corpus, "-v", vectors, "-o", model, "--json", *columns))
    harmless(typed("info", model))
    assert "a[/]b[red]\\x1b[2J" in harmless(typed("transform", model, corpus, "-o", out / "v.npy", *columns)).out
    index = out / "index[\x1b]"
    harmless(typed("index", model, corpus, "-o", index, "--id-column", "id", *columns))
    assert "\\x1b[31mred" in harmless(typed("search", index, f"north {HOSTILE}")).out
    as_json = harmless(typed("search", index, f"north {HOSTILE}", "--json")).out
    assert json.loads(as_json)[0]["id"].endswith(HOSTILE)
    assert "\\x1b[31mred" in harmless(typed("duplicates", corpus, "--id-column", "id", *columns)).out
    harmless(typed("search", index, "\x1b[\x9bxyz"))
    assert "No vector for" in harmless(typed("explain", model, f"north {HOSTILE}")).out
    harmless(typed("explain", model, f"north {HOSTILE}", "--json"))
    harmless(typed("vectors", vectors))
    harmless(typed("vectors", vectors, "--nearest", "north"))
    harmless(typed("vectors", vectors, "--nearest", "\x1b[31mevil"))
    harmless(typed("compare", f"north {HOSTILE}", HOSTILE))
    # errors: of ours, and of the library that parses what was typed
    harmless(typed("transform", model, corpus, "-o", out / "v.npy", "--text-column", f"no{HOSTILE}"), 1)
    harmless(typed("info", out / f"absent{HOSTILE}"), 1)
    harmless(typed("vectors", vectors, "--nearest", HOSTILE), 1)
    harmless(typed("info", model, HOSTILE), 2)
    harmless(typed(f"--{HOSTILE}"), 2)
    harmless(typed(HOSTILE), 2)
    harmless(typed("search", index, "a", f"-k{HOSTILE}"), 2)


def test_a_path_that_is_no_utf8_is_printed(hostile: dict[str, Path]) -> None:
    missing = hostile["model"].parent / "caf\udce9"
    assert "caf\\udce9" in harmless(typed("info", missing), 1).err


def test_a_picture_is_well_formed_whatever_the_labels(tmp_path: Path) -> None:
    nasty = [HOSTILE, "\x00", "\ufffe\uffff", "\ud800", "&<>\"'"]
    x = np.random.default_rng(0).normal(size=(5, 4)) + 1
    draw_map(tmp_path / "map.svg", x, nasty, title=HOSTILE)
    assert ET.parse(tmp_path / "map.svg").getroot().tag.endswith("svg")


def test_dates_and_infinite_numbers_are_json(tmp_path: Path) -> None:
    model = SphericalParagraphModel(tol=0.1).fit(["a lake", "a river", "the sea"] * 9)
    columns = {"day": [date(2024, 1, 31), None], "price": [math.inf, 1.5], "size": [1, 2]}
    table = pd.DataFrame({"text": ["a lake", "a river"], "id": [2**70, "b"], **columns})
    model.index(table, "id", columns=list(columns)).save(tmp_path / "index")
    found = json.loads(harmless(typed("search", tmp_path / "index", "lake", "--json")).out)
    assert [match["id"] for match in found] == [2**70, "b"]
    assert found[0]["columns"] == {"day": "2024-01-31", "price": None, "size": 1}


# -- messages -----------------------------------------------------------------------------------------------------


def test_errors_and_warnings_reach_the_user(tmp_path: Path) -> None:
    vectors, corpus, model = tmp_path / "v.txt", tmp_path / "c.txt", tmp_path / "m"
    vectors.write_text("north 0 2\neast 3 0\nnortheast 1 1\n")
    corpus.write_bytes("north\neast\ncaf\xe9 northeast\n".encode("latin-1"))
    fit = ["fit", corpus, "-v", vectors, "-o", model]
    assert "perhaps latin-1" in typed(*fit).err
    assert "n_jobs' parameter" in typed(*fit, "--encoding", "latin-1", "--threads", 0).err
    told = typed(*fit, "--encoding", "latin-1")
    assert told.err.startswith("warning: there are too few texts, 3, to tell how much texts differ")
    assert told.err.count("warning:") == 1
    assert "near the corpus direction" not in told.out
    vectors.unlink()  # they are in the file of the model
    assert typed("info", model).err == ""
    vectors.write_text("north 0 2\neast 3\n")
    assert "line 2: the row of 'east' has 1 numbers instead of 2" in typed("vectors", vectors).err
    assert json.loads(typed("vectors", "--json").out)["words"] == 131_375


def test_a_text_without_known_words_is_explained(tmp_path: Path) -> None:
    vectors, corpus, model = tmp_path / "v.txt", tmp_path / "c.txt", tmp_path / "m"
    vectors.write_text("north 0 2\neast 3 0\nnortheast 1 1\n")
    corpus.write_text("north\neast\nnortheast north\n")
    assert typed("fit", corpus, "-v", vectors, "-o", model).code == 0
    for text in ("", "unheard of"):
        shown = typed("explain", model, text).out
        assert "No word of this text has a vector" in shown
        assert "%" not in shown
    assert "No vector for: unheard" in shown


def test_long_values_are_not_echoed_whole(tmp_path: Path) -> None:
    long = "x" * 100_000
    (tmp_path / "c.txt").write_text("north\n")
    (tmp_path / "c.csv").write_text("text\nnorth\n")
    for words in (["fit", tmp_path / "c.txt", "-v", long, "-o", tmp_path / "m"], [long], ["search", long, "a"],
                  ["duplicates", tmp_path / "c.csv", "--text-column", long]):  # fmt: skip
        told = typed(*words)
        assert told.code in (1, 2)
        assert 0 < len(told.err) < 5000
    with pytest.raises(ParasphereError) as error:
        raise ParasphereError(f"the column {long} is not one of a, b")
    assert len(str(error.value)) < 2100
    assert str(error.value).startswith("the column xxx")
    assert str(error.value).endswith("is not one of a, b")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("a lake\na river\nthe sea\n" * 4)
    for words in (f"fit {tmp_path}/c.txt -o {tmp_path}/m", "compare lake river", f"duplicates {tmp_path}/c.txt"):
        command = f"'{sys.executable}' -m parasphere {words} {closed}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, "Error" in done.stderr) == (0, False), done.stderr
        assert ("2>&-" in closed) <= (done.stderr == "")
    assert (tmp_path / "m").exists()


INTERRUPTED = """
import signal, sys
from importlib.abc import MetaPathFinder

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in processes that a shell starts in the background

class Interrupter(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
sys.argv[1:] = ["compare", "a", "b"]
from parasphere.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["parasphere.cli", "click", "parasphere.errors", "numpy", "orjson"])
def test_an_interrupt_during_imports_prints_no_traceback(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.format(module=module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip(), done.stdout.strip()) == (130, "", "")

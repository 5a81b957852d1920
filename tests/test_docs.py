"""The documentation's code runs as it is printed, but for fewer epochs, and its links lead somewhere."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from parasphere import Index

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def python_of(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def run_page(page: Path, shorter: dict[str, str]) -> dict[str, Any]:
    """Run all Python of a page, one block after the other, with some calls made shorter; return its names."""
    code = python_of(page.read_text(encoding="utf-8"))
    for long, short in shorter.items():
        assert code.count(long) == 1
        code = code.replace(long, short)
    names: dict[str, Any] = {"__name__": page.stem}
    exec(compile(code, page.name, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "README.md"
    run_page(page, {})
    said = re.findall(r"^print\(.*\)  # (.*)$", python_of(page.read_text("utf-8")), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == said


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900


def test_the_tutorial_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    run_page(DOCS / "tutorial.md", {"epochs=10": "epochs=2"})
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert (tmp_path / "docstrings-model" / "parasphere.json").is_file()
    assert "scipy.signal" in capsys.readouterr().out  # what is similar to "smooth a noisy signal"


def test_the_page_on_learning_runs() -> None:
    shorter = {
        "JointVectors(epochs=2)": "JointVectors(epochs=1)",
        '("docstrings").texts': '("docstrings").texts[:300]',
        "texts[:1000]": "texts[:200]",
        "texts[1000:]": "texts[200:]",
    }
    run_page(DOCS / "learning.md", shorter)


def test_the_page_on_topics_runs(tmp_path: Path) -> None:
    names = run_page(DOCS / "topics.md", {})
    assert names["shares"].shape == (1, 12)
    assert len(names["fewer"].weights_) == 5
    assert names["table"].column("value") == ["numpy", "scipy", "sklearn"]
    assert (tmp_path / "map.png").stat().st_size > 20_000


def test_the_page_on_search_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(DOCS / "search.md", {})
    shown = capsys.readouterr().out
    assert "numpy.linalg.lstsq" in shown
    assert "Update(added=0, replaced=1, kept=1, removed=1)\n['birch']" in shown
    assert Index.load(tmp_path / "packages-index").ids.tolist() == ["birch", "amber"]


def test_the_page_on_similarity_says_what_comes_out() -> None:
    found = run_page(DOCS / "similarity.md", {})
    assert (round(found["similarity"], 2), round(found["std"], 2)) == (0.55, 0.08)
    assert (round(found["evidence"], 1), round(found["nats"][0], 1)) == (34.1, 35.7)
    best = {max(words, key=lambda part: part[1])[0] for words in (found["match"].words_a, found["match"].words_b)}
    assert best == {"equations", "equation"}


def test_the_first_page_runs() -> None:
    model = run_page(DOCS / "index.md", {})["model"]
    system, equation, unrelated = "Solve a linear system.", "The solution of a matrix equation.", "Read a file."
    assert model.compare(system, system) > model.compare(system, equation) > 0.3 > model.compare(system, unrelated)


def test_the_page_on_the_model_runs() -> None:
    names = run_page(DOCS / "model.md", {})
    assert names["posterior"].concentration[0] > names["model"].concentration_


def test_the_page_to_start_with_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas", reason="the page shows a column of pandas")
    names = run_page(DOCS / "start.md", {})
    assert names["similarity"] > names["model"].compare(names["a"], "Draw random numbers.")
    assert "scipy.signal" in capsys.readouterr().out  # what is similar to "smooth a noisy signal"


def test_the_page_on_classifying_runs() -> None:
    names = run_page(DOCS / "classify.md", {'"classifier__C": [0.1, 1, 10]': '"classifier__C": [1]'})
    assert names["accuracy"] > 0.8
    assert (names["guessed"] == names["test_labels"]).mean() > 0.5
    informed, little, none = names["posterior"].information
    assert informed > little > none == 0


def test_the_page_on_duplicates_runs() -> None:
    names = run_page(DOCS / "deduplicate.md", {})
    assert names["kept"] == [names["texts"][1], names["texts"][3]]
    assert [leak[:2] for leak in names["duplicates"](names["train"], against=names["test"])] == [(0, 0)]


def test_the_page_for_engineers_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "engineer.md"
    run_page(page, {})
    said = re.findall(r"^print\(.*\)  # (.*)$", python_of(page.read_text("utf-8")), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == said


def test_the_page_for_researchers_runs() -> None:
    shorter = {
        '"SPM": SphericalParagraphModel()': '"SPM": SphericalParagraphModel(adapt=False)',
        "SphericalParagraphModel().fit": "SphericalParagraphModel(adapt=False).fit",
    }
    names = run_page(DOCS / "researcher.md", shorter)
    assert all(scores.mean() > 0.8 for scores in names["accuracies"].values())
    assert names["posterior"].information[2] == 0


def test_the_page_for_analysts_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas", reason="the page shows a table of pandas")
    names = run_page(DOCS / "analyst.md", {})
    assert len(names["few"].names_) == 6
    assert names["table"].column("value") == ["numpy", "scipy", "sklearn"]
    assert (tmp_path / "map.png").stat().st_size > 20_000


def test_the_page_on_a_million_texts_runs(tmp_path: Path) -> None:
    assert run_page(DOCS / "large.md", {})["count"] == 2004
    assert len(Index.load(tmp_path / "index")) == 2004


def test_the_cheat_sheet_runs(tmp_path: Path) -> None:
    shorter = {'("docstrings").texts': '("docstrings").texts[:400]', "JointVectors(epochs=2)": "JointVectors(epochs=1)"}
    names = run_page(DOCS / "cheatsheet.md", shorter)
    assert len(names["hits"]) == 2
    assert len(names["fewer"].weights_) == 5
    assert names["counts"].shape == (400, 2)
    assert (tmp_path / "map.png").is_file()


def test_every_page_with_code_is_run() -> None:
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        if "```python" in page.read_text("utf-8"):
            assert f'"{page.name}"' in tests, f"no test runs the code of {page.name}"


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), ROOT / "results/README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_figures_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    figures = import_module("benchmarks.figures")
    for page in figures.PAGES:  # tables that need the experiments' statistics are compared by the reproduction's tests
        text = page.read_text("utf-8")
        assert figures.fill(text, figures.FIGURES) == text, f"{page.name}: python -m benchmarks.readme writes it anew"
        assert not re.search(r"^<!-- \w+[^>]*-->[^\n]", text, re.MULTILINE), f"{page.name}: it would end a paragraph"
        assert "<!--" not in re.sub(r"`[^`]+`", "", figures.PLACE.sub("", text)), (
            f"{page.name}: a figure without an end"
        )


# Numbers with a unit that nobody measured: limits, defaults, and what others published.
NO_FIGURES = {
    "docs/cluster.md": {"64 MB", "100 MB", "1 GB"},
    "docs/languages.md": {"70 %"},
    "docs/large.md": {"100 MB"},
    "docs/learning.md": {"100 MB"},
    "docs/similarity.md": {"3 nats"},
    "docs/training.md": {"5 %"},
}


def test_measured_figures_are_written_by_a_script() -> None:
    """Numbers with a unit, and those that look like per cent, stand in placeholders, or else in the list above."""
    elsewhere = r"```.*?```|<!-- (\w+)[^>]*-->.*?<!-- /\1 -->|\$\$.*?\$\$|\$[^$\n]+\$|`[^`]+`|^    .*?$"
    units = r"%|×|(?:per cent|points?|m?s|seconds?|minutes?|hours?|nats|[kMG]B|gigabytes?|times|x)\b|[\w ]{0,12}/s\b"
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = re.sub(elsewhere, "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        numbers = re.findall(rf"[\d.,]*\d\s?(?:{units})|(?<![.\d])\d\d\.\d\b(?!\.)", text)
        found = {" ".join(number.split()) for number in numbers}
        assert found == NO_FIGURES.get(page.relative_to(DOCS.parent).as_posix(), set()), page.name

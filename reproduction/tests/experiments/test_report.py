"""The report: what the paper printed, what is in the files, and what a browser makes of them."""

import html
import json
import re
import runpy
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import page_data, spaced

from parasphere.errors import ParasphereError
from reproduction.experiments import figures, published
from reproduction.experiments.page import TITLE, plain
from reproduction.experiments.published import Comparison, Condition
from reproduction.experiments.report import EXCERPT, read_results, write_report, write_tasks
from reproduction.experiments.seeds import holm

LINEAR = Condition("liblinear", False)
NASTY = [
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=alert(1)>",
    "\ud800 é 漢 \u2028",
    "DATA",
]
LABELS = {
    "20news-different": ["alt.atheism", "rec.sport.baseball", "sci.space"],
    "20news-similar": ["rec.sport.baseball", "talk.politics.guns", "talk.politics.misc"],
    "20news-same": ["comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"],
    "reuters-10": "acq coffee crude earn interest money-fx money-supply ship sugar trade".split(),
    "subj": ["objective", "subjective"],
    "mr": ["negative", "positive"],
    "20news": [f"group.number.{i}" for i in range(20)],
    "my <own>": ["a|b", "<b>bold</b>", "c"],
}
SPLITS = {"20news-different": 1110, "20news-similar": 1071, "20news-same": 1178, "reuters-10": 2255, "20news": 7532}
LEVELS = {  # accuracies near those of the prototype
    "20news-different": 0.904, "20news-similar": 0.809, "20news-same": 0.633, "reuters-10": 0.922, "subj": 0.871,
    "mr": 0.682, "20news": 0.61, "my <own>": 0.75,
}  # fmt: skip
ENCODERS = {  # title, dimension of its own, better than SPM by, texts a second
    "spm": ("SPM", None, 0.0, 3e4), "spm-paper": ("SPM, to the letter", None, -0.002, 2.6e4),
    "cbow": ("cBow", None, -0.006, 9e4), "bow": ("BoW", 5000, 0.06, 1.4e4),
    "tfidf-best": ("tf-idf, pairs", 9000, 0.02, 1e4), "tfidf-paper": ("tf-idf, words", 9000, 0.01, 1e4),
    "newcomer": ("New<br>comer", 7, -0.1, 30.0),
}  # fmt: skip


def document(i: int, label: str, concentration: float) -> dict[str, Any]:
    text = NASTY[i] if i < len(NASTY) else "A sentence about  nothing much,\n\n  but rather long. " * 12
    return {"id": f"file<{i}>", "label": label, "text": text, "concentration": concentration}


def run(rng: np.random.Generator, encoder: str, dataset: str, dim: int = 50, **changes: Any) -> dict[str, Any]:
    """Return a run that could be true: which documents are right, and all that follows from it."""
    title, own, better, speed = ENCODERS[encoder]
    labels, n = LABELS[dataset], SPLITS.get(dataset, 1000)
    level = LEVELS[dataset] + better + 0.02 * np.log2(dim / 50)
    hardness = np.random.default_rng(7).random(n)  # the same documents are hard for all
    correct = (hardness + rng.normal(0, 0.05, n) < level).astype(int)
    truth = np.random.default_rng(8).integers(len(labels), size=n)
    guess = np.where(correct, truth, (truth + rng.integers(1, len(labels), n)) % len(labels))
    confusion = np.zeros((len(labels), len(labels)), int)
    np.add.at(confusion, (truth, guess), 1)
    shares = [float(part.mean()) for part in np.array_split(correct, 10)]
    certain = {end: [document(i, labels[i % 2], 100.0 / (i + 1)) for i in range(5)] for end in ("most", "least")}
    return {
        "encoder": encoder, "title": title, "dataset": dataset, "dim": dim,
        "vectors": None if own else f"word2vec-{dim}", "classifier": "liblinear", "transductive": False,
        "accuracy": float(correct.mean()), "macro_f1": float(correct.mean()) - 0.01,
        "folds": None if dataset in SPLITS else shares, "n_train": 9 * n, "n_test": n, "correct": correct.tolist(),
        "label_names": labels, "confusion": confusion.tolist(), "fit_seconds": 1.25, "transform_seconds": n / speed,
        "texts_per_second": speed * 50 / dim, "dimensions": own or dim, "C": [0.5, 1.0, 2.0],
        "certain": certain if encoder == "spm" else None, "unconverged": {"encoder": int(encoder == "spm")},
    } | changes  # fmt: skip


def everything() -> dict[str, Any]:
    """Return results of five encoders on eight corpora, one run missing."""
    rng = np.random.default_rng(20261115)
    runs = [
        run(rng, encoder, dataset, dim)
        for dataset in LABELS
        for encoder in ENCODERS
        for dim in ((50, 100, 300) if dataset in ("subj", "mr") and not ENCODERS[encoder][1] else (50,))
        if not (encoder == "cbow" and dataset == "20news-same")
    ]
    return {"made": made(), "runs": runs}


@pytest.fixture
def results() -> dict[str, Any]:
    return everything()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_report(everything(), folder)
    return folder


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes the time, where it is not looked at."""
    monkeypatch.setattr(figures, "draw_dimensions", lambda *_: b"<svg></svg>")


def made() -> dict[str, Any]:
    return {
        "command": "reproduce run --datasets all", "date": "2026-11-15T12:00:00+00:00", "seed": 0,
        "machine": "Linux x86_64, 2 cores", "versions": {"parasphere": "0.1", "numpy": "2.2"}, "code": "0123abcd",
        "vectors": {str(dim): f"word2vec-{dim}" for dim in (50, 100, 300)},
    }  # fmt: skip


# -- what the paper printed -----------------------------------------------------------------------------------------


def test_the_published_figures_are_whole() -> None:
    assert list(published.TABLE_1) == list(published.TABLE_2) == list(published.ENCODERS)
    assert {len(row) for row in published.TABLE_1.values()} == {4}
    assert {len(row) for row in published.TABLE_2.values()} == {2}
    assert [list(bars) for bars in published.FIGURE_2.values()] == [
        ["lsi", "lda", "cbow", "pv-dbow", "pv-dm", "spm"]
    ] * 2
    # sums, by column, of what the paper prints
    assert np.sum(list(published.TABLE_1.values()), axis=0) == pytest.approx([952.2, 857.6, 749.3, 985.2])
    assert np.sum(list(published.TABLE_2.values()), axis=0) == pytest.approx([934.0, 755.9])


def test_table_2_and_figure_2_agree_but_for_one_bar() -> None:
    other = [
        (encoder, dataset)
        for dataset, bars in published.FIGURE_2.items()
        for encoder in bars
        if published.in_figure(encoder, dataset, 50) != published.in_table(encoder, dataset)
    ]
    assert other == [("pv-dm", "subj")]


@pytest.mark.parametrize(
    ("encoder", "dataset", "dim", "accuracy"),
    [
        ("spm", "20news-different", 50, 91.8), ("spm-paper", "20news-different", 50, 91.8), ("spm", "mr", 300, 79.1),
        ("pv-dm", "subj", 50, 90.4), ("uni-skip", "mr", 2400, 75.5), ("bow", "reuters-10", 5000, 95.4),
        ("spm", "reuters-10", 100, None), ("bow", "20news", 50, None), ("newcomer", "mr", 50, None),
    ],
)  # fmt: skip
def test_where_the_paper_did_the_same(encoder: str, dataset: str, dim: int, accuracy: float | None) -> None:
    assert published.accuracy(encoder, dataset, dim) == accuracy


# -- the comparison -------------------------------------------------------------------------------------------------


def test_tables_have_the_papers_rows_and_ours(results: dict[str, Any]) -> None:
    first, second, others = Comparison(results).tables(LINEAR)
    assert first.columns == ["different", "similar", "same", "Reuters"]
    assert second.columns == ["Subj", "MR"]
    assert others.columns == ["20news", "my <own>"]
    rows = [row.encoder for row in first.rows]
    assert rows == [*published.ENCODERS, "spm-paper", "tfidf-best", "tfidf-paper", "newcomer"]
    assert [row.encoder for row in others.rows] == [
        "bow", "cbow", "spm", "spm-paper", "tfidf-best", "tfidf-paper", "newcomer"
    ]  # fmt: skip
    lda, cbow = first.rows[rows.index("lda")], first.rows[rows.index("cbow")]
    assert [cell.paper for cell in lda.cells] == [73.3, 67.5, 56.7, 89.6]
    assert {cell.ours for cell in lda.cells} == {None}
    assert cbow.cells[2].ours is None
    assert cbow.cells[2].paper == 75.9


def test_marks_are_against_the_better_tfidf(results: dict[str, Any]) -> None:
    comparison = Comparison(results)
    table = comparison.tables(LINEAR)[0]
    cells = {row.encoder: row.cells[0] for row in table.rows}
    assert (cells["bow"].sign, cells["newcomer"].sign) == (1, -1)
    assert cells["tfidf-best"].p is cells["tfidf-paper"].p is None
    rival = comparison.rival(LINEAR, "20news-different", 50)
    assert rival is not None
    both = [one for one in results["runs"] if one["encoder"] in published.RIVALS]
    assert rival["accuracy"] == max(one["accuracy"] for one in both if one["dataset"] == "20news-different")
    plain_p = [comparison.beside(one, 50).p for one in comparison.runs if one["dataset"] in published.TABLE_1_DATASETS]
    tests = [p for p in plain_p if p is not None]
    corrected = [cell.p for row in table.rows for cell in row.cells if cell.p is not None]
    assert sorted(corrected) == pytest.approx(sorted(holm(tests)))
    assert cells["bow"].best
    assert sum(cell.best for cell in cells.values()) == 1
    assert cells["lda"] == published.Cell(73.3)


def test_without_tfidf_nobody_is_ahead(results: dict[str, Any]) -> None:
    results["runs"] = [one for one in results["runs"] if one["encoder"] != "tfidf-best"]
    rows = {row.encoder: row for row in Comparison(results).tables(LINEAR)[0].rows}
    assert rows["bow"].cells[0].p is not None
    results["runs"] = [one for one in results["runs"] if one["encoder"] != "tfidf-paper"]
    rows = {row.encoder: row for row in Comparison(results).tables(LINEAR)[0].rows}
    assert rows["bow"].cells[0].p is None
    assert {cell.sign for row in rows.values() for cell in row.cells} == {0}


def test_seeds_are_one_row_and_folds_a_column(rng: np.random.Generator, tmp_path: Path) -> None:
    runs = [run(rng, "spm", "20news-same", encoder_seed=seed) for seed in range(5)]
    runs += [run(rng, "tfidf-best", "20news-same"), run(rng, "spm", "20news-same") | {"dataset": "20news-same-folds"}]
    comparison = Comparison({"made": made(), "runs": runs})
    (table,) = comparison.tables(LINEAR)
    assert table.columns[-1] == "same (folds)"
    cell = next(row.cells[2] for row in table.rows if row.encoder == "spm")
    assert cell.ours == pytest.approx(100 * np.mean([one["accuracy"] for one in runs[:5]]))
    assert cell.low is not None
    assert cell.low < cell.ours
    assert cell.p is not None
    assert [row.cells[-1].paper for row in table.rows if row.encoder == "spm"] == [70.0]
    write_report({"made": made(), "runs": runs}, tmp_path)
    assert read_results(tmp_path)["runs"] == runs


def test_verdicts(rng: np.random.Generator) -> None:
    accuracies = {"20news-different": 0.98, "20news-same": 0.6, "reuters-10": 0.93}
    runs = [run(rng, "spm", name, accuracy=share, correct=None) for name, share in accuracies.items()]
    found = Comparison({"made": made(), "runs": runs}).verdicts()
    assert {verdict: [one["dataset"] for one, _ in pairs] for verdict, pairs in found.items()} == {
        "below": ["20news-same"], "near": ["reuters-10"], "above": ["20news-different"]
    }  # fmt: skip


def test_the_experiments_own_vectors_stand_in_the_tables(rng: np.random.Generator) -> None:
    wrong, right = run(rng, "spm", "mr", vectors="other"), run(rng, "spm", "mr")
    tfidf = run(rng, "tfidf-best", "mr")
    for runs in ([wrong, right, tfidf], [right, wrong, tfidf]):
        comparison = Comparison({"made": made(), "runs": runs})
        assert comparison.get(LINEAR, "spm", "mr", 50) is right
        assert comparison.beside(wrong, 50).ours == 100 * wrong["accuracy"]  # which is listed, and tested
        assert comparison.beside(wrong, 50).p is not None


def test_tables_of_another_dimension(rng: np.random.Generator) -> None:
    runs = [run(rng, encoder, dataset, 100) for encoder in ("spm", "cbow") for dataset in ("mr", "20news-same")]
    comparison = Comparison({"made": made(), "runs": runs})
    assert comparison.dim(LINEAR) == 100
    first, second = ({row.encoder: row.cells for row in table.rows} for table in comparison.tables(LINEAR))
    assert second["spm"][1].paper == 76.0  # of Figure 2
    assert first["spm"][2].paper is None  # the paper has but 50
    assert first["bow"][2].paper == 75.6  # whose dimension is not chosen
    assert "movmf" not in first


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_reported(rng: np.random.Generator, tmp_path: Path) -> None:
    with pytest.raises(ParasphereError, match="no runs"):
        write_report({"made": made(), "runs": []}, tmp_path)
    with pytest.raises(ParasphereError, match=r"spm on mr: an accuracy of 91\.8"):
        write_report({"made": made(), "runs": [run(rng, "spm", "mr", accuracy=91.8)]}, tmp_path)
    with pytest.raises(ParasphereError, match="spm on mr: `correct` must hold 0 or 1"):
        write_report({"made": made(), "runs": [run(rng, "spm", "mr", correct=[0, 2])]}, tmp_path)
    assert not list(tmp_path.iterdir())


# -- the files ------------------------------------------------------------------------------------------------------


def test_results_come_back_the_same(results: dict[str, Any], written: Path) -> None:
    assert read_results(written) == results
    assert read_results(written / "results.json") == results
    assert sorted(path.name for path in written.iterdir()) == [
        "README.md", "figure-dimensions.png", "report.html", "results.json"
    ]  # fmt: skip
    assert (written / "results.json").stat().st_size < 500_000
    lines = (written / "results.json").read_text("ascii").splitlines()
    assert len(lines) > 15 * len(results["runs"])  # a field a line


def test_the_same_results_are_the_same_files(results: dict[str, Any], written: Path, tmp_path: Path) -> None:
    write_report(results, tmp_path / "a new" / "folder")
    for path in written.iterdir():
        assert path.read_bytes() == (tmp_path / "a new" / "folder" / path.name).read_bytes()


def test_the_text_says_the_numbers(results: dict[str, Any], written: Path) -> None:
    spm = next(one for one in results["runs"] if (one["encoder"], one["dataset"]) == ("spm", "20news-same"))
    text = spaced(written / "README.md")
    ours = 100 * spm["accuracy"]
    assert f"| 70.0 / {ours:.1f} ▼ |" in text
    said = page_data(written / "report.html")["said"]["below"]
    assert any(one.startswith(f"SPM · same · 50 dimensions: paper 70.0, ours {ours:.1f} (") for one in said)
    assert "| LDA | – | 73.3 / – | 67.5 / – | 56.7 / – | 89.6 / – |" in text
    assert "75.9 / –" in text  # the run that is missing
    assert "▲" in text
    assert "▼" in text
    assert "(figure-dimensions.png)" in text
    assert "reproduce run --datasets all" in text
    assert "<own>" not in text.replace(r"\<own\>", "")
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| encoder")}
    assert widths == {7, 5}


@pytest.mark.usefixtures("undrawn")
def test_a_page_that_would_be_lost_is_not_touched(results: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("my notes")
    with pytest.raises(ParasphereError, match="would be lost: move it"):
        write_report(results, tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["my notes"]
    (tmp_path / "README.md").write_text(TITLE + ", of another day")
    write_report(results, tmp_path)
    assert "another day" not in (tmp_path / "README.md").read_text()


@pytest.mark.usefixtures("undrawn")
def test_one_encoder_on_a_corpus_of_ones_own(rng: np.random.Generator, tmp_path: Path) -> None:
    (tmp_path / "figure-dimensions.png").write_bytes(b"of an earlier report")
    one = run(rng, "newcomer", "my <own>", folds=None, correct=None, certain=None)
    write_report({"made": made() | {"vectors": {}}, "runs": [one]}, tmp_path)
    text = spaced(tmp_path / "README.md")
    assert page_data(tmp_path / "report.html")["summary"] == "The paper has no result for anything that was run."
    assert "Table 1" not in text
    assert r"New\<br\>comer" in text
    assert re.search(r"\| – / \*\*\d\d\.\d\*\* \|", text)
    assert re.search(r"\| \d\d\.\d to \d\d\.\d \|", text)
    assert "figure-dimensions" not in text
    assert not (tmp_path / "figure-dimensions.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_the_least_that_a_run_can_have(rng: np.random.Generator, tmp_path: Path) -> None:
    nothing = dict.fromkeys(["folds", "correct", "n_test", "n_train", "confusion", "label_names", "certain", "C"])
    nothing |= dict.fromkeys(["fit_seconds", "transform_seconds", "texts_per_second", "macro_f1", "dimensions", "dim"])
    write_report({"made": {}, "runs": [run(rng, "spm", "mr") | nothing]}, tmp_path)
    assert re.search(r"75\.0 / \*\*\d\d\.\d\*\* \|", spaced(tmp_path / "README.md"))
    assert not (tmp_path / "figure-dimensions.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_two_conditions(rng: np.random.Generator, tmp_path: Path) -> None:
    other = run(rng, "spm", "mr", classifier="libsvm-rbf", transductive=True)
    write_report({"made": made(), "runs": [run(rng, "spm", "mr"), other]}, tmp_path)
    assert (tmp_path / "README.md").read_text("utf-8").count("## Table 2") == 1
    names = [one["name"] for one in page_data(tmp_path / "report.html")["conditions"]]
    assert len(names) == 2
    assert "SVM with an RBF kernel (libsvm); encoders fitted to all texts, without their labels" in names[1]


@pytest.mark.parametrize("text", ["a|b", "<b>", "`x`", "a_b *c*", "[x](y)", "&lt;", "# no", "two\nlines"])
def test_markdown_takes_nothing_for_markup(text: str) -> None:
    found = plain(text)
    assert not re.search(r"(?<!\\)[|<>`*_\[\]#&]", found)
    assert "\n" not in found


# -- the figure -----------------------------------------------------------------------------------------------------


def test_the_figure_has_the_papers_bars_and_ours(results: dict[str, Any]) -> None:
    panels = figures.panels(Comparison(results))
    assert list(panels) == ["Subj", "MR"]
    assert list(panels["MR"]) == [50, 100, 300]
    bars = panels["MR"][300]
    assert list(bars) == ["lsi", "lda", "cbow", "pv-dbow", "pv-dm", "spm", "spm-paper", *list(ENCODERS)[-3:]]
    assert (bars["spm"].paper, bars["lda"].paper, bars["lda"].ours) == (79.1, 65.2, None)
    assert bars["spm-paper"].paper is None  # it stands beside SPM's
    assert bars["newcomer"].ours is None  # which was run in 50 dimensions alone


def test_the_figure_is_a_picture(written: Path) -> None:
    content = (written / "figure-dimensions.png").read_bytes()
    width, height = struct.unpack(">II", content[16:24])
    assert content.startswith(b"\x89PNG")
    assert width > 1200
    assert height > 700
    assert len(content) < 400_000


def test_a_corpus_with_an_odd_name_in_two_dimensions(rng: np.random.Generator, tmp_path: Path) -> None:
    runs = [run(rng, "spm", "mr", dim) | {"dataset": "漢 $x$ \ud800", "accuracy": 0.4} for dim in (50, 100)]
    write_report({"made": made(), "runs": runs}, tmp_path)
    assert (tmp_path / "figure-dimensions.png").exists()
    assert read_results(tmp_path)["runs"] == runs


def test_colours_are_the_same_in_every_report() -> None:
    assert figures.styles(["spm", "bow"])["bow"] == figures.styles(["bow"])["bow"]
    found = figures.styles([*published.ENCODERS, "spm-paper", "x", "y"])
    assert len(set(found.values())) == len(found)


# -- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_needs_nothing_else(results: dict[str, Any], written: Path) -> None:
    page = (written / "report.html").read_text("utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert not re.search(r"url\(\s*[\"']?https?:|@import|fetch\(", page)
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert len(page) < 1_000_000
    data = page_data(written / "report.html")
    assert len(data["runs"]) == len(results["runs"])
    documents = next(one["certain"]["most"] for one in data["runs"] if one["certain"])
    assert [one["text"] for one in documents[:4]] == [text.replace("\ud800", "?") for text in NASTY]
    assert len(documents[4]["text"]) == EXCERPT


READER = """<script>
const seen = { title: document.title, sections: document.querySelectorAll("section").length };
seen.matrices = document.querySelectorAll(".heat").length;
seen.charts = document.querySelectorAll(".charts svg").length;
seen.pictures = document.querySelectorAll("#figure svg").length;
seen.added = document.querySelectorAll("main img, main script, main b, main br").length;
seen.text = document.querySelector("main").innerText;
seen.documents = [...document.querySelectorAll("#certain details[open] q")].map((q) => q.textContent).slice(0, 2);
const table = document.querySelector("#tables table"), ours = table.querySelectorAll("th button")[3];
const value = (row) => row.cells[3].dataset.value, column = () => [...table.tBodies[0].rows].map(value);
ours.click(); seen.falling = column(); ours.click(); seen.rising = column();
seen.folded = [...document.querySelectorAll("#shortfalls summary")].map((summary) => summary.textContent);
seen.said = document.querySelectorAll("#shortfalls ul li").length;
seen.sort = ours.parentNode.getAttribute("aria-sort");
seen.tips = [...table.querySelectorAll("td[title]")].map((td) => td.title);
document.body.textContent = JSON.stringify(seen);
</script>"""


def shown(page: Path, reader: str, tmp_path: Path) -> dict[str, Any]:
    """Return what a script that reads the page in a browser has seen."""
    path = tmp_path / "page.html"
    path.write_text(page.read_text("utf-8").replace("</html>", reader + "</html>"), "utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,2400", "--enable-logging=stderr"]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=300, check=True)
    assert b"CONSOLE" not in done.stderr
    body = re.search(r"<body>(\{.*\})\s*</body>", done.stdout.decode(), re.DOTALL)
    assert body is not None, done.stdout[-2000:]
    seen: dict[str, Any] = json.loads(html.unescape(body[1]))
    return seen


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_shows_the_page(results: dict[str, Any], written: Path, tmp_path: Path) -> None:
    seen = shown(written / "report.html", READER, tmp_path)
    assert (
        seen["title"] == "Spherical Paragraph Model: the paper's experiments, and ours"
    )  # no text was run as a script
    assert seen["added"] == 0
    assert seen["documents"] == NASTY[:2]
    assert (seen["sections"], seen["charts"], seen["pictures"]) == (8, len(LABELS), 1)
    assert seen["matrices"] == len([one for one in results["runs"] if one["dim"] == 50])
    assert not re.search("NaN|undefined|null|Infinity", seen["text"])
    values = [float(value) for value in seen["rising"] if value is not None]
    assert len(values) == len(ENCODERS)
    assert values == sorted(values)
    assert set(seen["rising"][len(values) :]) == set(seen["falling"][len(values) :]) == {None}  # what is missing, last
    assert [float(value) for value in seen["falling"][: len(values)]] == values[::-1]
    assert seen["sort"] == "ascending"
    assert seen["said"] == sum(int(re.findall(r"\((\d+)\)", text)[0]) for text in seen["folded"]) > 0
    assert "fits not converged" in seen["text"]
    assert all(tip.startswith("against the better tf-idf: p = ") for tip in seen["tips"])


def similarity_tasks() -> dict[str, Any]:
    """Return results of the STS task by three systems, one of them with a nasty name."""
    names = {"spm": "SPM", "tfidf": "tf-idf", "odd": NASTY[0]}
    runs = [
        {"task": "sts", "dataset": "stsb-test", "system": name, "title": title, "vectors": None, "pearson": 0.5,
         "spearman": 0.6 + 0.1 * place, "by_seed": [0.6 + 0.1 * place], "interval": [0.5, 0.9],
         "pairs_per_second": 12000.0 / (1 + place),
         "fit_seconds": 0.5, "n_pairs": 100}
        for place, (name, title) in enumerate(names.items())
    ]  # fmt: skip
    return {"made": {"command": "reproduce run --tasks sts", "vectors": ["a", "b"]}, "runs": runs}


TASK_READER = """<script>
const table = [...document.querySelectorAll("#tasks table")].at(-1), button = table.querySelectorAll("th button")[3];
const column = () => [...table.tBodies[0].rows].map((row) => row.cells[3].textContent);
const seen = { headings: [...document.querySelectorAll("#tasks h3")].map((h) => h.textContent), first: column() };
button.click(); button.click(); seen.rising = column();
seen.best = [...table.querySelectorAll(".best")].map((cell) => cell.textContent);
seen.names = [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
seen.made = document.querySelector("#made").innerText;
document.body.textContent = JSON.stringify(seen);
</script>"""


def test_tasks_stand_beside_the_paper(results: dict[str, Any], tmp_path: Path) -> None:
    write_report(results, tmp_path)
    before = (tmp_path / "README.md").read_text("utf-8")
    write_tasks(similarity_tasks(), tmp_path)
    after = (tmp_path / "README.md").read_text("utf-8")
    assert "## The tasks" not in before
    assert "| tf-idf | – | 70.0 |" in after
    assert "<script>" not in after
    write_report(results, tmp_path)  # the tasks stay
    assert (tmp_path / "README.md").read_text("utf-8") == after


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_shows_the_tasks(results: dict[str, Any], tmp_path: Path) -> None:
    write_report(results, tmp_path)
    write_tasks(similarity_tasks(), tmp_path)
    seen = shown(tmp_path / "report.html", TASK_READER, tmp_path)
    assert seen["headings"] == ["All tasks", "Semantic textual similarity"]
    assert seen["first"] == ["12,000", "6,000", "4,000"]
    assert seen["rising"] == ["4,000", "6,000", "12,000"]
    assert seen["names"] == [NASTY[0], "tf-idf", "SPM"]
    assert "80.0 (50.0 to 90.0)" in seen["best"]
    assert "similarity: command" in seen["made"]


def test_two_runs_of_everything_are_compared_by_document(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare = runpy.run_path(str(Path(__file__).parents[3] / "scripts" / "compare_results.py"))["main"]
    one, other = tmp_path / "one", tmp_path / "other"
    write_report(results, one)
    write_tasks(similarity_tasks(), one)
    shutil.copytree(one, other)
    compare(one, other)
    count = len(results["runs"])
    assert f"{count} of {count} runs have the same outcome for every document" in capsys.readouterr().out
    changed = read_results(one)
    last = changed["runs"][-1]
    last["correct"][:2] = [1 - value for value in last["correct"][:2]]
    write_report(changed, other)
    tasks = similarity_tasks()
    tasks["runs"][0]["by_seed"] = [0.65]
    write_tasks(tasks, other)
    compare(one, other)
    told = capsys.readouterr().out
    assert "2 of 3 trials of the tasks have the same measures\nSPM on stsb-test: 65.000 -> 60.000" in told
    assert f"{count - 1} of {count} runs have the same outcome" in told
    assert f"{last['title']} on {last['dataset']}: 2 documents" in told

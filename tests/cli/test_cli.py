import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import typed

from parasphere import Index, SphericalParagraphModel, SphericalTopics, Tokenizer, WordVectors, datasets


def run(*arguments: object, code: int = 0) -> str:
    """Run the command in this process; return what it printed (or the error, if it must fail)."""
    told = typed(*arguments)
    assert told.code == code, told.err
    return told.out if code == 0 else told.err


@pytest.fixture
def vectors_file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.txt"
    path.write_text("north 0 2\neast 3 0\nnortheast 1 1\n")
    return path


def test_help_teaches() -> None:
    assert "parasphere demo" in run("--help")
    shown = run("vectors", "--help")
    assert all(name in shown for name in ("info", "convert", "distil", "nearest"))
    assert run("--version").startswith("parasphere ")


ASKED = """
import contextlib, io, sys
from parasphere.cli import main

heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "safetensors", "pydantic"}
for line in sys.argv[1:]:
    sys.argv = ["parasphere", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        with contextlib.suppress(SystemExit):
            main()
    print(line, said.getvalue(), sorted(heavy & set(sys.modules)), sep=": ")
"""


def test_help_and_mistakes_import_nothing_heavy() -> None:
    lines = ["--version", "--help", "fit --help", "vectors nearest --help", "fti",
             "vectors nearst", "fit corpus.txt --frob", "fit --max-iter"]  # fmt: skip
    command = [sys.executable, "-c", ASKED, *lines]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.count(": []") == len(lines)
    mistakes = ["Did you mean 'fit'?", "No such command 'nearst'", "No such option: --frob", "requires an argument"]
    assert [told for told in mistakes if told not in shown] == []


def test_nearest(vectors_file: Path) -> None:
    found = json.loads(run("vectors", "nearest", "north", "-v", vectors_file, "-k", 1, "--json"))
    assert found["north"][0][0] == "northeast"
    assert found["north"][0][1] == pytest.approx(0.5**0.5)
    assert "northeast" in run("vectors", "nearest", "north", "-v", vectors_file, "-k", 1)


def test_the_default_vectors_are_those_that_come_with_the_library(tmp_path: Path) -> None:
    assert json.loads(run("vectors", "info", "--json"))["name"] == "english-128"
    assert json.loads(run("vectors", "nearest", "lake", "-k", 1, "--json"))["lake"][0][0] == "lakes"
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(f"the {one} of the {other}" for one in "abcdefghij" for other in ("sea", "lake")))
    facts = json.loads(run("fit", corpus, "--out", tmp_path / "model", "--json"))
    assert facts["vectors"] == "english-128"
    assert 0 < facts["weight_of_known_words"] < 100
    kept = SphericalParagraphModel.load(tmp_path / "model").encoder_.reader
    assert kept is not None
    assert kept.tokenizer == Tokenizer(digits=True)
    run("fit", corpus, "--stop-words", "--out", tmp_path / "model")
    dropped = SphericalParagraphModel.load(tmp_path / "model").encoder_.reader
    assert dropped is not None
    assert dropped.tokenizer == Tokenizer(stop_words="english")


def test_info_and_convert(vectors_file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("north by northwest\neast\n")
    facts = json.loads(run("vectors", "info", vectors_file, "--corpus", corpus, "--json"))
    assert (facts["words"], facts["dim"]) == (3, 2)
    assert facts["coverage"] == {"tokens": 4, "known": 2, "share": 0.5}
    assert set(facts["commonest_unknown"]) == {"by", "northwest"}
    assert "2 of 4 words known" in run("vectors", "info", vectors_file, "--corpus", corpus)
    keep = tmp_path / "keep.txt"
    keep.write_text("east\nunheard\n")
    assert "1 words of 2 dimensions" in run("vectors", "convert", vectors_file, tmp_path / "out", "--keep", keep)
    assert WordVectors.load(tmp_path / "out").words == ["east"]


@pytest.mark.parametrize("name", ["out.txt", "out.vec", "out.BIN", "out"])
def test_convert_writes_what_the_name_says(vectors_file: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert "3 words of 2 dimensions written" in run("vectors", "convert", vectors_file, target)
    assert target.is_dir() == (name == "out")
    found = WordVectors.load(target)
    assert found.words == ["north", "east", "northeast"]
    np.testing.assert_allclose(found.norms, [2, 3, 2**0.5], rtol=1e-7)
    if target.is_file():
        assert target.read_bytes().startswith(b"3 2\nnorth 0 2\n" if name != "out.BIN" else b"3 2\nnorth \0\0")


def test_help_says_what_convert_writes() -> None:
    shown = run("vectors", "convert", "--help")
    assert all(name in shown for name in ("OUT", ".txt", ".vec", ".bin", "folder"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["vectors", "nearest", "nowherish"], 1, "no vector for 'nowherish'"),
        (["vectors", "info", "absent.txt"], 1, "error: 'absent.txt'"),
        (["vectors", "info", "{broken}"], 1, "line 2"),
        (["vectors", "nearest"], 2, "Missing argument"),
        (["info", "absent"], 1, "absent is not a folder"),
        (["fit", "absent.txt", "--out", "x"], 1, "absent.txt"),
    ],
)
def test_errors_are_sentences(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text("north 0 2\neast 3\n")
    assert message in run(*(argument.format(broken=broken) for argument in arguments), code=code)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.csv"
    rows = ["north north east", "east northeast", "north", "northeast nowhere"] * 5
    lines = [f"{i},{text},{'n' if 'north ' in text else 'e'}" for i, text in enumerate(rows)]
    path.write_text("\n".join(["name,text,label", *lines]) + "\n")
    return path


def test_from_a_corpus_to_vectors(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    facts = json.loads(run("fit", corpus, "-v", vectors_file, "--out", model, "--tol", 1e-3, "--json"))
    assert (facts["documents"], facts["known_words"], facts["unknown_words"]) == (20, 35, 5)
    assert facts["converged"]
    shown = json.loads(run("info", model, "--json"))
    assert shown["dim"] == 2
    assert "concentration of documents" in run("info", model)

    run("transform", model, corpus, "--out", tmp_path / "v.npy", "--threads", 2)
    vectors = np.load(tmp_path / "v.npy")
    loaded = SphericalParagraphModel.load(model)
    assert np.array_equal(vectors, loaded.transform(["north north east", "east northeast", "north", "northeast"] * 5))
    shown = run("transform", model, corpus, "--out", tmp_path / "v.parquet", "--id-column", "name")
    assert "20 vectors of 2 dimensions" in shown

    told = json.loads(run("explain", model, "north by unheard northeast", "--json"))
    assert [word for word, _ in told["words"]] == ["north", "northeast"]
    assert told["unknown"] == ["unheard"]
    assert "No vector for: unheard" in run("explain", model, "north by unheard northeast")


def test_from_a_corpus_to_results(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    model, index = tmp_path / "model", tmp_path / "index"
    run("fit", corpus, "-v", vectors_file, "--out", model, "--tol", 1e-3)
    shown = run("index", model, corpus, "--out", index, "--id-column", "name", "--threads", 2)
    assert "20 documents written" in shown
    found = json.loads(run("search", index, "northeast nowhere", "-k", 2, "--json"))
    assert [match["id"] for match in found] == ["3", "7"]
    assert found == [match._asdict() for match in Index.load(index).search("northeast nowhere", 2)]
    shown = run("search", index, "northeast nowhere")
    assert "similarity" in shown
    assert "northeast nowhere" in shown
    queries = tmp_path / "queries.txt"
    queries.write_text("north\neast\n")
    several = json.loads(run("search", index, "--queries", queries, "--weight", 0, "-k", 3, "--json"))
    assert [each["query"] for each in several] == ["north", "east"]
    assert several[0]["matches"] == json.loads(run("search", index, "north", "--weight", 0, "-k", 3, "--json"))
    assert "east northeast" in run("search", index, "--queries", queries)

    facts = json.loads(run("index", model, corpus, "-o", index, "--no-texts", "--no-words", "--half", "--json"))
    assert facts["documents"] == 20
    assert json.loads(run("search", index, "north", "-k", 1, "--json"))[0]["text"] is None
    assert "made with words=False and can be searched with weight=0 only" in run(
        "search", index, "north", "--weight", 0.5, code=1
    )


def test_a_checkpoint_is_kept_until_the_model_is_saved(
    vectors_file: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ["fit", corpus, "-v", vectors_file, "--learn-vectors", "--epochs", 2, "--min-count", 1, "--tol", 1e-1]
    how += ["--checkpoint", tmp_path / "checkpoint", "--out", tmp_path / "model", "--json"]
    with monkeypatch.context() as broken:
        broken.setattr(SphericalParagraphModel, "save", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
        run(*how, code=1)
    assert (tmp_path / "checkpoint").is_dir()
    resumed = run(*how)
    assert not (tmp_path / "checkpoint").exists()
    assert resumed == run(*how)  # from the beginning


def test_search_asks_for_queries(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("")
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "model", "--tol", 1e-1)
    run("index", tmp_path / "model", corpus, "--out", tmp_path / "index")
    assert "or a file by --queries" in run("search", tmp_path / "index", code=1)
    assert "or a file by --queries" in run("search", tmp_path / "index", "a", "--queries", "b", code=1)
    assert "holds no queries" in run("search", tmp_path / "index", "--queries", tmp_path / "none.txt", code=1)
    assert "no word of the query is known" in run("search", tmp_path / "index", "xyz")
    (tmp_path / "three.txt").write_text("north\n\nxyz\n")
    found = run("search", tmp_path / "index", "--queries", tmp_path / "three.txt", "-k", 2)
    assert found.count("nothing: no word of it is known") == 2
    found = json.loads(run("search", tmp_path / "index", "--queries", tmp_path / "three.txt", "-k", 2, "--json"))
    assert [len(each["matches"]) for each in found] == [2, 0, 0]
    assert "has no graph for --approximate" in run("search", tmp_path / "index", "north", "--approximate", code=1)
    assert "not 'index'" in run("search", tmp_path / "model", "north", code=1)
    assert "must not replace" in run("index", tmp_path / "model", corpus, "--out", tmp_path / "model", code=1)


def test_duplicates(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.csv"
    corpus.write_text("name,text\na,plum and kiwi\nb,pear or fig\nc,Kiwi; plum\n")
    found = json.loads(run("duplicates", corpus, "--id-column", "name", "--json"))
    assert [(pair["first_id"], pair["second_id"], pair["first"], pair["second"]) for pair in found] == [
        ("a", "c", 0, 2)
    ]
    assert found[0]["similarity"] == pytest.approx(1.0)
    shown = run("duplicates", corpus)
    assert "plum and kiwi" in shown
    assert "1 pairs among 3 documents" in shown
    assert "at most 1, not 7" in run("duplicates", corpus, "--threshold", 7, code=1)
    corpus.write_text("text\n" + "plum and kiwi\n" * 20)
    shown = run("duplicates", corpus)
    assert shown.count("plum and kiwi") == 2 * 100
    assert "190 pairs among 20 documents, of which the first 100 are shown" in " ".join(shown.split())


def test_the_papers_model_and_options(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--paper", "--embed-vectors", "--tol", 0.1)
    vectors_file.unlink()
    assert SphericalParagraphModel.load(tmp_path / "m").kappa_method == "banerjee"


def test_the_installed_command_reads_standard_input(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--tol", 1e-2)
    command = [sys.executable, "-m", "parasphere", "transform", tmp_path / "m", "-", "--out", tmp_path / "v.npy"]
    done = subprocess.run(command, input="north\neast\n", check=True, capture_output=True, text=True)
    assert done.stdout.startswith("2 vectors of 2 dimensions written")
    assert done.stderr == ""
    assert np.load(tmp_path / "v.npy").shape == (2, 2)


def test_plot(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = np.random.default_rng(0).normal(size=(3, 4))
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(["north", "east", "northeast"], rows, strict=True)]
    vectors_file.write_text("\n".join(lines) + "\n")
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--tol", 1e-2)
    for name in ("map.png", "map.html"):
        shown = run("plot", tmp_path / "m", corpus, "--label-column", "label", "--out", tmp_path / name)
        assert "20 documents drawn" in shown
        assert (tmp_path / name).stat().st_size > 5000
    run("plot", tmp_path / "m", corpus, "--out", tmp_path / "topics.html")
    assert "Names: topics." in (tmp_path / "topics.html").read_text()


def test_demo(tmp_path: Path) -> None:
    shown = run("demo", "--out", tmp_path / "map.png")
    assert re.search(r"in [0-9.]+ s: english-128 adapted to the\s+texts", shown)
    assert "points towards" not in shown
    found = [float(share) for share in re.findall(r"│ .*│ ([0-9.]+)% +│", shown)]
    assert len(found) == 5
    assert found == sorted(found)  # plain average, SPM, adapted, tf-idf, with BM25
    assert "Least certain" in shown
    assert "finds scipy.signal" in " ".join(shown.split())
    assert "in their own words" in " ".join(shown.split())
    assert (tmp_path / "map.png").stat().st_size > 20_000


def test_topics(tmp_path: Path) -> None:
    corpus = datasets.load("docstrings")
    lines = [json.dumps({"text": text, "area": corpus.label_names[label], "name": name}) for text, label, name in
             zip(corpus.texts[::4], corpus.labels[::4], corpus.ids[::4], strict=True)]  # fmt: skip
    (tmp_path / "texts.jsonl").write_text("\n".join([*lines, '{"text": null, "area": "", "name": ""}']))
    asked = ["topics", tmp_path / "texts.jsonl", "-n", "6", "--null", "skip"]
    shown = run(
        *asked,
        "--label-column",
        "area",
        "--id-column",
        "name",
        "--map",
        tmp_path / "map.html",
        "--out",
        tmp_path / "topics",
    )
    assert "501 texts" in shown
    told = json.loads(run(*asked, "--json"))
    assert len(told["topics"]) == 6
    assert sum(topic["size"] for topic in told["topics"]) + told["apart"] == 501
    assert SphericalTopics.load(tmp_path / "topics").topic_words()[0] == told["topics"][0]["words"]
    assert corpus.ids[4] in (tmp_path / "map.html").read_text("utf-8")


def test_quiet_goes_anywhere_and_json_is_pure(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    arguments = ["fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--tol", 1e-2, "--json", "--quiet"]
    facts = json.loads(run(*arguments, "--prior-strength", "inf"))
    assert facts["prior_strength"] == "inf"


def test_a_bad_target_is_told_before_the_work(vectors_file: Path, corpus: Path) -> None:
    assert "is a file" in run("fit", corpus, "-v", vectors_file, "--out", corpus, code=1)


def test_options_that_exclude_each_other(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    arguments = ["fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--paper", "--no-stop-words"]
    assert "--paper has its own" in run(*arguments, code=1)


def test_learned_vectors(vectors_file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("north east wind\nnortheast wind\neast coast\nnorth coast wind\n" * 20)
    how = ["-v", vectors_file, "--tol", 0.01, "--no-stop-words"]
    learned = tmp_path / "learned"
    told = json.loads(run("fit", corpus, "-o", learned, "--learn-vectors", "--epochs", 3, *how, "--json"))
    assert (told["documents"], told["unknown_words"]) == (80, 0)  # "wind" and "coast" have been learned
    assert "wind" in SphericalParagraphModel.load(learned).vectors_.vocabulary
    more = tmp_path / "more.txt"
    more.write_text("north wind storm\neast storm\n" * 20)
    newer, how = tmp_path / "newer", ["--learn-vectors", "--tol", 0.01]
    run("fit", more, "-o", newer, "--from", learned, *how)
    assert {"coast", "storm"} <= set(SphericalParagraphModel.load(newer).vectors_.words)
    assert "omit --vectors" in run("fit", more, "-o", newer, "--from", learned, "-v", vectors_file, *how, code=1)
    assert "--from needs --learn-vectors" in run("fit", more, "-o", newer, "--from", learned, code=1)
    complaint = run("fit", corpus, "-o", tmp_path / "x", "--paper", "--learn-vectors", code=1)
    assert "--paper has its own" in complaint

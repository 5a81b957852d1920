import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import typed

from parasphere import Index, SphericalParagraphModel, SphericalTopics, Tokenizer, WordVectors, datasets
from parasphere.cli import app


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
    assert all(name in shown for name in ("--nearest", "--corpus", "--out", ".txt", ".vec", ".bin", ".safetensors"))
    assert run("--version").startswith("parasphere ")


def test_there_are_few_commands_with_few_options() -> None:
    assert len(app.commands) <= 14
    for name, command in app.commands.items():
        assert sum(param.param_type_name == "option" for param in command.params) <= 12, name


ASKED = """
import contextlib, io, sys
from parasphere.cli import main

heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "safetensors"}
for line in sys.argv[1:]:
    sys.argv = ["parasphere", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        with contextlib.suppress(SystemExit):
            main()
    print(line, said.getvalue(), sorted(heavy & set(sys.modules)), sep=": ")
"""


def test_help_and_mistakes_import_nothing_heavy() -> None:
    lines = ["--version", "--help", "fit --help", "vectors --help", "fti",
             "fit corpus.txt --frob", "fit --out"]  # fmt: skip
    command = [sys.executable, "-c", ASKED, *lines]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.count(": []") == len(lines)
    mistakes = ["Did you mean 'fit'?", "No such option '--frob'", "Try 'parasphere fit --help'", "requires an argument"]
    assert [told for told in mistakes if told not in shown] == []


def test_most_commands_import_neither_scikit_learn_nor_scipy(corpus: Path, tmp_path: Path) -> None:
    SphericalParagraphModel(tol=0.1).fit(["a lake", "a river", "the sea"] * 9).save(tmp_path / "model")
    model = tmp_path / "model"
    lines = [
        "compare lake river", f"info {model}", f"explain {model} lake", f"index {model} {corpus} -o {tmp_path}/index",
        f"transform {model} {corpus} -o {tmp_path}/v.npy", f"search {tmp_path}/index lake",
        "vectors", "vectors --nearest lake", f"vectors --corpus {corpus}", f"vectors --out {tmp_path}/vectors",
    ]  # fmt: skip
    command = [sys.executable, "-c", ASKED.replace('"numpy", ', "").replace('"pandas", "pyarrow", ', ""), *lines]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.count(": : []") == len(lines), shown


def test_a_reader_that_ends_is_no_error(corpus: Path, tmp_path: Path) -> None:
    SphericalParagraphModel(tol=0.1).fit(["a lake", "a river", "the sea"] * 9).save(tmp_path / "model")
    corpus.write_text("text\n" + "a lake and a river\n" * 5000)
    command = f"'{sys.executable}' -m parasphere transform '{tmp_path}/model' '{corpus}' -o - | head -c 9"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"informati", b"")


def test_nearest(vectors_file: Path) -> None:
    found = json.loads(run("vectors", vectors_file, "--nearest", "north", "-k", 1, "--json"))
    assert found["north"][0][0] == "northeast"
    assert found["north"][0][1] == pytest.approx(0.5**0.5)
    assert "northeast" in run("vectors", vectors_file, "--nearest", "north", "-k", 1)


def test_the_default_vectors_are_those_that_come_with_the_library(tmp_path: Path) -> None:
    assert json.loads(run("vectors", "--json"))["name"] == "english-128"
    assert json.loads(run("vectors", "--nearest", "lake", "-k", 1, "--json"))["lake"][0][0] == "lakes"
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(f"the {one} of the {other}" for one in "abcdefghij" for other in ("sea", "lake")))
    facts = json.loads(run("fit", corpus, "--out", tmp_path / "model", "--json"))
    assert facts["vectors"] == "english-128"
    assert 0 < facts["weight_of_known_words"] < 100
    kept = SphericalParagraphModel.load(tmp_path / "model").encoder_.reader
    assert kept is not None
    assert kept.tokenizer == Tokenizer(digits=True)


def test_info_and_convert(vectors_file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("north by northwest\neast\n")
    facts = json.loads(run("vectors", vectors_file, "--corpus", corpus, "--json"))
    assert (facts["words"], facts["dim"]) == (3, 2)
    assert facts["coverage"] == {"tokens": 4, "known": 2, "share": 0.5}
    assert set(facts["commonest_unknown"]) == {"by", "northwest"}
    assert "2 of 4 words known" in run("vectors", vectors_file, "--corpus", corpus)
    keep = tmp_path / "keep.txt"
    keep.write_text("east\nunheard\n")
    assert "1 words of 2 dimensions" in run("vectors", vectors_file, "--out", tmp_path / "out", "--keep", keep)
    assert WordVectors.load(tmp_path / "out").words == ["east"]


def test_two_updates_at_once_both_count(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    model, index = tmp_path / "model", tmp_path / "index"
    run("fit", corpus, "-v", vectors_file, "--out", model)
    run("index", model, corpus, "--id-column", "name", "--out", index)
    n_before, started = len(Index.load(index)), []
    for name in ("one", "two", "three"):
        table = tmp_path / f"{name}.csv"
        table.write_text("name,text\n" + "".join(f"{name}{i},north east {name}\n" for i in range(60)))
        command = [sys.executable, "-m", "parasphere", "index", model, table, "--id-column", "name", "--update"]
        started.append(subprocess.Popen([*command, "--out", index], stdout=subprocess.PIPE, text=True))
    assert all("60 added" in process.communicate()[0] for process in started)
    assert len(Index.load(index)) == n_before + 3 * 60
    assert sorted(path.name for path in tmp_path.iterdir() if "index" in path.name) == ["index"]


@pytest.mark.parametrize("command", ["fit", "index"])
def test_what_another_release_saved_is_not_replaced(
    command: str, vectors_file: Path, corpus: Path, tmp_path: Path
) -> None:
    model, out = tmp_path / "model", tmp_path / "out"
    run("fit", corpus, "-v", vectors_file, "--out", model)
    whole = model.read_bytes().replace(b'"version":"3"', b'"version":"9"')
    words = ["fit", corpus, "-v", vectors_file] if command == "fit" else ["index", model, corpus]
    for content in (whole, whole.replace(b'"parasphere"', b'"some other"'), b"", b"years of work"):
        out.write_bytes(content)
        assert "It is not replaced" in run(*words, "--out", out, code=1)
        assert out.read_bytes() == content
    out.unlink()
    out.mkdir()
    (out / "parasphere.json").write_text("{}")
    assert "is a folder saved by parasphere 0.2" in run(*words, "--out", out, code=1)
    assert [path.name for path in out.iterdir()] == ["parasphere.json"]


@pytest.mark.parametrize("name", ["out.txt", "out.vec", "out.BIN", "out"])
def test_convert_writes_what_the_name_says(vectors_file: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert "3 words of 2 dimensions written" in run("vectors", vectors_file, "--out", target)
    found = WordVectors.load(target)
    assert found.words == ["north", "east", "northeast"]
    np.testing.assert_allclose(found.norms, [2, 3, 2**0.5], rtol=1e-7)
    if name != "out":
        assert target.read_bytes().startswith(b"3 2\nnorth 0 2\n" if name != "out.BIN" else b"3 2\nnorth \0\0")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["vectors", "--nearest", "nowherish"], 1, "no vector for 'nowherish'"),
        (["vectors", "absent.txt"], 1, "error: 'absent.txt'"),
        (["vectors", "{broken}"], 1, "line 2"),
        (["vectors", "--nearest", "a", "--out", "b"], 1, "give one of them"),
        (["vectors", "--keep", "a"], 1, "--keep needs --out"),
        (["explain", "model"], 2, "Missing argument"),
        (["info", "absent"], 1, "absent does not exist"),
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
    facts = json.loads(run("fit", corpus, "-v", vectors_file, "--out", model, "--json"))
    assert (facts["documents"], facts["known_words"], facts["unknown_words"]) == (20, 35, 5)
    assert facts["iterations"] > 0
    shown = json.loads(run("info", model, "--json"))
    assert (shown["dim"], shown["iterations"]) == (2, facts["iterations"])
    assert (shown["kind"], shown["checksum"]) == ("SphericalParagraphModel", "is right")
    assert "concentration of documents" in run("info", model)
    whole = model.read_bytes()
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "its checksum differs" in run("info", model, code=1)
    model.write_bytes(whole)

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
    run("fit", corpus, "-v", vectors_file, "--out", model)
    loaded = SphericalParagraphModel.load(model)
    shown = run("index", model, corpus, "--out", index, "--id-column", "name", "--threads", 2)
    assert "20 documents written" in shown
    found = json.loads(run("search", index, "northeast nowhere", "-k", 2, "--json"))
    assert [match["id"] for match in found] == ["3", "7"]
    assert found == [
        match._asdict() | {"words": list(match.words)} for match in Index.load(index).search("northeast nowhere", 2)
    ]
    shown = run("search", index, "northeast nowhere")
    assert "similarity" in shown
    assert "northeast nowhere" in shown
    queries = tmp_path / "queries.txt"
    queries.write_text("north\neast\n")
    several = json.loads(run("search", index, "--queries", queries, "--weight", 0, "-k", 3, "--json"))
    assert [each["query"] for each in several] == ["north", "east"]
    assert several[0]["matches"] == json.loads(run("search", index, "north", "--weight", 0, "-k", 3, "--json"))
    assert "east northeast" in run("search", index, "--queries", queries)

    loaded.index(corpus, texts=False, words=False, dtype="float16").save(index)
    assert json.loads(run("search", index, "north", "-k", 1, "--json"))[0]["text"] is None
    assert "made with words=False and can be searched with weight=0 only" in run(
        "search", index, "north", "--weight", 0.5, code=1
    )


def test_compare(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    known = json.loads(run("compare", "a calm lake", "still water foo-bar", "--json"))
    unlike = json.loads(run("compare", "a calm lake", "interest rates rose", "--json"))
    assert known["similarity"] > unlike["similarity"] + 0.1
    assert sum(part for _, part in known["words_a"]) + known["common_a"] == pytest.approx(known["similarity"])
    assert json.loads(run("compare", "the same", "the same", "--json"))["similarity"] == pytest.approx(1.0)
    assert re.search(
        r"similarity: 0\.\d{3}\n(.*\n)*word +part\nlake +\+0", run("compare", "a calm lake", "still water")
    )
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "model")
    asked = ["north", "unheard east"]
    told = json.loads(run("compare", "--model", tmp_path / "model", *asked, "--json"))
    assert told["similarity"] == pytest.approx(SphericalParagraphModel.load(tmp_path / "model").compare(*asked))
    assert told["unknown"] == ["unheard"]
    assert "No vector for: unheard" in run("compare", "--model", tmp_path / "model", *asked)


def test_search_asks_for_queries(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("")
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "model")
    run("index", tmp_path / "model", corpus, "--out", tmp_path / "index")
    assert "or a file with --queries" in run("search", tmp_path / "index", code=1)
    assert "or a file with --queries" in run("search", tmp_path / "index", "a", "--queries", "b", code=1)
    assert "holds no queries" in run("search", tmp_path / "index", "--queries", tmp_path / "none.txt", code=1)
    assert run("search", tmp_path / "index", "xyz") == "no matches: no query word is known\n"
    (tmp_path / "three.txt").write_text("north\n\nxyz\n")
    found = run("search", tmp_path / "index", "--queries", tmp_path / "three.txt", "-k", 2)
    assert found.count("no matches: no query word is known") == 2
    found = json.loads(run("search", tmp_path / "index", "--queries", tmp_path / "three.txt", "-k", 2, "--json"))
    assert [len(each["matches"]) for each in found] == [2, 0, 0]
    assert "not 'Index'" in run("search", tmp_path / "model", "north", code=1)
    assert "must not replace" in run("index", tmp_path / "model", corpus, "--out", tmp_path / "model", code=1)


def test_duplicates(tmp_path: Path) -> None:
    corpus, kept = tmp_path / "corpus.csv", tmp_path / "kept.csv"
    corpus.write_text('name,text\na,plum and kiwi\nb,pear or fig\nc,"Kiwi; plum, kiwi"\n')
    found = json.loads(run("duplicates", corpus, "--id-column", "name", "--json"))
    assert found == {"texts": 3, "removed": 1, "groups": [["c", "a"]]}
    shown = run("duplicates", corpus, "--keep", kept)
    assert "Kiwi; plum, kiwi" in shown
    assert f"1 group; redundant: 1 of 3 texts; the other 2 are in {kept}" in shown
    assert kept.read_text() == 'name,text\nb,pear or fig\nc,"Kiwi; plum, kiwi"\n'
    assert "at most 1, not 7" in run("duplicates", corpus, "--threshold", 7, code=1)
    assert "its name must end in .csv" in run("duplicates", corpus, "--keep", tmp_path / "kept.jsonl", code=1)
    leaks = json.loads(run("duplicates", kept, "--against", corpus, "--id-column", "name", "--json"))
    assert [(leak["first"], leak["second"]) for leak in leaks] == [("b", "b"), ("c", "c")]
    corpus.write_text("text\n" + "plum and kiwi\n" * 20)
    assert "1 group; redundant: 19 of 20 texts" in run("duplicates", corpus)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.txt", "a plum\n\nplum a\nkiwi", "a plum\n\nkiwi\n"),
        ("t.jsonl", '{"text": "a plum", "n": 1}\n\n{"n": 2, "text": "plum"}\n', '{"text": "a plum", "n": 1}\n'),
        ("t.tsv", "text\tn\nplum\t1\nplum\t2\n", "text\tn\nplum\t1\n"),
    ],
)
def test_what_is_kept_is_as_it_was(tmp_path: Path, name: str, text: str, expected: str) -> None:
    (tmp_path / name).write_text(text)
    run("duplicates", tmp_path / name, "--keep", tmp_path / f"kept-{name}")
    assert (tmp_path / f"kept-{name}").read_text() == expected


def test_an_index_is_updated_and_filtered(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    model, index, table = tmp_path / "model", tmp_path / "index", tmp_path / "table.csv"
    table.write_text("name,text,section,price\na,north east,net,9\nb,northeast,net,10\nc,north,web,11\n")
    run("fit", table, "-v", vectors_file, "--out", model)
    run("index", model, table, "--id-column", "name", "--column", "section", "--column", "price", "--out", index)

    def found(*conditions: str) -> set[str]:
        options = [word for condition in conditions for word in ("--where", condition)]
        return {hit["id"] for hit in json.loads(run("search", index, "north", *options, "--json"))}

    assert found() == {"a", "b", "c"}
    assert found("section=net") == {"a", "b"}
    assert found("price>9", "price<=11", "section != web") == {"b"}
    assert "or no document meets the conditions" in run("search", index, "north", "--where", "section=none")
    assert "a condition is written as section=net" in run("search", index, "north", "--where", "section", code=1)
    assert 'no column "colour"; its columns: section, price' in run(
        "search", index, "north", "--where", "colour=red", code=1
    )
    table.write_text("name,text,section,price\na,north east,net,9\nb,north,web,10\nd,east,net,12\n")
    update = ["index", model, table, "--id-column", "name", "--out", index, "--update"]
    assert "1 added, 1 replaced, 1 kept, 1 removed; 3 in" in run(*update, "--prune")
    assert found("section=net") == {"a", "d"}
    assert json.loads(run(*update, "--json"))["kept"] == 3
    assert "omit --column with --update" in run(*update, "--column", "section", code=1)
    assert "--prune needs --update" in run(*update[:-1], "--prune", code=1)


def test_the_installed_command_reads_standard_input(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "m")
    command = [sys.executable, "-m", "parasphere", "transform", tmp_path / "m", "-", "--out", tmp_path / "v.npy"]
    done = subprocess.run(command, input="north\neast\n", check=True, capture_output=True, text=True)
    assert done.stdout.startswith("2 vectors of 2 dimensions written")
    assert done.stderr == ""
    assert np.load(tmp_path / "v.npy").shape == (2, 2)


def test_demo(tmp_path: Path) -> None:
    shown = run("demo", "--out", tmp_path / "map.png")
    for step in ("Fitting a model to 2,004 docstrings", "Searching for", "Finding topics", "Drawing a map"):
        assert step in shown
    assert re.search(r"0\.\d\d +scipy\.signal\.\w+ +", shown)
    assert re.search(r"Words of the first .*filter \+0\.\d\d", shown)
    assert "Fourier Transform · FFT" in shown
    assert (tmp_path / "map.png").stat().st_size > 20_000


def test_topics(tmp_path: Path) -> None:
    corpus = datasets.load("docstrings")
    lines = [json.dumps({"text": text, "area": corpus.label_names[label], "name": name}) for text, label, name in
             zip(corpus.texts[::4], corpus.labels[::4], corpus.ids[::4], strict=True)]  # fmt: skip
    (tmp_path / "texts.jsonl").write_text("\n".join([*lines, '{"text": null, "area": "", "name": ""}']))
    asked = ["topics", tmp_path / "texts.jsonl", "-n", "6"]
    shown = run(*asked, "--map", tmp_path / "map.svg", "--out", tmp_path / "topics")
    assert "502 texts" in shown
    told = json.loads(run(*asked, "--json"))
    assert len(told["topics"]) == 6
    assert sum(topic["size"] for topic in told["topics"]) + told["apart"] == 502
    saved = SphericalTopics.load(tmp_path / "topics")
    assert saved.topic_words()[0] == told["topics"][0]["words"]
    assert saved.names_ == [topic["name"] for topic in told["topics"]]
    assert all(name in shown for name in saved.names_)
    assert (tmp_path / "map.svg").stat().st_size > 20_000


def test_json_is_pure(vectors_file: Path, corpus: Path, tmp_path: Path) -> None:
    facts = json.loads(run("fit", corpus, "-v", vectors_file, "--out", tmp_path / "m", "--json"))
    assert facts["prior_strength"] == 10


def test_a_bad_target_is_told_before_the_work(vectors_file: Path, corpus: Path) -> None:
    assert "parasphere did not write it" in run("fit", corpus, "-v", vectors_file, "--out", corpus, code=1)


def test_learned_vectors(vectors_file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("north east wind\nnortheast wind\neast coast\nnorth coast wind\n" * 20)
    learned = tmp_path / "learned"
    told = json.loads(run("fit", corpus, "-o", learned, "--learn-vectors", "-v", vectors_file, "--json"))
    assert (told["documents"], told["unknown_words"]) == (80, 0)  # "wind" and "coast" have been learned
    assert "wind" in SphericalParagraphModel.load(learned).vectors_.vocabulary
    more = tmp_path / "more.txt"
    more.write_text("north wind storm\neast storm\n" * 20)
    how = ["fit", more, "-o", tmp_path / "newer", "--from", learned]
    run(*how, "--learn-vectors")
    assert {"coast", "storm"} <= set(SphericalParagraphModel.load(tmp_path / "newer").vectors_.words)
    assert "omit --vectors" in run(*how, "-v", vectors_file, "--learn-vectors", code=1)
    assert "--from needs --learn-vectors" in run(*how, code=1)

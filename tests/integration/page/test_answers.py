"""What the explorer computes: documents, highlights, selections, what it keeps, and what its server answers."""

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from commands import typed
from explored import ask, make_documents, make_explorer, make_landscape, make_model, served

from parasphere import CorpusError, ParasphereError, SphericalParagraphModel, SphericalTopics, Tokenizer, datasets
from parasphere.explorer import Documents, Explorer, Facet, Landscape, landscape_of, read_documents, read_index
from parasphere.explorer.answers import _facet
from parasphere.explorer.app import _written
from parasphere.explorer.highlighting import located, pieces
from parasphere.explorer.selecting import words_apart
from parasphere.plots import place_among


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return make_model()


@pytest.fixture(scope="module")
def documents() -> Documents:
    return make_documents()


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return make_explorer()


def text_of(cut: list[list[str | float]]) -> str:
    return "".join(str(piece) for piece, _ in cut)


def test_columns_are_words_numbers_or_dates() -> None:
    table = pa.table({
        "text": list("abcd"), "kind": ["y", "x", None, "x"], "year": ["1999", "2001", "", "2000"],
        "when": ["1999-12", "2001-02-03", None, "2000-01-01"], "true": [True, False, True, True],
    })  # fmt: skip
    kind, year, when, true = read_documents(table, columns=["kind", "year", "when", "true"]).facets
    assert (kind.kind, kind.names, kind.values.tolist()[:2]) == ("words", ["x", "y"], [1, 0])
    assert (year.kind, year.value(1), year.value(2)) == ("number", "2001", None)
    assert (when.kind, when.value(0), when.value(2)) == ("date", "1999-12-01", None)
    assert (true.kind, true.names) == ("words", ["True", "False"])


def test_a_few_values_of_another_kind_are_no_value() -> None:
    facet = Facet.of("price", [*map(str, range(40)), "on request"])
    assert facet.kind == "number"
    assert np.isnan(facet.values[-1])
    assert Facet.of("price", ["1", "2", "on request"]).kind == "words"


def test_folders_are_a_column(tmp_path: Path) -> None:
    for name in ("sea/one.txt", "land/two.txt", "sea/three.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a text")
    (facet,) = read_documents(tmp_path).facets
    assert (facet.name, facet.names) == ("folder", ["sea", "land"])


@pytest.mark.parametrize(("columns", "why"), [
    ("kind", r"as in \['kind'\]"), ({"kind": ["x"]}, '"kind" has 1 values for 2 texts'),
])  # fmt: skip
def test_columns_that_do_not_fit_are_refused(columns: Any, why: str) -> None:
    with pytest.raises(ParasphereError, match=why):
        read_documents(["a", "b"], columns=columns)


def test_dates_of_arrow_and_of_text_agree() -> None:
    stamps = Facet.of("day", pa.array(["2020-02-29T12:00:00"]).cast(pa.timestamp("ms")).to_pylist())
    written = Facet.of("day", ["2020-02-29T14:00+02:00"])
    assert stamps.values.tolist() == written.values.tolist()
    assert written.value(0) == "2020-02-29 12:00"


def test_a_corpus_without_texts_is_refused() -> None:
    with pytest.raises(CorpusError, match="no texts to explore"):
        read_documents([])


def test_token_lists_are_joined() -> None:
    assert read_documents([["a", "b"], []]).texts.tolist() == ["a b", ""]


def test_words_are_found_where_they_are(rng: np.random.Generator) -> None:
    letters = np.array(list("abAB éÉßİ,.’1 🌊\n"))
    for tokenizer in (Tokenizer(), Tokenizer(digits=True), Tokenizer(lowercase=False, stop_words=["a"])):
        for _ in range(40):
            text = "".join(rng.choice(letters, 30))
            words = tokenizer(text)
            spans = located(text, words, tokenizer)
            assert None not in spans
            for word, span in zip(words, spans, strict=True):
                assert span is not None
                assert tokenizer(text[slice(*span)]) == [word]


def test_pieces_are_the_text(rng: np.random.Generator) -> None:
    from parasphere.explorer.highlighting import Marked

    text = "one two three four five six seven eight nine ten " * 20
    marks = [Marked(i, i + 3, 1.0) for i in sorted(rng.choice(len(text) // 4, 30, replace=False) * 4)]
    assert text_of(pieces(text, marks)) == text
    short = text_of(pieces(text, marks, 100)).removeprefix("… ").removesuffix(" …")
    assert short in text
    assert 50 < len(short) <= 100


def test_controls_are_made_visible() -> None:
    assert text_of(pieces("a\u202eb\x00", [])) == "a\\u202eb\\x00"


def test_words_apart_are_those_of_the_selection(explorer: Explorer) -> None:
    index, texts = explorer.landscape.index, explorer.documents.texts.tolist()
    rows = np.array([i for i, text in enumerate(texts) if "signal" in text.lower().split()])
    assert index.bm25 is not None
    best = words_apart(index.bm25, rows)
    split = [set(index.bm25.keys(index.bm25.tokenizer(text))) for text in texts]
    for found in best:
        (key,) = index.bm25.keys([found["word"]])
        holders = {i for i, keys in enumerate(split) if key in keys}
        assert found["inside"] == len(holders & set(rows.tolist()))
        assert found["outside"] == len(holders) - found["inside"]
    assert "signal" in [found["word"] for found in best[:3]]
    assert words_apart(index.bm25, np.arange(len(texts))) == []


def test_a_new_text_is_placed_with_its_neighbours(explorer: Explorer) -> None:
    own = explorer.landscape
    nearer = []
    for row in range(0, 330, 30):  # a text of the corpus belongs where it is
        seen = explorer.search(explorer.documents.texts[row][:20_000])
        assert seen["matches"][0]["row"] == row
        away = np.linalg.norm(own.points - np.array(seen["place"]), axis=1)
        nearer.append((away < away[row]).mean())
    assert np.median(nearer) < 0.02
    with pytest.raises(ParasphereError, match=r"points \(k, 2\)"):
        place_among([[0, 0]], [1, 1])


def test_a_text_of_unknown_words_has_no_place(explorer: Explorer) -> None:
    seen = explorer.search("zzyzxw")
    assert seen["place"] is None
    assert seen["matches"] == seen["topics"] == []
    assert seen["information"] == 0
    assert seen["unknown"] == ["zzyzxw"]


def test_an_index_is_filtered_by_its_columns(tmp_path: Path) -> None:
    texts = ["a boat on the lake", "a ship at sea", "the road to the hills"] * 4
    table = pa.table({"text": texts, "place": ["water", "water", None] * 4, "day": ["1999-01", "2001-02-03", ""] * 4})
    index = SphericalParagraphModel(tol=0.1).fit(texts).index(table, columns=["place", "day"])
    index.save(tmp_path / "index")
    _, documents = read_index(tmp_path / "index")
    assert [(facet.name, facet.kind) for facet in documents.facets] == [("place", "words"), ("day", "date")]
    assert documents.facets[0].names == ["water"]
    assert [documents.facets[1].value(row) for row in range(3)] == ["1999-01-01", "2001-02-03", None]
    assert [facet.name for facet in read_index(tmp_path / "index", columns=["day"])[1].facets] == ["day"]
    with pytest.raises(ParasphereError, match='the index has no column "colour"; its columns: place, day'):
        read_index(tmp_path / "index", columns=["colour"])


def test_levels_are_made_of_the_same_texts(explorer: Explorer) -> None:
    about, own = explorer.about(), explorer.landscape
    assert [len(level["topics"]) for level in about["levels"]] == own.topics.levels_[:-1] == [5]
    sizes = np.bincount(own.topic[own.topic >= 0]).tolist()
    assert [topic["size"] for topic in about["topics"]] == sizes
    for level in about["levels"]:
        groups = np.array(level["groups"])
        assert [topic["size"] for topic in level["topics"]] == np.bincount(groups, sizes).tolist()
        assert len({topic["colour"]["light"] for topic in level["topics"]}) == len(level["topics"])
        assert [topic["name"] for topic in level["topics"]] == own.topics.at(len(level["topics"])).names_


def test_rare_values_are_chosen_together() -> None:
    names = [f"name {i // 2 if i < 100 else i}" for i in range(300)]
    held = read_documents(["a matrix"] * 300, columns={"name": names})
    points = np.zeros((300, 2), np.float32)
    own = Landscape(make_model().index([held.block()]), make_landscape().topics, points,
                    np.zeros(300, np.int32), np.ones(300, np.float32))  # fmt: skip
    explorer = Explorer(held, own)
    values = _facet(held.facets[0])["values"]
    assert len(values) == 101
    assert values[0]["size"] == 2
    assert values[-1] == {"name": "150 rarer ones", "size": 150, "colour": None}
    assert np.bincount(explorer.array("facet0").astype(int)).tolist() == [value["size"] for value in values]


def test_a_search_can_be_among_some_texts(explorer: Explorer) -> None:
    query, rows = "a low-pass filter for a digital signal", np.arange(0, len(explorer.documents), 3)
    whole, some = explorer.search(query), explorer.search(query, rows)
    expected = explorer.landscape.index.search(query, 12, where=np.isin(np.arange(len(explorer.documents)), rows))
    assert [match["row"] for match in some["matches"]] == [match.position for match in expected]
    assert some["place"] == whole["place"]
    with pytest.raises(ParasphereError, match="there is no text 999999"):
        explorer.search(query, np.array([999999]))


def test_the_words_that_match_are_marked(explorer: Explorer) -> None:
    matches = explorer.search("a low-pass filter for a digital signal")["matches"]
    strong = {str(piece).lower() for match in matches[:3] for piece, part in match["pieces"] if part > 0.5}
    assert strong & {"filter", "filters", "signal", "digital"}
    assert all(0 <= part <= 1 for match in matches for _, part in match["pieces"])


def test_rows_that_are_not_there_are_refused(explorer: Explorer) -> None:
    n = len(explorer.documents)
    for rows, why in (([], "no text is selected"), ([n], f"no text {n}"), ([1, 1], "twice")):
        with pytest.raises(ParasphereError, match=why):
            explorer.selection(np.array(rows, np.int64))
    with pytest.raises(ParasphereError, match="no text -1"):
        explorer.document(-1)


def test_what_was_computed_is_kept(model: SphericalParagraphModel, documents: Documents, tmp_path: Path) -> None:
    def made(facts: str) -> tuple[Landscape, list[str]]:
        told: list[str] = []
        found = landscape_of(
            model, documents, folder=tmp_path / "kept", facts=facts, n_topics=3, tell=told.append
        )  # fmt: skip
        return found, told

    first, told = made("a")
    assert told == ["indexing the texts", "finding topics", "drawing the map"]
    again, told = made("a")
    assert told == []
    assert again.points.tobytes() == first.points.tobytes()
    assert again.index.search("a matrix", 3) == first.index.search("a matrix", 3)
    _, told = made("b")  # another corpus, say
    assert told
    next((tmp_path / "kept" / "map").glob("parasphere-*")).write_bytes(b"damaged")
    _, told = made("b")
    assert told


# ------------------------------------------------------------------------------------------------------- the server


@pytest.fixture(scope="module")
def address(explorer: Explorer) -> Iterator[str]:
    with served(explorer) as where:
        yield where


def test_arrays_are_sent_as_they_are(address: str, explorer: Explorer) -> None:
    own = explorer.landscape
    expected: dict[str, Any] = {"points": own.points, "topic": own.topic, "certainty": own.certainty}
    expected |= {f"facet{i}": facet.values for i, facet in enumerate(explorer.documents.facets)}
    for name, array in expected.items():
        assert ask(f"{address}/api/arrays/{name}").body == array.tobytes()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_exports_hold_the_texts(address: str, explorer: Explorer, format: str) -> None:
    rows = np.array([5, 0, 300], "<u4")
    body = ask(f"{address}/api/export/{format}", rows.tobytes()).body
    reads = {"csv": pa.csv.read_csv, "parquet": pa.parquet.read_table}
    options = {"parse_options": pa.csv.ParseOptions(newlines_in_values=True)} if format == "csv" else {}
    table = reads[format](io.BytesIO(body), **options)
    assert table["row"].to_pylist() == rows.tolist()
    assert table["text"].to_pylist() == [explorer.documents.texts[int(row)] for row in rows]
    expected = {"id", "area", "day", "words", "x", "y", "certainty", "topic", "topic_name", "large_topic_name"}
    assert expected < set(table.column_names)


def test_no_cell_of_an_export_is_a_formula() -> None:
    texts = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a = b", "'=1", ""]
    body = _written({"text": texts, "x": [-0.5] * len(texts)}, "csv")
    rows = list(csv.reader(io.StringIO(body.decode(), newline="")))
    assert rows[0] == ["text", "x"]
    assert rows[1:] == [[f"'{text}" if i < 6 else text, "-0.5"] for i, text in enumerate(texts)]


def test_bad_questions_get_a_sentence(address: str, explorer: Explorer) -> None:
    n = len(explorer.documents)
    questions = {
        ("/api/search", b"{"): "JSON object with text",
        ("/api/search", b'{"text": 3}'): "JSON object with text",
        ("/api/search", b"[" * 100_000): "JSON object with text",
        ("/api/search", b'{"text": "  "}'): "nothing to search for",
        ("/api/search", b'{"text": "' + b"a" * 30_000 + b'"}'): "too long",
        ("/api/search", b"x" * 300_000): "too long",
        ("/api/search", b'{"text": "sea", "rows": [1, "2"]}'): "rows must be a list of whole numbers",
        ("/api/search", b'{"text": "sea", "rows": [1, 1]}'): "twice",
        ("/api/document", b'{"row": 1e3, "asked": ""}'): "row (int)",
        ("/api/document", b'{"row": 100000000000000000000000, "asked": ""}'): "there is no text",
        ("/api/selection", b"abc"): "4 bytes",
        ("/api/selection", b"\xff" * 4): "there is no text 4294967295",
        ("/api/selection", bytes(4 * n + 4)): "too long",
        ("/api/export/xlsx", bytes(4)): "csv or parquet",
    }
    for (path, body), why in questions.items():
        answer = ask(address + path, body)
        assert answer.code == 422
        assert why in answer.json["detail"]
    assert ask(f"{address}/api/arrays/secrets").code == 422
    assert ask(f"{address}/page/..%2fapp.py").code == 404


def test_a_lone_surrogate_is_no_reason_to_fail(address: str) -> None:
    assert ask(f"{address}/api/search", b'{"text": "signal \\ud800"}').code == 200


def test_other_sites_are_kept_out(address: str) -> None:
    assert ask(address, Host="evil.example").code == 400
    headers = ask(address).headers
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Access-Control-Allow-Origin"] is None


# -------------------------------------------------------------------------------------------------------- the command


def test_the_command_explains_what_is_missing(model: SphericalParagraphModel, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a matrix\na signal\n")
    model.save(tmp_path / "model")
    model.index(["a matrix", "a signal"]).save(tmp_path / "index")
    model.index(["a matrix", "a signal"], texts=False).save(tmp_path / "bare")
    always = ("--no-browser", "--port", 0)
    for arguments, why in {
        ("model",): "name the texts as well",
        ("model", "-"): "give a file or a folder",
        ("index", "texts.txt"): "has texts of its own",
        ("index", "--column", "x"): 'the index has no column "x"; its columns: none',
        ("index", "--id-column", "x"): "--id-column needs a corpus",
        ("bare",): "texts=False",
    }.items():
        named = [tmp_path / each if each in ("model", "index", "bare", "texts.txt") else each
                 for each in arguments]  # fmt: skip
        told = typed("explore", *named, *always)
        assert told.code == 1
        assert why in " ".join(told.err.split())


def test_the_command_serves_until_it_is_stopped(explorer: Explorer, tmp_path: Path) -> None:
    explorer.landscape.index.save(tmp_path / "index")
    command = [sys.executable, "-m", "parasphere", "explore", tmp_path / "index", "--topics", "3"]
    command += ["--json", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        try:
            told = json.loads(running.stdout.readline())
            about = ask(f"{told['address']}/api/about").json
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0
            assert running.stderr.read() == ""
        finally:
            running.kill()
    assert (about["n"], len(about["topics"])) == (len(explorer.documents), 3)
    assert told["work"] == str(tmp_path / "index.explore")
    assert len(list((tmp_path / "index.explore").glob("index-*/map/parasphere-*"))) == 1


def test_topics_that_were_found_are_kept() -> None:
    corpus = datasets.load("docstrings")
    topics = SphericalTopics(SphericalParagraphModel(adapt=False), n_topics=5).fit(corpus.texts[:300])
    explorer = Explorer.of(topics, corpus.texts[:300], columns={"area": corpus.labels[:300].tolist()}, title="Some")
    assert [topic["name"] for topic in explorer.about()["topics"]] == topics.names_
    assert explorer.about()["facets"][0]["name"] == "area"
    with pytest.raises(ParasphereError, match="the topics are of 300 texts, not of these 299"):
        Explorer.of(topics, corpus.texts[:299])


def test_an_index_of_other_texts_is_refused() -> None:
    index = make_model().index(["a boat", "a lake", "a hill"])
    with pytest.raises(ParasphereError, match="the index has other texts than the 2 given"):
        Explorer.of(index, ["a boat", "a lake"])
    with pytest.raises(ParasphereError, match="made with texts=False or words=False"):
        Explorer.of(make_model().index(["a boat", "a lake"], texts=False), ["a boat", "a lake"])


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+14:00", 10**400])
def test_what_is_beyond_the_calendar_or_all_numbers_is_no_value(value: Any) -> None:
    others = ["1999-12-31"] * 30 if isinstance(value, str) else [3] * 30
    assert np.isnan(Facet.of("column", [value, *others]).values[0])

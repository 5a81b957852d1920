"""The page as one file, in a real browser without a network: what it finds, reads, selects and exports."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import typed
from explored import HOSTILE, make_documents, make_explorer, make_hostile
from test_page import LAPTOP, PHONE, browser, drawn, find, spot  # noqa: F401  (browser is a fixture)

from parasphere import ParasphereError, SegmentingTokenizer, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.explorer import Explorer, landscape_of, page_of, read_documents, write_page

FREE = [
    "smooth a signal", "eigenvalues of a matrix", "split an array", "random numbers", "Fourier transform", "sparse",
    "the", "of the and", "ARRAY Array arrays", "a distribution and its parameters", "image filter", "distance",
    "minimize a function of several variables", "inverse of a matrix", "polynomial coefficients", "B-spline",
    "a test of the hypothesis that two samples are equal", "root of an equation", "read a file", "values along an axis",
]  # fmt: skip


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return make_explorer()


@pytest.fixture(scope="module")
def file(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "page.html"
    assert write_page(explorer, path) == path.stat().st_size
    return path


@contextmanager
def opened(browser: Any, path: Path, size: dict[str, int] = LAPTOP, **settings: Any) -> Iterator[Any]:  # noqa: F811
    """Open a file without a network; whatever it complains of or asks for, other than itself, fails the test."""
    context = browser.new_context(viewport=size, reduced_motion="reduce", offline=True, **settings)
    page, faults = context.new_page(), list[str]()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if _is_fault(line) else None)
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on(
        "request", lambda asked: asked.url.startswith((path.as_uri(), "blob:", "data:")) or faults.append(asked.url)
    )
    page.goto(path.as_uri())
    page.wait_for_selector("body.ready")
    yield page
    context.close()
    assert faults == []


def _is_fault(line: Any) -> bool:
    return line.type in ("error", "warning") and "ReadPixels" not in line.text


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:  # noqa: F811
    with opened(browser, file) as one:
        yield one


def test_it_finds_what_the_index_finds(page: Any, explorer: Explorer) -> None:
    own, texts = explorer.landscape, explorer.documents.texts.tolist()
    chosen = np.random.default_rng(0).choice(len(texts), 80, replace=False).tolist()
    queries = [
        " ".join(texts[row].split()[:8]) if i % 2 else re.split(r"(?<=[.!?])\s", texts[row])[0]
        for i, row in enumerate(chosen)
    ] + FREE
    there = set(re.findall(r"[a-z]+", " ".join(texts).lower()))
    assert [query for query in FREE if not {*re.findall(r"[a-z]+", query.lower())} <= there] == []
    answers = page.evaluate("(queries) => Promise.all(queries.map((query) => parasphere.search(query)))", queries)
    for query, answer in zip(queries, answers, strict=True):
        expected = own.index.search(query, len(texts))
        score = dict(zip(expected.positions.tolist(), expected.scores.tolist(), strict=True))
        similarity = dict(zip(expected.positions.tolist(), expected.similarities.tolist(), strict=True))
        rows = [match["row"] for match in answer["matches"]]
        assert len(rows) == 12, query
        assert answer["unknown"] == explorer.search(query)["unknown"], query
        for row, match, position in zip(rows, answer["matches"], expected.positions.tolist(), strict=False):
            assert row == position or abs(score[row] - score[position]) < 1e-3, query
            assert match["score"] == pytest.approx(score[row], abs=1e-3), query
            assert match["similarity"] == pytest.approx(similarity[row], abs=2e-3), query
        seen = explorer.search(query)
        assert answer["certainty"] == pytest.approx(seen["certainty"], abs=1e-3)
        assert answer["place"] == pytest.approx(seen["place"], abs=0.02)


def test_words_that_no_text_has_are_known_roughly_or_ignored(page: Any, explorer: Explorer) -> None:
    found = page.evaluate("parasphere.search('a funny love story of France')")
    theirs = explorer.search("a funny love story of France")
    assert found["unknown"] == []
    assert found["certainty"] == pytest.approx(theirs["certainty"], abs=0.02)
    for ours, other in zip(found["matches"], theirs["matches"], strict=True):
        assert ours["score"] == pytest.approx(other["score"], abs=0.03)
    asked = "([one, other]) => Promise.all([parasphere.search(one), parasphere.search(other)])"
    plain, more = page.evaluate(asked, ["smooth a signal", "smooth a zyxomatic signal"])
    assert more["matches"] == plain["matches"]
    assert more["unknown"] == ["zyxomatic"]
    nothing = page.evaluate("parasphere.search('zyxomatic')")
    assert (nothing["matches"], nothing["topics"], nothing["place"], nothing["information"]) == ([], [], None, 0)


def test_words_that_no_text_has_are_found_by_their_stems(page: Any, explorer: Explorer) -> None:
    texts = explorer.documents.texts.tolist()
    assert not any(re.search("smoothingly", text, re.IGNORECASE) for text in texts)
    found = page.evaluate("parasphere.search('smoothingly')")["matches"]
    assert "smooth" in texts[found[0]["row"]].lower()
    assert [match["row"] for match in found][:3] == explorer.landscape.index.search("smoothingly", 3).positions.tolist()


def test_the_answers_are_those_of_the_server(page: Any, explorer: Explorer) -> None:
    about = page.evaluate("parasphere.about()")
    assert about == {**explorer.about(), "exports": ["csv"]}
    for name in ("points", "certainty", "topic", "facet0", "facet1"):
        numbers = page.evaluate("async (name) => Array.from(await parasphere.numbers(name))", name)
        assert np.allclose(np.array(numbers, np.float64), explorer.array(name).ravel(), atol=1e-4, equal_nan=True), name
    for row in (0, 7, 300):
        ours, theirs = page.evaluate("(row) => parasphere.read(row, 'a noisy signal')", row), explorer.document(row)
        for name in ("row", "id", "topic", "columns", "place", "unknown"):
            assert (
                ours[name] == pytest.approx(theirs[name], abs=1e-4) if name == "place" else ours[name] == theirs[name]
            )
        assert ours["information"] == pytest.approx(theirs["information"], abs=0.1)
        assert [each["topic"] for each in ours["topics"]] == [each["topic"] for each in theirs["topics"]]
        assert "".join(piece for piece, _ in ours["pieces"]) == "".join(str(piece) for piece, _ in theirs["pieces"])
        assert page.evaluate("(row) => parasphere.glance(row)", row) == explorer.glance(row)
    rows = list(range(40, 80))
    ours, theirs = page.evaluate("(rows) => parasphere.select(rows)", rows), explorer.selection(np.array(rows))
    assert {**ours, "words": None, "texts": None} == {**theirs, "words": None, "texts": None}
    assert ours["words"][:12] == [{**word, "score": pytest.approx(word["score"])} for word in theirs["words"][:12]]
    assert [word["score"] for word in ours["words"]] == pytest.approx([word["score"] for word in theirs["words"]])
    assert [text["row"] for text in ours["texts"][:5]] == [text["row"] for text in theirs["texts"][:5]]


def test_a_search_among_rows_stays_among_them(page: Any, explorer: Explorer) -> None:
    rows = list(range(0, 300, 3))
    found = page.evaluate("(rows) => parasphere.search('smooth a signal', rows)", rows)["matches"]
    theirs = explorer.search("smooth a signal", np.array(rows))["matches"]
    assert [match["row"] for match in found] == [match["row"] for match in theirs]


def test_the_page_reads_selects_and_exports(page: Any, explorer: Explorer, tmp_path: Path) -> None:
    assert page.title() == "Docstrings"
    assert drawn(page) > 2000
    page.mouse.click(*spot(page, 40))
    page.wait_for_selector(".whole")
    page.keyboard.press("Escape")
    page.click("#inview")
    page.wait_for_selector("[data-export]")
    assert page.locator("[data-export]").count() == 1
    with page.expect_download() as waiting:
        page.click("[data-export=csv]")
    waiting.value.save_as(tmp_path / "texts.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_bytes().decode(), newline="")))
    expected = explorer.table(np.arange(len(explorer.documents)))
    assert len(table) == len(explorer.documents)
    assert list(table[0]) == list(expected)
    for name in ("row", "id", "text", "topic", "topic_name", "large_topic_name", "area", "day"):
        values = ["" if value is None else str(value).removesuffix(" 00:00:00") for value in expected[name]]
        assert [row[name].removeprefix("'") for row in table] == [value.removeprefix("'") for value in values], name
    for name in ("x", "y", "certainty"):
        assert [float(row[name]) for row in table] == pytest.approx(expected[name], abs=1e-4)


def test_keys_are_enough(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("random numbers")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .text")
    page.locator("#panel .text").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".whole")
    page.locator("#inview").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#chips #clear")
    page.keyboard.press("Escape")
    page.wait_for_selector("#chips #clear", state="detached")


@pytest.mark.parametrize(("size", "theme"), [(LAPTOP, "light"), (PHONE, "dark")])
def test_axe_finds_nothing(browser: Any, file: Path, size: dict[str, int], theme: str) -> None:  # noqa: F811
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe comes by a package").Axe()
    with opened(browser, file, size, color_scheme=theme, bypass_csp=True) as page:
        find(page, "a low-pass filter for a digital signal zzyzxw")
        for step in ("find", "read"):
            if step == "read":
                page.locator("#panel .text").first.click()
                page.wait_for_selector(".whole")
            found = axe.run(page).response["violations"]
            assert [(step, each["id"], each["nodes"][0]["html"][:200]) for each in found] == []


def test_hostile_texts_are_only_text(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    explorer = make_hostile()
    write_page(explorer, tmp_path / "hostile.html")
    assert "window.hacked" not in re.sub("<title>.*?</title>", "", (tmp_path / "hostile.html").read_text())
    with opened(browser, tmp_path / "hostile.html") as page:
        assert page.title() == page.inner_text("#title") == "<script>window.hacked = 5</script>"
        for row, text in enumerate(HOSTILE):
            shown = page.evaluate("(row) => parasphere.read(row, 'the sea')", row)["pieces"]
            theirs = explorer.document(row, asked="the sea")["pieces"]
            assert "".join(piece for piece, _ in shown) == "".join(str(piece) for piece, _ in theirs), text
        find(page, HOSTILE[0] + HOSTILE[4] + "\u202e")
        page.click("#inview")
        page.wait_for_selector("[data-export]")
        with page.expect_download() as waiting:
            page.click("[data-export=csv]")
        waiting.value.save_as(tmp_path / "texts.csv")
        rows = list(csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_bytes().decode(), newline="")))
        assert [row["text"] for row in rows[: len(HOSTILE)]] == [*HOSTILE[:-1], f"'{HOSTILE[-1]}"]
        assert page.evaluate("window.hacked") is None


def test_a_page_without_texts_finds_the_same(
    browser: Any,  # noqa: F811
    file: Path,
    explorer: Explorer,
    tmp_path: Path,
) -> None:
    path = tmp_path / "small.html"
    assert write_page(explorer, path, texts=False) < file.stat().st_size
    with opened(browser, path) as page:
        found = page.evaluate("parasphere.search('smooth a signal')")["matches"]
        theirs = explorer.search("smooth a signal")["matches"]
        assert [match["row"] for match in found] == [match["row"] for match in theirs]
        own = page.evaluate("parasphere.read(5)")
        assert own["matches"][0]["row"] == explorer.document(5)["matches"][0]["row"]
        assert own["information"] == pytest.approx(explorer.document(5)["information"], abs=0.1)
        find(page, "smooth a signal")
        page.locator("#panel .text").first.click()
        page.wait_for_selector(".whole:has-text('not part of this page')")


@pytest.mark.parametrize("kind", ["paper", "one concentration", "Banerjee", "letter case", "German"])
def test_pages_of_other_models_find_the_same(browser: Any, tmp_path: Path, kind: str) -> None:  # noqa: F811
    texts = [*make_documents().texts[:120], "b2b numpy2 x1", "École cafe\u0301 ΣΑΣ İstanbul", "", "2024"]
    words = sorted({word for text in texts for word in Tokenizer()(text)})
    words = [word for i, word in enumerate(words) if i % 8 or len(word) < 3]  # some have no vector
    dim = 60 if kind == "Banerjee" else 20
    vectors = WordVectors.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), dim)))
    split = Tokenizer(lowercase=False, digits=True, min_length=2, stop_words=["the", "Of"])
    model = {
        "paper": lambda: SphericalParagraphModel.paper(vectors),
        "one concentration": lambda: SphericalParagraphModel(vectors, prior_strength=np.inf, tol=1e-3),
        "Banerjee": lambda: SphericalParagraphModel(vectors, kappa_method="banerjee", tol=1e-3),
        "letter case": lambda: SphericalParagraphModel(vectors, tokenizer=split, tol=1e-3),
        "German": lambda: SphericalParagraphModel(vectors, tol=1e-3),
    }[kind]()
    index = model.fit(texts).index(texts, **({"language": "german"} if kind == "German" else {}))
    documents = read_documents(texts)
    explorer = Explorer(documents, landscape_of(index, documents, n_topics=2))
    write_page(explorer, tmp_path / "page.html")
    queries = ["b2b numpy2", "École", "The matrix of values", "Random NUMBERS", "2024", "σας", "İstanbul", "Café",
               *(" ".join(text.split()[:7]) for text in texts[:30])]  # fmt: skip
    with opened(browser, tmp_path / "page.html") as page:
        answers = page.evaluate("(queries) => Promise.all(queries.map((query) => parasphere.search(query)))", queries)
    for query, answer in zip(queries, answers, strict=True):
        expected, found = index.search(query, len(texts)), answer["matches"]
        score = dict(zip(expected.positions.tolist(), expected.scores.tolist(), strict=True))
        assert len(found) == min(12, len(score)), query
        for match, position in zip(found, expected.positions.tolist(), strict=False):
            assert match["score"] == pytest.approx(score[position], abs=1e-3), query
            assert match["score"] == pytest.approx(score[match["row"]], abs=1e-3), query
        assert answer["certainty"] == pytest.approx(explorer.search(query)["certainty"], abs=1e-3), query


def test_the_bytes_are_the_same_each_time(explorer: Explorer) -> None:
    assert page_of(explorer) == page_of(explorer)


def test_the_command_writes_a_page_and_says_its_size(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    texts, out = tmp_path / "texts.csv", tmp_path / "page.html"
    with texts.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([["name", "body", "kind"], ["a1", "a boat on the lake", "x"], ["a2", "ships at sea", "y"]])
        rows.writerows([f"b{i}", f"the road to hill {i}", "xyz"[i % 3]] for i in range(30))
    named = ["--text-column", "body", "--id-column", "name", "--column", "kind", "--topics", "2"]
    told = typed("page", texts, *named, "--title", "Sea & hills", "-o", out, "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out) == {"texts": 32, "bytes": out.stat().st_size, "page": str(out)}
    with opened(browser, out) as page:
        assert page.title() == "Sea & hills"
        assert page.evaluate("parasphere.search('boats')")["matches"][0]["id"] == "a1"
    model = SphericalParagraphModel(tol=0.1).fit(["a boat on the lake", "ships at sea"])
    model.index(["a boat on the lake", "ships at sea"]).save(tmp_path / "index")
    assert typed("page", tmp_path / "index", "--topics", "1", "-o", out).code == 0
    model.save(tmp_path / "model")
    told = typed("page", tmp_path / "index", "--model", tmp_path / "model", "-o", out)
    assert "is an index, which has a model of its own" in told.err
    told = typed("page", texts, *named, "-o", texts)
    assert "belongs to the corpus" in told.err


def test_links_lead_to_the_pages_of_texts(browser: Any, explorer: Explorer, tmp_path: Path) -> None:  # noqa: F811
    n = len(explorer.documents)
    write_page(explorer, tmp_path / "page.html", links=[f"sub/{row}.html#here" for row in range(n)])
    with opened(browser, tmp_path / "page.html") as page:
        find(page, "smooth a signal")
        row = page.locator("#panel .text").first.get_attribute("data-row")
        page.locator("#panel .text").first.click()
        assert page.locator("text=Go to its page").get_attribute("href") == f"sub/{row}.html#here"
    with pytest.raises(ParasphereError, match="'javascript:1' is not a link to a page"):
        page_of(explorer, links=["javascript:1"] * n)
    with pytest.raises(ParasphereError, match=f"there are 1 links for {n} texts"):
        page_of(explorer, links=["a.html"])


def test_what_a_page_cannot_do_is_refused(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a boat on the lake", "a ship at sea", "the road to the hills"] * 4
    model = SphericalParagraphModel(tokenizer=SegmentingTokenizer(), tol=0.1).fit(texts)
    documents = read_documents(texts)
    other = Explorer(documents, landscape_of(model, documents, n_topics=2))
    with pytest.raises(ParasphereError, match="splits texts as a Tokenizer does"):
        page_of(other)
    monkeypatch.setattr("parasphere.explorer.onefile.MOST_TEXTS", 100)
    with pytest.raises(ParasphereError, match="334 texts are too many for one file, which holds 100 at most"):
        page_of(explorer)

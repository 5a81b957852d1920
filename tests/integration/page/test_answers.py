"""What the page answers in a real browser, against what the library answers."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import HOSTILE, find, make_index, make_texts, make_topics, opened, write_hostile
from commands import typed

from parasphere import Index, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.page import write_page
from parasphere.printable import visible
from parasphere.topics.words import likelihood_ratio

FREE = [
    "smooth a signal", "eigenvalues of a matrix", "split an array", "random numbers", "Fourier transform", "sparse",
    "the", "of the and", "ARRAY Array arrays", "a distribution and its parameters", "image filter", "distance",
    "minimize a function of several variables", "inverse of a matrix", "polynomial coefficients", "B-spline",
    "a test of the hypothesis that two samples are equal", "root of an equation", "read a file", "values along an axis",
]  # fmt: skip


def search(page: Any, queries: list[str]) -> Any:
    return page.evaluate("(queries) => Promise.all(queries.map((query) => parasphere.search(query)))", queries)


def check_matches(index: Index, query: str, answer: Any, k: int = 12) -> None:
    """Check that the page found what the index finds: ids and order (but for ties), scores and certainty."""
    expected, found = index.search(query, max(len(index), 1)), answer["matches"]
    score = dict(zip(expected.positions.tolist(), expected.scores.tolist(), strict=True))
    similarity = dict(zip(expected.positions.tolist(), expected.similarities.tolist(), strict=True))
    assert len(found) == min(k, len(score)), query
    for match, position in zip(found, expected.positions.tolist(), strict=False):
        row = match["row"]
        assert row == position or abs(score[row] - score[position]) < 1e-3, query
        assert match["id"] == str(index.ids[row])
        assert match["score"] == pytest.approx(score[row], abs=1e-3), query
        assert match["similarity"] == pytest.approx(similarity[row], abs=2e-3), query
    posterior = index.encoder.posterior([query])
    assert answer["certainty"] == pytest.approx(posterior.mean_length[0], abs=1e-3), query
    assert answer["information"] == pytest.approx(posterior.information[0], abs=0.1), query


def sum_of_distances(points: Any, weights: Any, place: Any) -> float:
    return float(np.linalg.norm(points - place, axis=1) @ weights)


@pytest.mark.filterwarnings("ignore::parasphere.errors.CoverageWarning")
def test_it_finds_what_the_index_finds(page: Any) -> None:
    index, texts = make_index(), make_texts()
    chosen = np.random.default_rng(0).choice(len(texts), 80, replace=False).tolist()
    queries = [
        " ".join(texts[row].split()[:8]) if i % 2 else re.split(r"(?<=[.!?])\s", texts[row])[0]
        for i, row in enumerate(chosen)
    ] + FREE
    there = set(re.findall(r"[a-z]+", " ".join(texts).lower()))
    assert [query for query in FREE if not {*re.findall(r"[a-z]+", query.lower())} <= there] == []
    reader = index.encoder.text_reader
    points = np.array(page.evaluate("parasphere.about().then(({ points }) => Array.from(points))")).reshape(-1, 2)
    for query, answer in zip(queries, search(page, queries), strict=True):
        check_matches(index, query, answer)
        unknown = [word for word in dict.fromkeys(reader.tokenizer(query)) if word not in reader.vectors]
        assert answer["unknown"] == unknown, query
        near = index.search(query, 15)  # its place is their geometric median
        own, weights = points[near.positions], np.maximum(near.similarities, 1e-3) ** 4
        others = [answer["place"] + np.array(step) for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01])]
        best = sum_of_distances(own, weights, answer["place"])
        assert all(best < sum_of_distances(own, weights, other) + 1e-3 for other in others), query


def test_words_that_no_text_has_are_known_roughly_or_ignored(page: Any) -> None:
    query = "a funny love story of France"
    plain, more, nothing, found = search(page, ["smooth a signal", "smooth a zyxomatic signal", "zyxomatic", query])
    assert found["unknown"] == []
    expected = make_index().search(query, 12)
    assert found["certainty"] == pytest.approx(make_index().encoder.posterior([query]).mean_length[0], abs=0.02)
    for ours, other in zip(found["matches"], expected, strict=True):
        assert ours["score"] == pytest.approx(other.score, abs=0.03)
    assert more["matches"] == plain["matches"]
    assert more["unknown"] == ["zyxomatic"]
    assert (nothing["matches"], nothing["topics"], nothing["place"], nothing["information"]) == ([], [], None, 0)


def test_words_that_no_text_has_are_found_by_their_stems(page: Any) -> None:
    texts = make_texts()
    assert not any(re.search("smoothingly", text, re.IGNORECASE) for text in texts)
    (found,) = search(page, ["smoothingly"])
    assert "smooth" in texts[found["matches"][0]["row"]].lower()
    expected = make_index().search("smoothingly", 3).positions.tolist()
    assert [match["row"] for match in found["matches"]][:3] == expected


def test_a_search_among_rows_stays_among_them(page: Any) -> None:
    index, rows = make_index(), list(range(0, 300, 3))
    asked = "(rows) => Promise.all([parasphere.search('smooth a signal', rows), parasphere.search('smooth a signal')])"
    some, whole = page.evaluate(asked, rows)
    expected = index.search("smooth a signal", 12, where=np.isin(np.arange(len(index)), rows))
    assert [match["row"] for match in some["matches"]] == expected.positions.tolist()
    assert some["place"] == whole["place"]


def test_texts_are_read_with_their_neighbours_topics_and_columns(page: Any) -> None:
    index, topics = make_index(), make_topics()
    shares = topics.transform(make_texts())
    points = np.array(page.evaluate("parasphere.about().then(({ points }) => Array.from(points))")).reshape(-1, 2)
    for row in (0, 7, 300):
        text = make_texts()[row]
        answer = page.evaluate("(row) => parasphere.read(row)", row)
        assert (answer["row"], answer["id"], answer["topic"]) == (row, str(index.ids[row]), topics.labels_[row])
        values = [(name, column[row]) for name, column in index.columns.items()]
        shown = [[name, f"{value:g}" if name == "words" else str(value)] for name, value in values if value is not None]
        assert answer["columns"] == shown
        assert answer["place"] == pytest.approx(points[row].tolist())
        assert "".join(piece for piece, _ in answer["pieces"]) == visible(text)
        near = [position for position in index.search(text, 13).positions.tolist() if position != row]
        assert [match["row"] for match in answer["matches"]] == near[:12]
        assert answer["information"] == pytest.approx(index.encoder.posterior([text]).information[0], abs=0.1)
        likely = {int(topic): shares[row, topic] for topic in np.argsort(-shares[row])[:4] if shares[row, topic] > 0.03}
        assert {each["topic"]: each["share"] for each in answer["topics"]} == pytest.approx(likely, abs=0.01)
        glance = page.evaluate("(row) => parasphere.glance(row)", row)
        assert glance["text"] == visible(" ".join(text.split()))


def test_the_words_that_match_are_marked(page: Any) -> None:
    query = "a low-pass filter for a digital signal"
    (answer,) = search(page, [query])
    for match in answer["matches"][:6]:
        marks = {str(piece): part for piece, part in page.evaluate(
            "([row, query]) => parasphere.read(row, query)", [match["row"], query])["pieces"] if part > 0}  # fmt: skip
        encoder, text = make_index().encoder, make_texts()[match["row"]]
        often = Counter(word for word, _ in encoder.text_reader.lookup.units(text))  # the page marks each occurrence
        explained = [(word, part / often[word]) for word, part in encoder.explain_match(query, text).words_b]
        largest = max(part for _, part in explained)
        strongest = {word for word, part in explained if part > 0.3 * largest}
        assert strongest
        assert strongest <= {piece.lower() for piece in marks}
        for piece, part in marks.items():
            expected = max((each for word, each in explained if word == piece.lower()), default=0) / largest
            shared = piece.lower().removesuffix("s") in query
            assert part == pytest.approx(expected, abs=0.03) or (shared and part == 0.5), piece
        short = "".join(piece for piece, _ in match["pieces"]).removeprefix("… ").removesuffix(" …")
        assert short in make_texts()[match["row"]]
        assert len(short) <= 280


def test_a_selection_is_described(page: Any) -> None:
    index, topics, rows = make_index(), make_topics(), list(range(40, 80))
    answer = page.evaluate("(rows) => parasphere.select(rows)", rows)
    assert answer["count"] == len(rows)
    labels = Counter(label for label in topics.labels_[rows].tolist() if label >= 0)
    assert {each["topic"]: each["count"] for each in answer["topics"]}.items() <= labels.items()
    (area,) = answer["columns"]
    assert area["name"] == "area"
    assert {each["name"]: each["count"] for each in area["values"]} == Counter(
        index.columns["area"][row] for row in rows
    )
    bm25 = index.bm25
    assert bm25 is not None
    bags = [Counter(bm25.keys(bm25.tokenizer(text))) for text in make_texts()]
    inside, outside = Counter[str](), Counter[str]()
    for row, bag in enumerate(bags):
        (inside if row in rows else outside).update(bag)
    words = sorted(inside | outside)
    counts = np.array([[inside[word] for word in words], [outside[word] for word in words]], np.float64)
    scores = dict(zip(words, likelihood_ratio(counts)[0].tolist(), strict=True))
    best = sorted(scores.values(), reverse=True)[:24]
    assert [word["score"] for word in answer["words"]] == pytest.approx([score / best[0] for score in best])
    for word in answer["words"]:
        (key,) = bm25.keys([word["word"]])
        assert scores[key] / best[0] == pytest.approx(word["score"])
        holders = {row for row, bag in enumerate(bags) if key in bag}
        assert word["inside"] == len(holders & set(rows))
        assert word["outside"] == len(holders) - word["inside"]
    offsets = index.offsets[rows]
    typical = np.array(rows)[np.argsort(-(offsets @ offsets.mean(axis=0)), kind="stable")]
    assert [text["row"] for text in answer["texts"][:5]] == typical[:5].tolist()
    assert page.evaluate("(n) => parasphere.select([...Array(n).keys()])", len(index))["words"] == []


def test_all_texts_are_exported(page: Any, tmp_path: Path) -> None:
    index, topics = make_index(), make_topics()
    page.click("#inview")
    page.wait_for_selector("#export")
    with page.expect_download() as waiting:
        page.click("#export")
    assert waiting.value.suggested_filename == "texts.csv"
    waiting.value.save_as(tmp_path / "texts.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_bytes().decode(), newline="")))
    large = topics.at(topics.levels_[0])
    area, day = (["" if value is None else value for value in index.columns[name].tolist()] for name in ("area", "day"))
    expected = {
        "row": range(len(index)), "id": index.ids, "text": make_texts(),
        "topic": ["" if label < 0 else label for label in topics.labels_.tolist()], "topic_name": topics.text_names(),
        "large_topic_name": large.text_names(), "area": area, "day": day,
    }  # fmt: skip
    assert list(table[0]) == [*list(expected)[:6], "x", "y", "certainty", "area", "day", "words"]
    for name, values in expected.items():
        assert [row[name].removeprefix("'") for row in table] == [str(value).removeprefix("'") for value in values]
    assert [float(row["words"]) if row["words"] else None for row in table] == index.columns["words"].tolist()
    posterior = index.encoder.posterior(make_texts())
    assert [float(row["certainty"]) for row in table] == pytest.approx(posterior.mean_length.tolist(), abs=1e-4)


def test_hostile_texts_are_only_text(browser: Any, tmp_path: Path) -> None:
    write_hostile(tmp_path / "hostile.html")
    whole = (tmp_path / "hostile.html").read_text("utf-8")
    assert "<script>window.hacked" not in whole
    assert whole.count("window.hacked") == 2  # in the title and its heading
    with opened(browser, tmp_path / "hostile.html") as page:
        assert page.title() == page.inner_text("#title") == "<script>window.hacked = 5</script>"
        for row, text in enumerate(HOSTILE):
            shown = page.evaluate("(row) => parasphere.read(row, 'the sea')", row)["pieces"]
            assert "".join(piece for piece, _ in shown) == visible(text)
        find(page, HOSTILE[0] + HOSTILE[4] + "\u202e")
        page.click("#inview")
        page.wait_for_selector("#export")
        with page.expect_download() as waiting:
            page.click("#export")
        waiting.value.save_as(tmp_path / "texts.csv")
        rows = list(csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_bytes().decode(), newline="")))
        assert [row["text"] for row in rows[: len(HOSTILE)]] == [*HOSTILE[:-1], f"'{HOSTILE[-1]}"]
        assert page.evaluate("window.hacked") is None


def test_no_cell_of_an_export_is_a_formula(browser: Any, tmp_path: Path) -> None:
    cells = ["=cmd|' /C calc'!A0", "+1", "-1 -", "@SUM(A1)", "\t=1", "\r=1", "a = b", "'=1", ""] * 2
    texts = ["the sea", "a lake", "the hills"] * 6
    write_page(tmp_path / "page.html", texts, make_index().encoder, columns={"=cell": cells}, n_topics=1)
    with opened(browser, tmp_path / "page.html") as page:
        page.click("#inview")
        page.wait_for_selector("#export")
        with page.expect_download() as waiting:
            page.click("#export")
        waiting.value.save_as(tmp_path / "texts.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_bytes().decode(), newline="")))
    written = [row["'=cell"] for row in rows]
    assert written == [f"'{cell}" if i % 9 < 6 else cell for i, cell in enumerate(cells)]


def test_a_page_without_texts_finds_the_same(browser: Any, file: Path, tmp_path: Path) -> None:
    index, path = make_index(), tmp_path / "small.html"
    assert write_page(path, index, make_topics(), show_texts=False) < file.stat().st_size
    with opened(browser, path) as page:
        (found,) = search(page, ["smooth a signal"])
        check_matches(index, "smooth a signal", found)
        own = page.evaluate("parasphere.read(5)")
        near = [position for position in index.search(make_texts()[5], 3).positions.tolist() if position != 5]
        assert own["matches"][0]["row"] == near[0]
        expected = index.encoder.posterior([make_texts()[5]]).information[0]
        assert own["information"] == pytest.approx(expected, abs=0.1)
        find(page, "smooth a signal")
        page.locator("#panel .text").first.click()
        page.wait_for_selector(".whole:has-text('not part of this page')")


@pytest.mark.parametrize("kind", ["paper", "one concentration", "Banerjee", "letter case", "German"])
@pytest.mark.filterwarnings("ignore::parasphere.errors.CoverageWarning")
def test_pages_of_other_models_find_the_same(browser: Any, tmp_path: Path, kind: str) -> None:
    texts = [*make_texts()[:120], "b2b numpy2 x1", "École cafe\u0301 ΣΑΣ İstanbul", "", "2024"]
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
    write_page(tmp_path / "page.html", index, n_topics=2)
    queries = ["b2b numpy2", "École", "The matrix of values", "Random NUMBERS", "2024", "σας", "İstanbul", "Café",
               *(" ".join(text.split()[:7]) for text in texts[:30])]  # fmt: skip
    with opened(browser, tmp_path / "page.html") as page:
        answers = search(page, queries)
    for query, answer in zip(queries, answers, strict=True):
        check_matches(index, query, answer)


def test_the_command_writes_a_page_and_says_its_size(browser: Any, tmp_path: Path) -> None:
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
        assert search(page, ["boats"])[0]["matches"][0]["id"] == "a1"
        assert page.evaluate("parasphere.about().then(({ columns }) => columns[0].names)") == ["x", "y", "z"]


def test_links_lead_to_the_pages_of_texts(browser: Any, tmp_path: Path) -> None:
    links = [f"sub/{row}.html#here" for row in range(len(make_index()))]
    write_page(tmp_path / "page.html", make_index(), make_topics(), links=links)
    with opened(browser, tmp_path / "page.html") as page:
        find(page, "smooth a signal")
        row = page.locator("#panel .text").first.get_attribute("data-row")
        page.locator("#panel .text").first.click()
        assert page.locator("text=Go to its page").get_attribute("href") == f"sub/{row}.html#here"

"""The page in a real browser: searching, clicking, drawing, filters, keys, contrast, small screens, many points."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import (
    HOSTILE,
    LAPTOP,
    PHONE,
    drawn,
    find,
    make_index,
    make_texts,
    make_topics,
    opened,
    spot,
    until,
    write_hostile,
)  # fmt: skip

from parasphere import Index
from parasphere.page.contents import map_parts
from parasphere.page.documents import read_documents
from parasphere.page.packing import packed, string_arrays
from parasphere.page.searching import search_parts
from parasphere.page.writing import MOST_TEXTS, html_of

ABOUT = "parasphere.about().then(({ levels, topics }) => ({ levels, topics }))"


def test_the_page_loads(page: Any) -> None:
    assert page.title() == "Docstrings"
    assert page.evaluate("page.map.n") == len(make_index())
    assert drawn(page) > 2000
    assert page.evaluate("page.map.written") >= 3  # names of topics
    assert "texts in 16 topics" in page.inner_text("#panel")
    assert page.locator(".tree > li").count() == 6  # five large topics, and none


def test_a_text_that_is_typed_appears(page: Any) -> None:
    find(page, "a low-pass filter for a digital signal")
    expected = make_index().search("a low-pass filter for a digital signal", 12)
    answer = page.evaluate("parasphere.search('a low-pass filter for a digital signal')")
    assert page.evaluate("page.map.spot") == answer["place"]
    shown = page.locator("#panel .text").evaluate_all("all => all.map((each) => Number(each.dataset.row))")
    assert shown == expected.positions.tolist() == page.evaluate("page.map.rings")
    marks = {word.lower() for word in page.locator("#panel mark.m4, #panel mark.m3").all_inner_texts()}
    assert marks & {"filter", "filters", "signal", "digital"}
    assert f"{answer['certainty']:.2f}" in page.inner_text("#panel .certainty")
    assert page.locator("#panel .topics .entry").count() == len(answer["topics"])


def test_a_text_of_unknown_words_is_no_riddle(page: Any) -> None:
    find(page, "zzyzxw")
    assert "The model knows no word of this text." in page.inner_text("#panel")
    assert page.evaluate("page.map.spot") is None


def test_a_point_that_is_clicked_is_read(page: Any) -> None:
    page.mouse.move(*spot(page, 40))
    page.wait_for_selector(".tip:not([hidden])")
    row = page.evaluate("page.map.hovered")
    page.mouse.click(*spot(page, 40))
    page.wait_for_selector(".whole")
    assert make_index().ids[row] in page.inner_text("#panel h2")
    assert page.inner_text(".whole").split() == make_texts()[row].split()
    page.click("text=← Back")
    assert "texts in 16 topics" in page.inner_text("#panel")


def lasso(page: Any, corners: list[tuple[float, float]]) -> None:
    page.click("#lasso")
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    page.wait_for_selector("#export")


def test_a_lasso_selects_what_is_inside(page: Any) -> None:
    box = page.locator(".map").bounding_box()
    left, right = box["x"] + 0.25 * box["width"], box["x"] + 0.6 * box["width"]
    top, bottom = box["y"] + 0.2 * box["height"], box["y"] + 0.6 * box["height"]
    lasso(page, [(left, top), (right, top), (right, bottom), (left, bottom)])
    places = np.array([spot(page, row) for row in range(len(make_index()))])
    inside = ((places > [left, top]) & (places < [right, bottom])).all(axis=1)
    assert 10 < inside.sum() < len(inside)
    assert page.inner_text("#panel h2") == f"{inside.sum()} texts"
    expected = page.evaluate("(rows) => parasphere.select(rows)", np.flatnonzero(inside).tolist())
    assert page.locator(".apart tbody th bdi").first.inner_text() == expected["words"][0]["word"]
    page.click("#clear")
    assert page.evaluate("page.filters.rows") is None


def chosen(page: Any) -> list[int]:
    """Return the texts that are chosen, as soon as the panel says so."""
    page.wait_for_selector("#export")
    page.wait_for_selector("body:not(.busy)")
    rows: list[int] = page.evaluate("Array.from(page.filters.rows)")
    return rows


def test_the_tree_of_topics_is_a_filter(page: Any) -> None:
    labels, groups = make_topics().labels_, np.array(page.evaluate(ABOUT)["levels"][0]["groups"])
    large = page.locator(".tree > li").nth(1)
    large.locator(".entry").first.click()
    parts = np.flatnonzero(groups == 1)
    assert chosen(page) == np.flatnonzero(np.isin(labels, parts)).tolist()
    assert page.inner_text("#chips .of") == f"{np.isin(labels, parts).sum()} of {len(labels)} texts"
    assert not large.locator("ul").is_visible()
    large.locator(".opener").first.click()
    assert large.locator("ul .entry").count() == len(parts)
    large.locator("ul .entry").first.click()
    until(page, "page.filters.topics.codes.size === 1")
    assert chosen(page) == np.flatnonzero(labels == parts[0]).tolist()
    large.locator("ul .entry").nth(1).click(modifiers=["Shift"])
    until(page, "page.filters.topics.codes.size === 2")
    assert large.locator("ul .entry[aria-pressed=true]").count() == 2
    page.click("#clear")
    assert page.evaluate("page.filters.rows") is None


def test_finer_topics_are_named_where_one_zooms_in(page: Any) -> None:
    about = page.evaluate(ABOUT)
    large = {topic["name"] for topic in about["levels"][0]["topics"]}
    assert large <= set(page.evaluate("page.map.placed.map(each => each.name)"))
    for topic in about["topics"]:
        page.evaluate("([x, y]) => { const { map } = page; map.go({ x, y, k: 6 * map.home.k }); }", topic["place"])
        until(page, "!page.map.moving")
        assert topic["name"] in page.evaluate("page.map.placed.map(each => each.name)")
        boxes = np.array(page.evaluate("page.map.placed.map(name => name.box)"))
        overlap = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]) - np.maximum(
            boxes[:, None, :2], boxes[None, :, :2]
        )
        assert (overlap > 0).all(axis=2).sum() == len(boxes)  # only with themselves


def test_columns_are_filters(page: Any) -> None:
    area, day, words = make_index().columns.values()
    names = page.evaluate("parasphere.about().then(({ columns }) => columns[0].names)")
    page.click(".column:has-text('area') summary")
    page.locator(".column:has-text('area') input").nth(1).check()
    expected = area.holds(names[1])
    assert chosen(page) == np.flatnonzero(expected).tolist()
    assert page.locator("#panel .topics").count() > 1
    faded = np.array(page.evaluate("Array.from(page.map.scatter.colours)")).reshape(-1, 4)[:, 3] < 50
    assert faded.tolist() == (~expected).tolist()
    page.click(".column:has-text('words') summary")
    page.get_by_label("words from").fill("40")
    page.get_by_label("words from").press("Enter")
    until(page, "page.filters.parts().length === 2")
    expected &= words.holds((">=", 40))
    assert chosen(page) == np.flatnonzero(expected).tolist()
    find(page, "a matrix")
    shown = page.locator("#panel .text").evaluate_all("all => all.map((each) => Number(each.dataset.row))")
    assert shown == make_index().search("a matrix", 12, where=expected).positions.tolist()
    assert page.locator(".chip").count() == 2
    page.locator(".chip").first.click()
    until(page, "page.filters.parts().length === 1")
    assert not page.locator(".column:has-text('area') input").nth(1).is_checked()
    page.click("#list")
    assert chosen(page) == np.flatnonzero(words.holds((">=", 40))).tolist()
    page.click("#clear")
    page.click(".column:has-text('day') summary")
    page.get_by_label("day to").fill("1999-12-31")
    page.get_by_label("day to").press("Enter")
    assert chosen(page) == np.flatnonzero([value < "2000" for value in day.tolist()]).tolist()
    page.click("#clear")
    page.locator(".column:has-text('day') .bars").scroll_into_view_if_needed()
    bars = page.locator(".column:has-text('day') .bars").bounding_box()
    page.mouse.move(bars["x"] + 2, bars["y"] + 20)
    page.mouse.down()
    page.mouse.move(bars["x"] + bars["width"] / 2, bars["y"] + 20, steps=3)
    page.mouse.up()
    assert 0 < len(chosen(page)) < len(make_index())


def test_colours_follow_the_choice(page: Any) -> None:
    colours = set()
    for kind in ("topic", "0", "1", "3"):
        page.select_option("#colour", kind)
        colours.add(page.evaluate("page.map.scatter.colours.join()"))
    assert len(colours) == 4
    page.select_option("#colour", "0")
    one, other = make_index().columns["area"].tolist()[:2]
    first, second = np.array(page.evaluate("Array.from(page.map.scatter.colours.slice(0, 8))")).reshape(2, 4)
    assert (first == second).all() == (one == other)
    assert page.locator(".column.coloured .swatch").first.is_visible()  # where the colours are explained


def test_keys_are_enough(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("random numbers")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .star")
    for _ in range(40):  # from the search box by Tab to the map
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === page.map.pad"):
            break
    assert page.evaluate("document.activeElement === page.map.pad")
    before = page.evaluate("page.map.view")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    after = page.evaluate("page.map.view")
    assert after["x"] > before["x"]
    assert after["k"] > before["k"]
    page.keyboard.press("Enter")
    page.wait_for_selector(".whole")
    page.locator("#inview").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#export")
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel h2:has-text('texts in 16 topics')")
    assert page.evaluate("page.filters.rows") is None


@pytest.mark.parametrize(("size", "theme"), [(LAPTOP, "light"), (LAPTOP, "dark"), (PHONE, "light"), (PHONE, "dark")])
def test_axe_finds_nothing(browser: Any, file: Path, size: dict[str, int], theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe comes by a package").Axe()
    with opened(browser, file, size, color_scheme=theme, bypass_csp=True) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        for step in ("begin", "find", "read", "choose"):
            if step == "find":
                find(page, "a low-pass filter for a digital signal zzyzxw")
            elif step == "read":
                page.locator("#panel .text").first.click()
                page.wait_for_selector(".whole")
            elif step == "choose":
                page.locator("#panel .topics .entry").first.click()
                page.wait_for_selector("#export")
                page.select_option("#colour", "0")
                page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            found = axe.run(page).response["violations"]
            assert [(step, each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_theme_is_remembered(page: Any) -> None:
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.wait_for_selector("body.ready")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_phone_pinches_and_taps(browser: Any, file: Path) -> None:
    with opened(browser, file, PHONE, has_touch=True, is_mobile=True) as page:
        page.touchscreen.tap(*spot(page, 3))
        page.wait_for_selector(".whole")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.keyboard.press("Escape")
        before, (x, y) = page.evaluate("page.map.view.k"), spot(page, 3)
        pinch(page, x, y, 20, 60)
        assert page.evaluate("page.map.view.k") == pytest.approx(3 * before, rel=0.05)
        assert spot(page, 3) == pytest.approx((x, y), abs=3)  # what is between the fingers stays there
        pinch(page, x, y, 60, 20)
        assert page.evaluate("page.map.view.k") == pytest.approx(before, rel=0.05)


def pinch(page: Any, x: float, y: float, begin: float, end: float) -> None:
    """Put two fingers on the page, so far left and right of a place, and move them until they are at another distance.

    Playwright has no second finger; the browser's own interface has.
    """
    session = page.context.new_cdp_session(page)
    for step in range(11):
        apart = begin + (end - begin) * step / 10
        fingers = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        kind = "touchMove" if step else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_hostile_corpus_is_only_text(browser: Any, tmp_path: Path) -> None:
    write_hostile(tmp_path / "hostile.html")
    with opened(browser, tmp_path / "hostile.html") as page:
        assert page.inner_text("#title") == "<script>window.hacked = 5</script>"
        page.select_option("#colour", "0")
        assert "<b>bold</b>" in page.inner_text("#sides")
        assert "<u>label</u>" in page.inner_text("#sides")
        assert "\\u202elabel" in page.inner_text("#sides")
        for row, text in enumerate(HOSTILE):
            page.evaluate("row => page.map.tell.pick(row)", row)
            page.wait_for_selector(f"#panel h2:has-text('{row} <i>')")
            shown = page.inner_text(".whole")
            assert "\u202e" not in shown
            if "<" in text or "🌊" in text:
                assert " ".join(shown.split()) == " ".join(text.split())
        find(page, HOSTILE[0] + HOSTILE[4] + "\u202e")
        page.mouse.move(*spot(page, 0))
        page.wait_for_selector(".tip:not([hidden])")
        page.click("#inview")
        page.wait_for_selector("#export")
        assert page.evaluate("window.hacked") is None
        assert page.locator("#panel script, #panel img, #panel svg, .tip script, #sides b, #sides u").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= LAPTOP["width"]


def test_a_full_page_is_drawn_and_selected_from(browser: Any, tmp_path: Path) -> None:
    words = ["matrix", "signal", "cluster", "integral", "random", "image", "spline", "median", "root", "graph"]
    texts = [f"{words[i % 10]} {words[i // 10 % 10]} of number {i}" for i in range(MOST_TEXTS)]
    few = read_documents(make_texts(), columns={"group": [f"group {i % 7}" for i in range(len(make_texts()))]})
    facts, arrays = map_parts(few, make_topics(), np.full(len(few), 0.5))
    rows = np.arange(MOST_TEXTS) % len(few)
    for name in ("topic", "certainty", "column0"):
        arrays[name] = arrays[name][rows]
    for name in ("likely", "shares"):
        arrays[name] = arrays[name].reshape(len(few), -1)[rows]
    spread = np.random.default_rng(0).normal(size=(MOST_TEXTS, 2)) / 4
    arrays |= {"points": np.rint(np.clip(spread, -1, 1) * facts["scales"]["points"]).astype(np.int16)}
    arrays |= string_arrays("ids", [str(row) for row in range(MOST_TEXTS)])
    index = Index(make_index().encoder)
    index.add(texts)
    parts = {"map": packed({**facts, "n": MOST_TEXTS}, arrays), "search": packed(*search_parts(index)),
             "texts": packed({}, string_arrays("texts", texts))}  # fmt: skip
    (tmp_path / "page.html").write_text(html_of("", parts), encoding="utf-8")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.evaluate("page.map.n") == MOST_TEXTS
        assert drawn(page) > 50_000
        page.evaluate("() => { const { map } = page; map.go({ ...map.view, x: map.view.x + 0.001 }, false); }")
        until(page, "!page.map.moving")
        assert drawn(page) > 50_000  # all of them again
        row = page.evaluate("page.map.scatter.nearest(0.1, 0.1, 0.1)")
        assert np.linalg.norm(spread[row] - 0.1) < 0.01
        page.click("#fit")
        lasso(page, [(400, 300), (700, 300), (700, 600), (400, 600)])
        assert page.evaluate("page.filters.rows.length") > 1000
        query = "the image of signal number 31415"
        page.click("#clear")
        find(page, query)
        shown = page.locator("#panel .text").evaluate_all("all => all.map((each) => Number(each.dataset.row))")
        assert shown[0] == index.search(query, 1)[0].position == 31_415

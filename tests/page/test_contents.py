"""What a page shows: documents, columns, topics; and what cannot be shown."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commands import typed

from parasphere import SphericalParagraphModel, SphericalTopics, datasets
from parasphere.errors import CorpusError, ParasphereError
from parasphere.page import write_page
from parasphere.page.contents import map_parts
from parasphere.page.documents import Documents, read_documents

TEXTS = ["a boat on the lake", "a ship at sea", "the road to the hills"] * 4


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(tol=0.1, adapt=False).fit(TEXTS)


@pytest.fixture(scope="module")
def documents() -> Documents:
    corpus = datasets.load("docstrings")
    return read_documents(corpus.texts[::6], ids=corpus.ids[::6])


@pytest.fixture(scope="module")
def topics(documents: Documents) -> SphericalTopics:
    return SphericalTopics(SphericalParagraphModel(adapt=False), n_topics=16).fit(documents.texts)


def facts_of(documents: Documents, topics: SphericalTopics) -> tuple[dict[str, Any], dict[str, Any]]:
    return map_parts(documents, topics, np.linspace(0, 1, len(documents)))


def test_columns_of_a_table_are_texts_numbers_or_dates(model: SphericalParagraphModel) -> None:
    kinds = ["y", "x", None, "x"]
    table = pa.table({"text": list("abcd"), "kind": kinds, "year": ["1999", "2001", "", "2000"],
                      "when": ["1970-01", "1970-01-03T12:00:00", None, "1970-01-02"]})  # fmt: skip
    documents = read_documents(table, columns=["kind", "year", "when"])
    assert [column.kind for column in documents.columns] == ["text", "number", "date"]
    facts, arrays = facts_of(documents, SphericalTopics(model, 1).fit(TEXTS[:4]))
    assert facts["columns"][0]["names"] == ["x", "y"]  # the most frequent first
    assert [(choice["name"], choice["size"]) for choice in facts["columns"][0]["choices"]] == [("x", 2), ("y", 1)]
    assert arrays["column0"].tolist() == [1, 0, -1, 0]
    assert facts["columns"][1]["range"] == [1999, 2001]
    assert arrays["column1"][[0, 1, 3]].tolist() == [1999, 2001, 2000]
    assert np.isnan(arrays["column1"][2])
    assert arrays["column2"][[0, 1, 3]].tolist() == [0, 2.5, 1]  # days since 1970
    assert np.isnan(arrays["column2"][2])


def test_rare_values_are_chosen_together(documents: Documents, topics: SphericalTopics) -> None:
    names = [f"name {i // 2 if i < 100 else i}" for i in range(len(documents))]
    rare = read_documents(documents.texts, columns={"name": names})
    facts, arrays = facts_of(rare, topics)
    choices, n_rarer = facts["columns"][0]["choices"], len(set(names)) - 100
    assert len(choices) == 101
    assert choices[0]["size"] == 2
    assert choices[-1] == {"name": f"{n_rarer} rarer ones", "size": n_rarer, "colour": None}
    shown = np.minimum(arrays["column0"], facts["most_values"])
    assert np.bincount(shown).tolist() == [choice["size"] for choice in choices]
    assert [facts["columns"][0]["names"][code] for code in arrays["column0"]] == names


def test_folders_are_a_column(tmp_path: Path) -> None:
    for name in ("sea/one.txt", "land/two.txt", "sea/three.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a text")
    documents = read_documents(tmp_path)
    assert [(column.name, column.tolist()) for column in documents.columns] == [("folder", ["land", "sea", "sea"])]
    assert documents.ids == ["land/two.txt", "sea/one.txt", "sea/three.txt"]


@pytest.mark.parametrize(("columns", "why"), [
    ("kind", r"as in \['kind'\]"), ({"kind": ["x"]}, '"kind" has 1 values for 2 texts'),
])  # fmt: skip
def test_columns_that_do_not_fit_are_refused(columns: Any, why: str) -> None:
    with pytest.raises(ParasphereError, match=why):
        read_documents(["a", "b"], columns=columns)


def test_token_lists_are_joined() -> None:
    documents = read_documents([["a", "b"], []])
    assert (documents.texts, documents.ids) == (["a b", ""], ["1", "2"])


def test_an_index_is_shown_with_its_ids_and_columns(model: SphericalParagraphModel) -> None:
    table = pa.table({"text": TEXTS, "place": ["water", "water", None] * 4, "day": ["1999-01", "2001-02-03", ""] * 4})
    index = model.index(table, [f"t{i}" for i in range(12)], columns=["place", "day"])
    documents = read_documents(index)
    assert (documents.texts, documents.ids) == (TEXTS, list(index.ids))
    assert [(column.name, column.kind) for column in documents.columns] == [("place", "text"), ("day", "date")]
    assert [column.name for column in read_documents(index, columns=["day"]).columns] == ["day"]
    for options, why in (
        ({"columns": ["colour"]}, 'the index has no column "colour"; its columns: place, day'),
        ({"ids": "id"}, "the documents of an index have ids of their own"),
    ):
        with pytest.raises(ParasphereError, match=why):
            read_documents(index, **options)
    with pytest.raises(ParasphereError, match="made with texts=False or words=False"):
        read_documents(model.index(TEXTS, texts=False))


def test_levels_are_made_of_the_same_texts(documents: Documents, topics: SphericalTopics) -> None:
    facts, arrays = facts_of(documents, topics)
    sizes = np.bincount(topics.labels_[topics.labels_ >= 0]).tolist()
    assert [topic["size"] for topic in facts["topics"]] == sizes
    assert [topic["name"] for topic in facts["topics"]] == topics.names_
    assert [len(level["topics"]) for level in facts["levels"]] == topics.levels_[:-1] == [5]
    for level in facts["levels"]:
        groups = np.array(level["groups"])
        assert [topic["size"] for topic in level["topics"]] == np.bincount(groups, sizes).tolist()
        assert len({topic["colour"]["light"] for topic in level["topics"]}) == len(level["topics"])
        assert [topic["name"] for topic in level["topics"]] == topics.at(len(level["topics"])).names_
    points = arrays["points"] / facts["scales"]["points"]
    assert np.abs(points).max() == 1
    for topic, described in enumerate(facts["topics"]):  # its name is in the middle of its points
        own = points[topics.labels_ == topic]
        away = np.linalg.norm(own - described["place"], axis=1).sum()
        assert all(away <= np.linalg.norm(own - point, axis=1).sum() * (1 + 1e-4) for point in own)


def test_the_topics_of_a_text_are_its_likeliest(documents: Documents, topics: SphericalTopics) -> None:
    facts, arrays = facts_of(documents, topics)
    likely, shares = (arrays[name].reshape(len(documents), -1) for name in ("likely", "shares"))
    expected = topics.transform(documents.texts)
    assert likely.shape[1] == facts["shown_topics"]
    found = np.zeros_like(expected)
    np.put_along_axis(found, likely.astype(np.int64), shares / facts["scales"]["shares"], axis=1)
    known = topics.vectors(documents.texts).any(axis=1)
    assert (found[known].argmax(axis=1) == expected[known].argmax(axis=1)).mean() > 0.99
    assert found[known] == pytest.approx(np.where(found[known] > 0, expected[known], 0), abs=3e-3)


def test_the_bytes_are_the_same_each_time(documents: Documents, topics: SphericalTopics, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_page(tmp_path / name, documents.texts, topics)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_page_admits_only_its_own_script(tmp_path: Path, model: SphericalParagraphModel) -> None:
    title = "</title><script>{{data}}{{script}}</script>"
    write_page(tmp_path / "page.html", TEXTS, model, title=title, n_topics=1)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 4  # one, and three of data
    assert "&lt;/title&gt;&lt;script&gt;{{data}}{{script}}" in page
    assert re.search("default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:;", page)
    assert not re.search(r"(?:src|href)\s*=\s*\"?(?:https?:|//)", page.split("<script")[0])


def test_what_a_page_cannot_show_is_refused(
    model: SphericalParagraphModel, topics: SphericalTopics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = model.index(TEXTS)
    own = SphericalParagraphModel(tokenizer=lambda text: text.split(), tol=0.1, adapt=False).fit(TEXTS)
    for corpus, options, why in (
        ([], {}, "there are no texts to show"),
        (TEXTS, {"model": topics}, "the topics are of 334 texts, not of these 12"),
        (TEXTS, {"model": topics, "n_topics": 3}, "n_topics=3 is for topics that are to be found"),
        (index, {"model": model}, "an index has a model of its own"),
        (TEXTS, {"model": model, "links": ["a.html"]}, "there are 1 links for 12 texts"),
        (TEXTS, {"model": model, "links": ["javascript:1"] * 12}, "'javascript:1' is not a link to a page"),
        (TEXTS, {"model": model, "links": ["//["] * 12}, "is not a link to a page"),
        (TEXTS, {"model": own, "n_topics": 1}, "splits texts as a Tokenizer does, and this model uses a function"),
    ):
        with pytest.raises((ParasphereError, CorpusError), match=re.escape(why)):
            write_page(tmp_path / "page.html", corpus, **options)
    monkeypatch.setattr("parasphere.page.writing.MOST_TEXTS", 10)
    with pytest.raises(ParasphereError, match="12 texts are too many for one page, which holds 10 at most"):
        write_page(tmp_path / "page.html", TEXTS, model)
    assert list(tmp_path.iterdir()) == []


def test_topics_and_index_may_both_be_given(model: SphericalParagraphModel, tmp_path: Path) -> None:
    found = SphericalTopics(model, 2).fit(TEXTS)
    size = write_page(tmp_path / "page.html", model.index(TEXTS), found, show_texts=False)
    assert size == (tmp_path / "page.html").stat().st_size < write_page(tmp_path / "page.html", TEXTS, found)


def test_the_command_explains_what_does_not_fit(model: SphericalParagraphModel, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    model.save(tmp_path / "model")
    model.index(TEXTS).save(tmp_path / "index")
    for arguments, why in (
        (["index", "--model", "model", "-o", "page.html"], "is an index, which has a model of its own"),
        (["index", "--id-column", "x", "-o", "page.html"], "--id-column needs a corpus"),
        (["index", "--column", "x", "-o", "page.html"], 'the index has no column "x"; its columns: none'),
        (["texts.txt", "-o", "page.pdf"], "is not the name of an .html file; use --out"),
        (["texts.txt", "-o", "texts.txt"], "belongs to the corpus"),
    ):
        told = typed("page", *[tmp_path / each if (tmp_path / each).exists() or "page." in each else each
                               for each in arguments])  # fmt: skip
        assert told.code == 1
        assert why in " ".join(told.err.split())
    told = typed("page", tmp_path / "index", "--topics", 1, "--no-texts", "-o", tmp_path / "page.html", "--json")
    size = (tmp_path / "page.html").stat().st_size
    assert json.loads(told.out) == {"texts": 12, "bytes": size, "page": str(tmp_path / "page.html")}

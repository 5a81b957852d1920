"""Indexes: rankings against brute force, adding and removing, and what is saved."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from parasphere import Encoder, Index, SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.errors import ParasphereError, StoreError
from parasphere.search import Fusion, Ids
from parasphere.storage import read, write

RNG = np.random.default_rng(5)
WORDS = [f"{first}{last}" for first in "bcdfghklmn" for last in ("az", "ez", "iz", "oz", "uz")]
VECTORS = WordVectors.from_arrays(WORDS[:40], RNG.normal(size=(40, 8)) + 0.7)  # the last ten have none
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 30))) for _ in range(300)] + [f"{WORDS[0]} 1984", "", "unseen"]
QUERIES = [f"{WORDS[3]} {WORDS[4]}", f"{WORDS[45]} {WORDS[2]} {WORDS[2]}", "1984", TEXTS[7]]


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(VECTORS, tokenizer=Tokenizer(), tol=1e-4).fit(TEXTS)


@pytest.fixture
def index(model: SphericalParagraphModel) -> Index:
    return model.index(TEXTS)


def bm25(query: str, texts: list[str]) -> np.ndarray:
    """Return the scores of words, by the definition."""
    bags = [Counter(text.split()) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(lengths)
    asked = Counter(query.split())
    frequencies = {word: sum(word in bag for bag in bags) for word in asked}
    idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in frequencies.items() if n}
    norm = math.sqrt(sum(asked[word] * idf[word] ** 2 for word in idf))
    scores = []
    for bag, length in zip(bags, lengths, strict=True):
        flat = 1.5 * (0.25 + 0.75 * length / mean)
        scores.append(sum(asked[w] * idf[w] * 2.5 * bag[w] / (bag[w] + flat) for w in idf) / norm)
    return np.array(scores)


@pytest.mark.filterwarnings("ignore::parasphere.errors.CoverageWarning")  # a query of an unknown word, many times
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, None])
def test_search_equals_brute_force(model: SphericalParagraphModel, index: Index, weight: float | None) -> None:
    queries = QUERIES if weight != 0 else [QUERIES[0], QUERIES[3]]
    for query, found in zip(queries, index.search(queries, 12, weight=weight), strict=True):
        share = index.fusion.weight if weight is None else weight
        similarities = [match.similarity for match in found]
        cosines = model.compare([query] * len(TEXTS), TEXTS)
        scores = (1 - share) * cosines + share * index.fusion.scale * bm25(query, TEXTS)
        best = np.argsort(-scores, kind="stable")[:12]
        np.testing.assert_allclose([match.score for match in found], scores[best], atol=1e-6)
        np.testing.assert_allclose(similarities, cosines[[match.position for match in found]], atol=1e-6)
        assert [match.text for match in found] == [TEXTS[match.position] for match in found]
        assert [match.id for match in found] == [match.position for match in found]
    assert 0 < index.fusion.weight < 1


def test_results_depend_on_neither_other_queries_nor_threads(index: Index) -> None:
    alone = [index.search(query, 20) for query in QUERIES]
    assert index.search(QUERIES, 20) == alone
    assert index.search(QUERIES, 20, n_jobs=4) == alone
    assert index.search(QUERIES, 10_000) == [index.search(query, len(TEXTS)) for query in QUERIES]
    assert len(index.search(QUERIES[0], 10_000)) == len(TEXTS)


def test_equal_documents_are_found_in_order(model: SphericalParagraphModel) -> None:
    index = model.index([WORDS[1], f"{WORDS[0]} {WORDS[2]}"] * 20)
    assert [match.position for match in index.search(f"{WORDS[0]} {WORDS[2]}", 20)] == list(range(1, 40, 2))


def test_words_find_what_has_no_vector(index: Index) -> None:
    assert index.search("1984")[0].text == f"{WORDS[0]} 1984"
    assert index.search("1984")[0].similarity == 0.0
    assert index.search("1984", weight=0) == []


def test_adding_and_removing_leave_no_trace(model: SphericalParagraphModel, index: Index) -> None:
    parts = model.index(TEXTS[:100])
    parts.add(TEXTS[100:200])
    parts.add([])
    parts.add(["of no use", *TEXTS[200:]], ids=[-1, *range(200, len(TEXTS))])
    parts.remove(-1)
    parts.fusion = index.fusion
    assert parts.search(QUERIES, 50) == index.search(QUERIES, 50)
    parts.remove(range(10, len(TEXTS)))
    few = model.index(TEXTS[:10])
    few.fusion = index.fusion
    assert parts.search(QUERIES[0], 50) == few.search(QUERIES[0], 50)
    assert len(parts) == 10
    parts.add(["a new one"])  # numbers are not given twice
    assert parts.ids[10] == len(TEXTS) + 1


def test_a_saved_index_is_the_same(index: Index, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    for _ in range(2):  # the second time without checks
        loaded = Index.load(tmp_path / "index")
        assert loaded.search(QUERIES, 30) == index.search(QUERIES, 30)
        assert not loaded.offsets.flags.writeable
        assert repr(loaded) == "Index of 303 documents in 8 dimensions"
    loaded.remove(3)
    loaded.add(["one more"])
    loaded.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert len(again) == len(TEXTS)
    assert again.search(QUERIES, 30) == loaded.search(QUERIES, 30)
    assert again.ids[-1] == len(TEXTS)


def test_parts_can_be_left_out(model: SphericalParagraphModel, index: Index, tmp_path: Path) -> None:
    small = model.index(TEXTS, dtype=np.float16, texts=False, words=False)
    small.save(tmp_path / "small")
    small = Index.load(tmp_path / "small")
    found, exact = small.search(QUERIES[0], 5), index.search(QUERIES[0], 5, weight=0)
    assert small.offsets.dtype == np.float16
    np.testing.assert_allclose([m.similarity for m in found], [m.similarity for m in exact], atol=2e-3)
    assert found[0].text is None
    assert found[0].score == found[0].similarity
    with pytest.raises(ParasphereError, match="words=False"):
        small.search(QUERIES[0], weight=0.5)
    lists = model.index([text.split() for text in TEXTS], texts=False)
    lists.fusion = index.fusion
    assert [m.score for m in lists.search(QUERIES[0])] == [m.score for m in index.search(QUERIES[0])]


def test_a_later_fit_does_not_change_an_index(index: Index) -> None:
    model = SphericalParagraphModel(VECTORS, tokenizer=Tokenizer(), tol=1e-4).fit(TEXTS)
    index = model.index(TEXTS)
    before = index.search(QUERIES)
    model.fit(TEXTS[:20])
    assert index.search(QUERIES) == before


def test_an_index_may_be_empty(model: SphericalParagraphModel, tmp_path: Path) -> None:
    index = model.index([])
    index.save(tmp_path / "empty")
    index = Index.load(tmp_path / "empty")
    assert index.search([WORDS[0], "unheard"]) == [[], []]
    index.add(TEXTS)
    assert index.fusion == model.index(TEXTS).fusion


def test_ids_come_from_columns_and_are_distinct(model: SphericalParagraphModel, index: Index) -> None:
    table = pa.table({"text": TEXTS[:3], "number": [7, 8, 9]})
    assert model.index(table, ids="number").ids.tolist() == [7, 8, 9]
    for source, ids, sentence in (
        (TEXTS[:2], ["a", "a"], "two documents have the id 'a'"),
        (TEXTS[:2], ["a", None], "the document at position 1 has no id"),
        (TEXTS[:2], ["a"], "1 ids"),
    ):
        with pytest.raises(ParasphereError, match=sentence):
            model.index(source, ids=ids)
    with pytest.raises(ParasphereError, match="two documents have the id '5'"):
        index.add(["again"], ids=[5])
    assert len(index) == len(TEXTS)  # nothing was added
    with pytest.raises(ParasphereError, match="no document of the index has the id 'x'; nothing was removed"):
        index.remove([5, "x"])
    assert len(index) == len(TEXTS)
    numbered = model.index(TEXTS[:3], ids=[7, 8, 9])
    numbered.remove(8)
    numbered.remove([7])
    assert numbered.ids.tolist() == [9]


def test_an_index_that_grows_from_one_text_finds_its_weight(model: SphericalParagraphModel) -> None:
    grown = model.index(TEXTS[:1])
    assert grown.fusion == Fusion()
    grown.add(TEXTS[1:])
    assert grown.fusion == model.index(TEXTS).fusion != Fusion()
    found = grown.fusion
    grown.add(["one more"])  # not twice as many
    assert grown.fusion == found


def test_a_query_that_nothing_is_known_of_finds_nothing_and_disturbs_no_other(index: Index) -> None:
    for weight in (None, 0, 1):
        found = index.search([WORDS[0], "unheard of", "", WORDS[1]], 3, weight=weight)
        alone = [index.search(word, 3, weight=weight) for word in WORDS[:2]]
        assert found == [alone[0], [], [], alone[1]]


def test_words_of_a_match_are_those_of_the_model(model: SphericalParagraphModel, index: Index) -> None:
    text = index.search(QUERIES[0], 1)[0].text
    assert text is not None
    assert index.encoder.explain_match(QUERIES[0], text) == model.explain_match(QUERIES[0], text)


def test_a_query_may_have_half_a_character(index: Index) -> None:
    assert index.search(f"{WORDS[0]} \ud83d {WORDS[1]}") == index.search(f"{WORDS[0]} {WORDS[1]}")


def test_bad_searches_get_a_sentence(model: SphericalParagraphModel, index: Index) -> None:
    for queries, options, sentence in (
        ([], {}, "queries must be a string or a list of strings that is not empty"),
        ([WORDS[0], 3], {}, "the query at position 1"),
        (WORDS[0], {"k": 0}, "k must be a whole number of at least 1, not 0"),
        (WORDS[0], {"k": 2.0}, "k must be a whole number of at least 1, not 2.0"),
        (b"bytes", {}, "the query is bytes"),
        (WORDS[0], {"weight": 2}, "weight must be between 0 .* and 1 .*, not 2"),
    ):
        with pytest.raises((ParasphereError, ValueError, TypeError), match=sentence):
            index.search(queries, **options)
    with pytest.raises(ParasphereError, match="texts=False"):
        model.index([["a", "list"]])
    with pytest.raises(ValueError, match="float32 or float16, not float64"):
        model.index(TEXTS, dtype=np.float64)


def damaged(name: str, change: Any) -> Any:
    def damage(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        arrays[f"contents.{name}"] = change(arrays[f"contents.{name}"])

    return damage


def overweight(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    next(one for one in facts["objects"] if one["kind"] == "Fusion")["fields"]["weight"] = 7.0


@pytest.mark.parametrize(
    "damage",
    [
        damaged("bm25.documents", lambda a: a + 1),
        damaged("bm25.documents", lambda a: np.zeros_like(a)),
        damaged("bm25.starts", lambda a: a[::-1].copy()),
        damaged("bm25.starts", lambda a: a[:-1]),
        damaged("bm25.counts", lambda a: a * 0),
        damaged("bm25.lengths", lambda a: -a - 1),
        damaged("bm25.words.strings.data", lambda a: np.full_like(a, ord("a"))),
        damaged("offsets", lambda a: a * 2),
        damaged("offsets", lambda a: a[:-1]),
        damaged("offsets", lambda a: a.astype(np.float64)),
        damaged("offsets", lambda a: a[:, :-1]),
        damaged("ids.names.offsets", lambda a: a + 10**6),
        damaged("ids.names.data", lambda a: np.full_like(a, 255)),
        damaged("texts.offsets", lambda a: a[:-1]),
        overweight,
    ],
)  # fmt: skip
def test_a_damaged_index_is_refused(index: Index, tmp_path: Path, damage: Any) -> None:
    index.contents = replace(index.contents, ids=Ids.of([f"id {i}" for i in range(len(index))]))
    index.save(tmp_path / "index")
    arrays, info = read(tmp_path / "index")
    damage(arrays, info.facts)
    write(tmp_path / "index", "Index", arrays, info.facts)
    for verify in (True, False):
        with pytest.raises(StoreError):
            Index.load(tmp_path / "index", verify=verify)


def test_an_index_in_the_name_of_something_else_is_refused(index: Index, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    arrays, info = read(tmp_path / "index")
    write(tmp_path / "other", "Encoder", arrays, info.facts)
    with pytest.raises(StoreError, match="holds a Index in place of 'Encoder'"):
        Encoder.load(tmp_path / "other")
    with pytest.raises(StoreError, match="holds 'Encoder', not 'Index'"):
        Index.load(tmp_path / "other")


def test_half_a_character_is_in_no_id(index: Index) -> None:
    with pytest.raises(ParasphereError, match="no document of the index has the id"):
        index.remove(["\ud800"])
    assert index.search("\ud800") == []


def test_the_weight_follows_what_finds_more() -> None:
    """Vectors of topics beat words that hardly repeat, and vectors of noise lose against words."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(150, 16))
    many = [f"w{''.join(chr(97 + int(d)) for d in str(i))}" for i in range(6000)]
    texts = [" ".join(rng.choice(many[40 * t : 40 * t + 40], 12)) for t in [*range(150), *range(150)]]
    good = WordVectors.from_arrays(many, np.repeat(topics, 40, axis=0) + 0.1 * rng.normal(size=(6000, 16)))
    noise = WordVectors.from_arrays(many, rng.normal(size=(6000, 16)))
    weights = [SphericalParagraphModel(v, tol=1e-3).fit(texts).index(texts).fusion.weight for v in (good, noise)]
    assert weights[0] == 0.5 < weights[1]  # words have at least half


def test_the_example_of_the_readme() -> None:
    docstrings = datasets.load("docstrings")
    index = SphericalParagraphModel().fit(docstrings.texts).index(docstrings.texts, docstrings.ids)
    found = {match.id.rpartition(".")[2] for match in index.search("least squares")}
    assert {"lstsq", "lsq_linear", "nnls", "lsqr", "leastsq"} <= found


def test_long_texts_are_cut_in_representations() -> None:
    texts = ["a lake and a river " * 1000, *(f"a lake {i}" for i in range(30))]
    matches = SphericalParagraphModel(tol=0.1).fit(texts).index(texts).search("lake river", k=30)
    assert len(repr(matches)) < 5000
    assert repr(matches).endswith(", ...])")
    assert matches[:2] == list(matches)[:2]
    assert max(len(match.text or "") for match in matches) == len(texts[0])

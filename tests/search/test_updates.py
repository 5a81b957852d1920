"""Updates of an index: the same as an index made anew."""

from pathlib import Path

import pandas as pd
import pytest

from parasphere import Index, SphericalParagraphModel, datasets
from parasphere.errors import ParasphereError
from parasphere.search.index import Update

TEXTS = datasets.load("docstrings").texts[:300]
TABLE = pd.DataFrame({
    "text": TEXTS, "id": [f"d{i}" for i in range(300)], "year": [1990 + i % 30 for i in range(300)]
})  # fmt: skip


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel().fit(TEXTS)


def same_documents(one: Index, other: Index) -> None:
    """Compare searches, which find the same documents though not at the same positions."""
    other.fusion = one.fusion
    for query in ("sort an array", "statistical test of two samples"):
        found, expected = (
            [(match.id, match.text, match.columns, len(match.words), round(match.score, 9)) for match in matches]
            for matches in (one.search(query), other.search(query))
        )
        assert found == expected
    assert len(one) == len(other)


def test_an_update_is_an_index_made_anew(model: SphericalParagraphModel, tmp_path: Path) -> None:
    index = model.index(TABLE[:250], "id", columns=["year"])
    table = TABLE.copy()
    table.loc[10:19, "text"] = [f"{text} of the sea" for text in TEXTS[10:20]]
    table.loc[20:24, "year"] = 2050  # the text stays
    table = table[5:]
    assert index.update(table, "id", prune=True) == Update(added=50, replaced=10, kept=235, removed=5)
    same_documents(index, model.index(table, "id", columns=["year"]))
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert loaded.update(table, "id", prune=True) == Update(0, 0, 295, 0)
    same_documents(loaded, index)
    assert loaded.update(table[:100], "id") == Update(0, 0, 100, 0)
    assert len(loaded) == 295  # the others stay


def test_only_what_changed_is_encoded(model: SphericalParagraphModel, monkeypatch: pytest.MonkeyPatch) -> None:
    index = model.index(TABLE, "id")
    seen: list[str] = []
    from_texts = type(index.bm25).from_texts  # type: ignore[union-attr]

    def counted(texts: list[str], *rest: object) -> object:
        seen.extend(texts)
        return from_texts(texts, *rest)

    monkeypatch.setattr(type(index.bm25), "from_texts", counted)
    changed = TABLE.copy()
    changed.loc[7, "text"] = "another text"
    index.update(changed, "id")
    assert list(map(str, seen)) == ["another text"]


def test_the_weight_is_found_again_when_an_index_has_doubled(model: SphericalParagraphModel) -> None:
    index = model.index(TABLE[:60], "id")
    before = index.fusion
    index.update(TABLE[:63], "id")
    assert index.fusion == before
    index.update(TABLE, "id")
    assert index.fusion == model.index(TABLE, "id").fusion != before


def test_a_failed_update_changes_nothing(model: SphericalParagraphModel) -> None:
    index = model.index(TABLE[:50], "id", columns=["year"])
    before = index.contents
    twice = pd.concat([TABLE[:60], TABLE[55:56]])
    for table, ids, sentence in (
        (twice, "id", "two documents have the id 'd55'"),
        (pd.concat([TABLE[:3], TABLE[:1]]), "id", "two documents have the id 'd0'"),
        (TABLE, None, "an update needs ids"),
    ):
        with pytest.raises(ParasphereError, match=sentence):
            index.update(table, ids)
        assert index.contents is before


def test_whole_numbers_stay_whole_numbers(model: SphericalParagraphModel, tmp_path: Path) -> None:
    index = model.index(TEXTS[:5], [7, 5, 3, 2, 11])
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert {match.id for match in loaded.search(TEXTS[0])} == {7, 5, 3, 2, 11}
    assert loaded.update(["a new text", TEXTS[1]], [13, 5]) == Update(1, 0, 1, 0)
    loaded.remove(13)
    assert loaded.update([TEXTS[1]], ["5"]) == Update(0, 0, 1, 0)  # as CSV has it
    loaded.remove("5")
    assert loaded.ids.tolist() == [7, 3, 2, 11]

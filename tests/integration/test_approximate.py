"""Approximate search, by usearch."""

from pathlib import Path

import numpy as np
import pytest

from parasphere import Index, SphericalParagraphModel, Tokenizer, WordVectors

RNG = np.random.default_rng(5)
WORDS = [f"{first}{last}" for first in "bcdfghklmn" for last in ("az", "ez", "iz", "oz", "uz")]
VECTORS = WordVectors.from_arrays(WORDS[:40], RNG.normal(size=(40, 8)) + 0.7)  # the last ten have none
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 30))) for _ in range(300)] + [f"{WORDS[0]} 1984", "", "unseen"]


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(VECTORS, tokenizer=Tokenizer(), tol=1e-4).fit(TEXTS)


@pytest.fixture
def index(model: SphericalParagraphModel) -> Index:
    return model.index(TEXTS)


def test_approximate_search_finds_nearly_the_same(model: SphericalParagraphModel, tmp_path: Path) -> None:
    pytest.importorskip("usearch")
    texts = [" ".join(RNG.choice(WORDS, 12)) for _ in range(3000)]
    index = model.index(texts)
    for weight in (0.0, None, 1.0):
        exact = index.search(texts[:50], 10, weight=weight)
        found = index.search(texts[:50], 10, weight=weight, exact=False)
        kept = [len(set(one.ids) & set(other.ids)) for one, other in zip(exact, found, strict=True)]
        assert np.mean(kept) >= 9.5
        assert all(len({match.position for match in matches}) == 10 for matches in found)
    index.save(tmp_path / "index")
    assert index.graph is not None
    loaded = Index.load(tmp_path / "index")
    assert loaded.graph is None  # it is made again when it is needed: the bytes of one could not be checked
    assert loaded.search(texts[:50], exact=False)[0] == index.search(texts[:50], exact=False)[0]
    loaded.remove("0")
    assert loaded.graph is None
    assert len(loaded.search(texts[0], 5000, exact=False)) == 2999
    assert model.index([]).search("unheard", exact=False) == []

"""Words without a vector: a direction of their own, the same everywhere, if the vectors give them a weight."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import SphericalParagraphModel, WordVectors
from parasphere.errors import CoverageWarning, VectorsError
from parasphere.model import Reader
from parasphere.text import HASHED, Lookup, Tokenizer

RNG = np.random.default_rng(3)
DIM = 70  # more than the bits of one random number
KNOWN = ["north", "east", "south", "west"]
VECTORS = WordVectors.from_arrays(KNOWN, RNG.normal(size=(4, DIM))).with_weights([1.0, 2.0, 0.5, 1.5], 0.75)
SOME_WORDS = ["zlatoust", "e", "supercalifragilisticexpialidocious", "köln", "привет"]


def bits(state: int) -> list[int]:
    """Random bits of SplitMix64, as its author writes it, in Python's integers."""
    mask, found = (1 << 64) - 1, []
    while len(found) < DIM:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        found += [z >> k & 1 for k in range(64)]
    return found[:DIM]


def folded(a: int, b: int) -> int:
    """The two halves of a product of 128 bits, combined."""
    product = a * b
    return (product ^ (product >> 64)) & ((1 << 64) - 1)


def direction(word: str) -> np.ndarray:
    """The direction of an unknown word, by arithmetic that shares nothing with the compiled loops."""
    spelled = word.encode()
    hashed = len(spelled)
    for k in range(0, len(spelled), 8):
        chunk = int.from_bytes(spelled[k : k + 8], "little")
        hashed = folded(chunk ^ 0x9E3779B97F4A7C15, hashed ^ 0xD1B54A32D192ED03)
    return (2.0 * np.array(bits(hashed & ((1 << 30) - 1))) - 1) / np.sqrt(DIM)


def reader(**options: float) -> Reader:
    return Reader(VECTORS, weights=VECTORS.weights, **({"unknown_weight": 0.75} | options), dtype=np.float64)


@pytest.mark.parametrize("word", SOME_WORDS)
def test_the_direction_of_a_word_follows_from_its_letters(word: str) -> None:
    bags = reader().read([word])
    np.testing.assert_allclose(bags.sums[0], 0.75 * direction(word), rtol=1e-15)
    assert (bags.lengths[0], bags.squared_weights[0], bags.unknown[0]) == (0.75, 0.75**2, 1)


@given(st.lists(st.sampled_from(KNOWN + SOME_WORDS), max_size=12))
def test_a_text_is_the_sum_of_its_parts(words: list[str]) -> None:
    text = " ".join(words)
    parts = list(reader().parts(text))
    assert [unit for unit, _, _ in parts] == words
    expected = sum((weight * row for _, weight, row in parts), np.zeros(DIM))
    bags = reader().read([text])
    np.testing.assert_allclose(bags.sums[0], expected, atol=1e-13)
    np.testing.assert_allclose(bags.lengths[0], sum(weight for _, weight, _ in parts))
    assert bags.unknown[0] == sum(word not in KNOWN for word in words)
    np.testing.assert_array_equal(bags.sums, reader().read([words]).sums)  # token lists are hashed alike


def test_words_do_not_collide_and_are_nearly_orthogonal() -> None:
    words = sorted({"".join(RNG.choice(list("abcdefgh"), size)) for size in RNG.integers(1, 20, 4000)})
    with pytest.warns(CoverageWarning, match="only 0%"):
        rows = reader(unknown_weight=1.0).read(words).sums
    cosines = rows @ rows.T
    np.testing.assert_allclose(np.diag(cosines), 1)
    others = cosines[np.triu_indices(len(words), 1)]
    assert abs(others.mean()) < 1e-3  # as of random signs, whose cosines have the variance 1 / dim
    assert abs(others.std() * np.sqrt(DIM) - 1) < 0.01
    assert abs(others).max() < 0.9


def test_without_a_weight_unknown_words_are_passed_over() -> None:
    for silent in (reader(unknown_weight=0.0), Reader(VECTORS), SphericalParagraphModel(VECTORS, weighted=False)):
        bags = silent.read(["zlatoust north", "north"])
        np.testing.assert_array_equal(bags.sums[0], bags.sums[1])
        assert bags.unknown.tolist() == [1, 0]


def test_ids_of_known_words_and_stop_words_stay() -> None:
    lookup = Lookup(VECTORS.vocabulary, Tokenizer(stop_words=["of"]), hashing=True)
    assert [row for _, row in lookup.units("north of east")] == [0, 1]
    (name, row), (_, again) = lookup.units("Zlatoust of zlatoust")
    assert (name, row) == ("zlatoust", again)
    assert row <= HASHED


TEXTS = [
    " ".join([*RNG.choice(KNOWN, 6, p=RNG.dirichlet(np.ones(4))), f"code{'abcdefghij'[i % 10]}"]) for i in range(400)
]


def test_texts_that_share_an_unknown_word_are_more_alike() -> None:
    model = SphericalParagraphModel(VECTORS, tol=1e-4).fit(TEXTS)
    assert model.compare("north codea", "north codea east") > model.compare("north codeb", "north codea east")
    assert model.compare("codea", "codea") == pytest.approx(1)
    explained = model.explain("north codea")
    assert [word for word, _ in explained.words] == ["north", "codea"]
    assert explained.unknown == ["codea"]
    assert all(part != 0 for _, part in explained.words)


def test_parts_give_what_one_fit_gives() -> None:
    model = SphericalParagraphModel(VECTORS, tol=1e-4)
    parts = [model.partition(TEXTS[:150]), model.partition(TEXTS[150:])]
    while not model.update(model.accumulate(parts[0]) + model.accumulate(parts[1])):
        pass
    whole = SphericalParagraphModel(VECTORS, tol=1e-4).fit(TEXTS)
    np.testing.assert_allclose(model.encoder_.scatter.within, whole.encoder_.scatter.within, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.transform(TEXTS), whole.transform(TEXTS), atol=1e-6)


def test_the_scatter_takes_unknown_words_to_lie_in_all_directions() -> None:
    bags = reader().read_to_fit(TEXTS)
    assert bags.scatter is not None
    words = [(weight, row) for text in TEXTS for _, weight, row in reader().parts(text)]
    exact = sum(weight * np.outer(row, row) for weight, row in words)
    exact = exact - (bags.sums / bags.lengths[:, None]).T @ bags.sums
    assert np.trace(bags.scatter.within) == pytest.approx(np.trace(exact))
    assert np.linalg.norm(bags.scatter.within - exact) < 0.5 * np.linalg.norm(exact)


def test_saved_vectors_and_models_keep_the_weight(tmp_path: Path) -> None:
    VECTORS.save(tmp_path / "vectors")
    loaded = WordVectors.load(tmp_path / "vectors")
    assert (loaded.unknown_weight, loaded.fingerprint) == (0.75, VECTORS.fingerprint)
    assert VECTORS.with_weights(VECTORS.weights).fingerprint != VECTORS.fingerprint
    model = SphericalParagraphModel(VECTORS, tol=1e-4).fit(TEXTS)
    model.save(tmp_path / "model")
    again = SphericalParagraphModel.load(tmp_path / "model")
    assert np.array_equal(again.transform(["codez north"]), model.transform(["codez north"]))
    assert again.vectors_.subset(["north"]).unknown_weight == 0.75


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan, "1", None])
def test_a_wrong_weight_is_named(weight: object) -> None:
    with pytest.raises(VectorsError, match=r"weight of unknown words must be finite and not negative, not "):
        VECTORS.with_weights(None, weight)
    with pytest.raises(VectorsError, match="weight of unknown words"):
        Reader(VECTORS, unknown_weight=weight)  # type: ignore[arg-type]


def test_a_query_of_words_that_nobody_knows_finds_nothing() -> None:
    index = SphericalParagraphModel(VECTORS, tol=1e-4).fit(TEXTS).index(TEXTS)
    assert "codea" in TEXTS[index.search("codea", 1)[0].position]
    assert index.search("codez", 1) == index.search("", 1) == []
    assert index.search(["codez", ""], 1) == [[], []]

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parasphere import CorpusError, ParasphereError, SphericalParagraphModel, Tokenizer, VectorsError, WordVectors
from parasphere.baselines.sentences import split_sentences
from parasphere.sphere import vmf

WORDS = ["north", "east", "up", "west"]
TEXTS = ["north north east", "east up", "west west up", "north", "", "up up up north"]


@pytest.fixture
def model(rng: np.random.Generator) -> SphericalParagraphModel:
    vectors = WordVectors.from_arrays(WORDS, rng.normal(size=(4, 6)) + 1.0)
    return SphericalParagraphModel(vectors, tokenizer=Tokenizer(stop_words=["by"]), tol=1e-3).fit(TEXTS)


def test_shares_add_up_to_the_whole_pull(model: SphericalParagraphModel) -> None:
    told = model.explain("North by north-west, nowhere up")
    assert [word for word, _ in told.words] == ["north", "north", "west", "up"]
    assert told.unknown == ["nowhere"]
    assert sum(share for _, share in told.words) + told.prior == pytest.approx(1.0, abs=1e-6)
    posterior = model.posterior(["North by north-west, nowhere up"])
    word = model.vectors_["north"]
    expected = posterior.word_concentration[0] * (word @ posterior.direction[0]) / posterior.concentration[0]
    assert told.words[0][1] == pytest.approx(expected, rel=1e-5)


def test_a_text_without_words_is_all_prior(model: SphericalParagraphModel) -> None:
    told = model.explain("...")
    assert (told.words, told.unknown) == ([], [])
    assert told.prior == pytest.approx(1.0, abs=1e-6)


def test_compare_is_the_expected_cosine(model: SphericalParagraphModel) -> None:
    means = model.posterior(["north", "east"]).mean
    assert model.compare("north", "east") == pytest.approx(float(means[0] @ means[1]))
    # The same direction, known ever better: alike, but never more than the doubt allows.
    assert model.compare("up", "up") < model.compare("up " * 50, "up " * 50) < 1.0
    assert model.compare("", "") < 1.0


def test_compare_by_monte_carlo(model: SphericalParagraphModel, rng: np.random.Generator) -> None:
    found = model.posterior(["north", "west west"])
    direction = found.direction.astype(np.float64)
    a, b = (
        vmf.sample(direction[i] / np.linalg.norm(direction[i]), found.concentration[i], 40_000, rng) for i in (0, 1)
    )
    cosines = (a * b).sum(axis=1)
    assert model.compare("north", "west west") == pytest.approx(cosines.mean(), abs=4 * cosines.std() / 200)


@pytest.mark.parametrize("wrong", [["north", "east"], ("north",), np.array(["north"]), [["north"]], None, b"north", 3])
def test_one_text_is_one_str(model: SphericalParagraphModel, wrong: Any) -> None:
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("the query is", lambda: model.similar(wrong, TEXTS)),
        ("the first text is", lambda: model.compare(wrong, "north")),
        ("the second text is", lambda: model.compare("north", wrong)),
        ("the text to explain is", lambda: model.explain(wrong)),
        ("what a Tokenizer splits is", lambda: Tokenizer()(wrong)),
        ("what is split into sentences is", lambda: split_sentences(wrong)),
        ("the word is", lambda: model.vectors_[wrong]),
        ("the word is", lambda: model.vectors_.vocabulary.get(wrong)),
    ]
    for name, attempt in attempts:
        with pytest.raises(CorpusError, match=rf"^{name} (of type|None|bytes).*; it must be one (text|word) \(str\)"):
            attempt()
    with pytest.raises(VectorsError, match=r"a query must be one word \(str\) or 6 finite numbers"):
        model.vectors_.nearest(wrong)
    assert wrong not in model.vectors_.vocabulary


def test_similar_equals_brute_force(model: SphericalParagraphModel) -> None:
    posterior = model.posterior(TEXTS)
    # Evidence of both texts as one document with the word concentrations they have, less that of each.
    prior, query = model.prior_, model.posterior(["north up"])
    scores = np.empty(len(TEXTS))
    eta0 = prior.concentration * prior.mean_direction
    phi = lambda eta: float(vmf.log_partition(float(np.linalg.norm(eta)), 6))  # noqa: E731
    own = query.concentration[0] * query.direction[0]
    for i in range(len(TEXTS)):
        eta = posterior.concentration[i] * posterior.direction[i]
        scores[i] = phi(own + eta - eta0) + phi(eta0) - phi(own) - phi(eta)
    expected = np.argsort(-scores, kind="stable")[:4].tolist()
    for among in (TEXTS, posterior, iter(TEXTS)):
        found = model.similar("north up", among, 4)
        assert [match.position for match in found] == expected
        assert [match.score for match in found] == pytest.approx(scores[expected].tolist(), abs=1e-4)
        cosines = posterior.mean @ query.mean[0]
        assert [match.cosine for match in found] == pytest.approx(cosines[expected].tolist(), rel=1e-5)
    assert model.similar("north up", TEXTS, 4)[0].text == TEXTS[expected[0]]
    assert len(model.similar("north", TEXTS, 99)) == len(TEXTS)
    small = model.similar("north up", TEXTS, 4, block_bytes=8)
    assert [match.position for match in small] == expected
    with pytest.raises(ValueError, match="k must be at least 1"):
        model.similar("north", TEXTS, 0)
    with pytest.raises(ParasphereError, match="no word of the query"):
        model.similar("unheard of", TEXTS)


def test_an_unrelated_text_is_no_match(model: SphericalParagraphModel) -> None:
    # A text without words says nothing for or against: its score is 0.
    scores = {match.text: match.score for match in model.similar("north north", TEXTS, 99)}
    assert scores[""] == pytest.approx(0.0, abs=1e-4)  # float32 directions
    assert scores["north"] > 0

"""Certainty: the curves and areas by oracles, and what information and typicality must be."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from pages import spaced
from test_protocol import planted, vectors

from parasphere import Bags, SphericalParagraphModel, WordVectors, vmf
from parasphere.errors import ParasphereError
from parasphere.places import GLOVE
from reproduction import datasets
from reproduction.experiments.certainty import (
    MEASURES,
    SIZES,
    Ranking,
    area,
    areas,
    expected_information,
    growth,
    rank,
    risk_coverage,
    typicality,
)
from reproduction.experiments.certainty_report import investigate, write
from reproduction.experiments.encoders import WORDS
from reproduction.experiments.protocol import Options, evaluate, folds

# -- risk and coverage --------------------------------------------------------------------------------------------


def test_texts_of_equal_certainty_are_in_random_order() -> None:
    certainty, wrong = np.array([2.0, 1, 1, 1, 0, 0]), np.array([0, 1, 0, 1, 1, 0], bool)
    orders = [
        order for order in itertools.permutations(range(6)) if (np.diff(certainty[list(order)]) <= 0).all()
    ]  # 1! 3! 2!
    assert len(orders) == 12
    risks = [np.cumsum(wrong[list(order)]) / np.arange(1, 7) for order in orders]
    np.testing.assert_allclose(risk_coverage(certainty, wrong), np.mean(risks, axis=0), rtol=1e-12)
    assert area(certainty, wrong) == pytest.approx(np.mean(risks))


def test_knowing_nothing_is_the_error_and_knowing_all_is_best(rng: np.random.Generator) -> None:
    wrong = rng.random(200) < 0.3
    np.testing.assert_allclose(risk_coverage(np.zeros(200), wrong), wrong.mean())
    right, other = area(~wrong, wrong), area(rng.random(200), wrong)
    assert right < other < area(wrong, wrong)


def test_areas_have_intervals_and_paired_differences(rng: np.random.Generator) -> None:
    hidden = rng.normal(size=600)
    wrong = hidden + rng.normal(size=600) < -0.5
    ranking = Ranking(wrong, {"words": rng.normal(size=600), "margin": hidden, "typicality": rng.normal(size=600)})
    found = areas(ranking, draws=200, seed=1)
    assert found["words"].difference == (0.0, 0.0)
    assert found["margin"].difference[1] < 0  # it knows something, the reference does not
    low, high = found["typicality"].difference
    assert low < 0 < high
    for name, one in found.items():
        assert one.value == area(ranking.certainty[name], wrong)
        assert one.low < one.value < one.high
    assert found == areas(ranking, draws=200, seed=1)


def test_certainties_that_cannot_be_ranked() -> None:
    with pytest.raises(ParasphereError, match=r"not of shapes \(3,\) and \(2,\)"):
        risk_coverage([1, 2, 3], [True, False])
    with pytest.raises(ParasphereError, match="the certainty of text 1 "):
        area([1, np.nan], [True, False])
    with pytest.raises(ParasphereError, match="'liblinear', not 'libsvm-rbf'"):
        rank(planted(split=True), vectors(), Options(classifier="libsvm-rbf"))


# -- measures -----------------------------------------------------------------------------------------------------


def test_errors_are_those_of_the_protocol() -> None:
    corpus = planted(90, split=True)
    [fold] = folds(corpus)
    outcome = evaluate(
        lambda: SphericalParagraphModel(vectors(), adapt=False, tokenizer=WORDS), corpus, fold, Options()
    )
    ranking = rank(corpus, vectors())
    np.testing.assert_array_equal(ranking.wrong, outcome.predicted != corpus.labels[fold.test])
    assert set(ranking.certainty) == set(MEASURES)
    words = [sum(word != "we" for word in corpus.texts[i].split()) for i in fold.test]  # a stop word
    np.testing.assert_array_equal(ranking.certainty["words"], words)
    assert area(ranking.certainty["margin"], ranking.wrong) < ranking.wrong.mean()


def test_cut_texts_say_less() -> None:
    whole, cut = (rank(planted(), vectors(), cut=cut) for cut in (False, True))
    assert len(cut.wrong) == 60
    assert set(cut.certainty["words"]) <= set(range(1, 10))
    assert len(set(cut.certainty["words"])) > 4
    assert cut.certainty["information"].mean() < whole.certainty["information"].mean()
    assert cut.wrong.mean() > whole.wrong.mean()


def test_typicality_is_a_mean_of_kernels(rng: np.random.Generator) -> None:
    offsets, corpus, lengths = rng.normal(size=(1100, 4)), rng.normal(size=(30, 4)), rng.integers(1, 40, 1100)
    offsets[3], lengths[3] = 0.0, 0
    found = typicality(offsets, lengths, corpus)
    for i in (0, 3, 1050, 1099):  # in two blocks
        cosines = [
            np.dot(offsets[i], y) / (np.linalg.norm(offsets[i]) * np.linalg.norm(y)) if i != 3 else 0.0 for y in corpus
        ]
        kernels = [np.exp(10 * lengths[i] / (lengths[i] + 3) * cosine) for cosine in cosines]
        assert found[i] == pytest.approx(np.log(np.mean(kernels)), abs=1e-12)
    assert found[3] == 0.0
    near = typicality(corpus[:1].repeat(3, axis=0), [1, 10, 100], corpus[:1])
    assert (np.diff(near) > 0).all()  # more words, more certain


# -- information --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(GLOVE, adapt=False, tol=1e-4).fit(datasets.load("docstrings").texts)


def test_information_starts_at_0_and_grows_with_words_that_agree(model: SphericalParagraphModel) -> None:
    texts = datasets.load("docstrings").texts[:200]
    once, twice = (model.posterior([" ".join([text] * times) for text in texts]).information for times in (1, 2))
    assert (once > 0).all()
    assert (twice > once).all()
    # a word in the direction of what a text adds to the corpus
    common = model.posterior([""]).mean[0]
    for text in texts[:10]:
        added = model.posterior([text]).mean[0] - common
        [(word, _)] = model.vectors_.nearest(added, 1)
        longer = model.posterior([f"{text} {' '.join([word] * n)}" for n in range(5)]).information
        assert (np.diff(longer) > 0).all()
    assert model.posterior(["", "0 1", "qqqqq"]).information.tolist() == [0.0, 0.0, 0.0]


def drawn_bags(model: SphericalParagraphModel, n_docs: int, length: int) -> Bags:
    """Return documents that are drawn from a model: the direction of each, then its words."""
    prior, rng = model.encoder_.prior, np.random.default_rng(0)
    kappa = float(vmf.concentration(prior.cosine, len(prior.mean_direction)))
    directions = vmf.sample(prior.mean_direction, prior.concentration, n_docs, rng)
    sums = np.array([vmf.sample(direction, kappa, length, rng).sum(axis=0) for direction in directions])
    lengths = np.full(n_docs, float(length))
    return Bags(sums, lengths, (sums**2).sum(axis=1), np.zeros(n_docs, np.int64))


def test_information_is_as_expected_of_texts_drawn_from_the_model(model: SphericalParagraphModel) -> None:
    for n in (1, 8, 64):
        drawn = model.posterior(drawn_bags(model, 1000, n)).information
        assert drawn.mean() == pytest.approx(expected_information(model.encoder_.prior, n, 50), rel=0.05)
    assert expected_information(model.encoder_.prior, [0], 50).tolist() == [0.0]


def test_growth_of_texts_that_are_long_enough() -> None:
    found = growth(planted(120, split=True), vectors())
    assert found.words == list(SIZES)
    assert [value is None for value in found.texts] == [size > 9 for size in SIZES]  # texts of 9 words
    assert (np.diff(found.expected) > 0).all()
    assert (np.diff(found.drawn[:4]) > 0).all()


# -- the study ----------------------------------------------------------------------------------------------------


def test_the_study_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    corpus, usual = planted(120, split=True), vectors()
    same = WordVectors.from_arrays(usual.words, np.eye(6)[[0] * len(usual.words)] + 1e-3 * usual.matrix, name="same")
    study = investigate(usual, [corpus], command="the command")
    write(study, tmp_path)
    saved = json.loads((tmp_path / "certainty.json").read_text())
    assert saved["corpora"]["planted"]["whole"]["n"] == 40
    page = spaced(tmp_path / "certainty.md")
    areas_ = study["corpora"]["planted"]["whole"]["areas"]
    margin = next(line for line in page.splitlines() if line.startswith("| margin of the classifier |"))
    assert f" {100 * areas_['margin']['value']:.1f}" in margin
    assert "| planted | " in page
    assert "`the command`" in page
    for name in ("certainty.png", "information.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    worse = investigate(same, [corpus])["corpora"]["planted"]["whole"]["areas"]["chance"]["value"]
    assert worse > areas_["margin"]["value"]

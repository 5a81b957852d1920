"""The words of the topic baselines, on texts with planted topics."""

from typing import Any

import numpy as np
import pytest

from reproduction import baselines

OWN = [["sea", "wave", "ship", "harbour"], ["tree", "leaf", "root", "branch"], ["star", "moon", "comet", "orbit"]]


def texts() -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join([*rng.choice(OWN[i % 3], 8), "common"]) for i in range(150)]


@pytest.mark.parametrize(
    "topics",
    [
        baselines.TopicsLDA(3, passes=10),
        baselines.NonnegativeFactors(3),
        baselines.ProbabilisticLatentSemanticIndex(3),
        baselines.MovMFTopics(3),
        baselines.SphericalAdmixtureTopics(3),
    ],
    ids=lambda topics: type(topics).__name__,
)
def test_words_are_those_of_the_planted_topics(topics: Any) -> None:
    found = topics.fit(texts()).topic_words(5)
    assert sorted(sorted(set(words) - {"common"})[:4] for words in found) == sorted(map(sorted, OWN))
    assert [words[:2] for words in found] == topics.topic_words(2)
    with pytest.raises(ValueError, match="k must be at least 1"):
        topics.topic_words(0)

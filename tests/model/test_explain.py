from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import CorpusError, VectorsError

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


@pytest.mark.parametrize("wrong", [["north", "east"], ("north",), np.array(["north"]), [["north"]], None, b"north", 3])
def test_one_text_is_one_str(model: SphericalParagraphModel, wrong: Any) -> None:
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("the first text is", lambda: model.explain_match(wrong, "north")),
        ("the second text is", lambda: model.explain_match("north", wrong)),
        ("the text to explain is", lambda: model.explain(wrong)),
        ("the text to split is", lambda: Tokenizer()(wrong)),
        ("the word is", lambda: model.vectors_[wrong]),
        ("the word is", lambda: model.vectors_.vocabulary.get(wrong)),
    ]
    for name, attempt in attempts:
        with pytest.raises(CorpusError, match=rf"^{name} (of type|None|bytes).*; it must be one (text|word) \(str\)"):
            attempt()
    with pytest.raises(VectorsError, match=r"a query must be one word \(str\) or 6 finite numbers"):
        model.vectors_.nearest(wrong)
    assert wrong not in model.vectors_.vocabulary

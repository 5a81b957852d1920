"""Word vectors learned by gensim's word2vec."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from parasphere import SphericalParagraphModel, Tokenizer
from parasphere.errors import VectorsError
from parasphere.vectors import is_learner
from reproduction.baselines.word2vec import Word2Vec

CORPUS = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"] * 30


def small(**changed: Any) -> Word2Vec:
    return Word2Vec(**{"dim": 8, "min_count": 2, "epochs": 2, **changed})


def test_it_is_a_learner() -> None:
    assert is_learner(small())


def test_learning_is_deterministic(tmp_path: Path) -> None:
    first = small().fit(CORPUS).vectors_
    assert set(first.words) == {"the", "cat", "sat", "on", "mat", "dog", "log", "a", "and"}
    assert first.matrix.shape == (9, 8)
    assert first.weights is None
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(CORPUS) + "\n")
    for same in (CORPUS, path, (text for text in CORPUS), [text.split() for text in CORPUS]):
        assert small().fit(same).vectors_.fingerprint == first.fingerprint
    assert small(random_state=1).fit(CORPUS).vectors_.fingerprint != first.fingerprint
    state = np.random.RandomState(0)
    one, two = (small(random_state=state).fit(CORPUS).vectors_.fingerprint for _ in range(2))
    assert one != two
    assert small(random_state=np.random.RandomState(0)).fit(CORPUS).vectors_.fingerprint == one
    assert "the" not in small(tokenizer=Tokenizer(stop_words=["the"])).fit(CORPUS).vectors_


def test_all_of_a_long_document_is_read() -> None:
    assert "end" in Word2Vec(2, epochs=1).fit(["word " * 20_000 + "end " * 5]).vectors_


def test_it_is_part_of_a_model_and_saved(tmp_path: Path) -> None:
    model = SphericalParagraphModel(small(), tokenizer=Tokenizer(stop_words=["the", "a"]), tol=1e-2).fit(CORPUS)
    assert model.vectors_ is not None
    assert "the" not in model.vectors_  # the tokenizer of the model is the learner's too
    model.save(tmp_path / "model")
    loaded = SphericalParagraphModel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(CORPUS[:3]), model.transform(CORPUS[:3]))
    assert loaded.vectors.get_params() == small().get_params()
    learner = small().fit(CORPUS)
    learner.save(tmp_path / "learner")
    assert Word2Vec.load(tmp_path / "learner").vectors_.fingerprint == learner.vectors_.fingerprint
    assert clone(model).set_params(vectors__dim=4).fit(CORPUS).transform(CORPUS[:1]).shape == (1, 4)


def test_faults_are_told() -> None:
    with pytest.raises(VectorsError, match="no word occurs 5 times"):
        Word2Vec().fit(["too little"])
    for name, value in {"dim": 1, "epochs": 0, "sample": -1, "skip_gram": "yes", "n_jobs": 0, "rate": 0}.items():
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Word2Vec"):
            small(**{name: value}).fit(CORPUS)

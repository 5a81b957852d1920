"""What holds for every baseline: kinds of input, degenerate texts, save and load, pipelines, parameters."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from parasphere import CorpusError, JointVectors, ParasphereWarning, StoreError, Tokenizer, WordVectors
from parasphere.corpus import reread
from parasphere.model import Reader
from reproduction.baselines import (
    BagOfWords,
    FastSent,
    FisherVector,
    LatentSemanticIndex,
    MeanOfVectors,
    MiniLM,
    MovMFTopics,
    NonnegativeFactors,
    ParagraphVectors,
    Pretrained,
    ProbabilisticLatentSemanticIndex,
    SkipThought,
    SmoothInverseFrequency,
    SphericalAdmixtureTopics,
    TfIdf,
    TopicsLDA,
    UnsupervisedSIF,
    WeightedMean,
)

WATER = ["sea", "ship", "sail", "wave", "harbour"]
LAND = ["field", "plough", "barn", "horse", "meadow"]
WORDS = [*WATER, *LAND, "wind", "sun", "of", "rain"]


def corpus(n: int = 60, seed: int = 5) -> tuple[list[str], list[int]]:
    """Texts about water or land, with words of the weather in both."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 2).tolist()
    return [" ".join(rng.choice([*(LAND if label else WATER), "wind", "sun"], 12)) for label in labels], labels


def word_vectors() -> WordVectors:
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(4, 4)), [5, 5, 2, 2], axis=0)
    return WordVectors.from_arrays(WORDS, centres + rng.normal(size=(14, 4)))


TEXTS, LABELS = corpus()
ODD = ["", "unheard of", *TEXTS[:5], "sea field Sea; wind"]
VECTORS = word_vectors()
ENCODERS: dict[str, Callable[[], Any]] = {
    "bow": lambda: BagOfWords(),
    "tfidf": lambda: TfIdf(),
    "hashed": lambda: TfIdf((1, 2), n_features=64),
    "lsi": lambda: LatentSemanticIndex(3),
    "nmf": lambda: NonnegativeFactors(3),
    "plsi": lambda: ProbabilisticLatentSemanticIndex(3),
    "lda": lambda: TopicsLDA(3),
    "movmf": lambda: MovMFTopics(3, max_kappa=30.0),
    "sam": lambda: SphericalAdmixtureTopics(3),
    "cbow": lambda: MeanOfVectors(VECTORS),
    "wavg": lambda: WeightedMean(VECTORS),
    "sif": lambda: SmoothInverseFrequency(VECTORS),
    "usif": lambda: UnsupervisedSIF(VECTORS, n_removed=2),
    "fisher": lambda: FisherVector(VECTORS, 2),
    "pv": lambda: ParagraphVectors(dim=4),
    "fastsent": lambda: FastSent(4, autoencode=True, min_count=1, sample=0, epochs=20, random_state=0),
}
every = pytest.mark.parametrize("name", ENCODERS)
on_vectors = pytest.mark.parametrize("name", ["cbow", "wavg", "sif", "usif", "fisher", "pv"])


@cache
def fitted(name: str) -> Any:
    return ENCODERS[name]().fit(TEXTS)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


@every
def test_all_that_a_corpus_can_be(name: str, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS))
    expected = dense(fitted(name).transform(TEXTS))
    for source in (iter(TEXTS), np.array(TEXTS)[:, None], pa.array(TEXTS), file):
        np.testing.assert_array_equal(dense(fitted(name).transform(source)), expected)
    for source in (iter(TEXTS), file):  # read once, or twice
        np.testing.assert_array_equal(dense(ENCODERS[name]().fit_transform(source, LABELS)), expected)


@every
def test_a_vector_does_not_depend_on_the_other_texts(name: str) -> None:
    together = dense(fitted(name).transform(ODD))
    alone = np.concatenate([dense(fitted(name).transform([text])) for text in ODD])
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)
    assert np.isfinite(together).all()
    assert fitted(name).transform([]).shape == (0, together.shape[1])
    assert len(fitted(name).get_feature_names_out()) == together.shape[1]


@every
def test_a_text_without_known_words(name: str) -> None:
    encoder = fitted(name)
    empty, unknown = dense(encoder.transform(["", "12 xyz"]))
    expected: Any = 0
    if name == "plsi":
        expected = encoder.topic_shares_
    elif name == "lda":
        expected = 1 / 3
    elif name == "movmf":
        expected = encoder.model_.weights_
    elif name == "sam":
        expected = encoder.model_.alpha_ / encoder.model_.alpha_.sum()
    if name != "hashed":  # where "xyz" has a column too
        np.testing.assert_array_equal(empty, unknown)
    np.testing.assert_allclose(empty, np.broadcast_to(expected, empty.shape), rtol=1e-3, atol=1e-12)


@every
def test_what_is_saved_comes_back(name: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path)
    loaded = type(fitted(name)).load(tmp_path)
    np.testing.assert_array_equal(dense(loaded.transform(ODD)), dense(fitted(name).transform(ODD)))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]


@every
def test_they_serve_in_pipelines(name: str) -> None:
    scale = StandardScaler(with_mean=name not in ("bow", "tfidf", "hashed"))
    pipeline = clone(make_pipeline(ENCODERS[name](), scale, LinearSVC(random_state=0)))
    texts, labels = corpus(40, seed=6)  # unseen
    assert pipeline.fit(TEXTS, LABELS).score(texts, labels) > 0.8


class Learner(BaseEstimator):  # type: ignore[misc]
    """A learner of word vectors that needs no training: one axis for each of the first words that it meets."""

    def __init__(self, dim: int = 6, tokenizer: Any = None) -> None:
        self.dim = dim
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        self.tokenizer_ = self.tokenizer or Tokenizer(min_length=4)
        texts = [text for block in X for text in block.texts]
        words = list(dict.fromkeys(word for text in texts for word in self.tokenizer_(text)))[: self.dim]
        self.vectors_ = WordVectors.from_arrays(words, np.eye(self.dim)[: len(words)])
        return self


@on_vectors
@pytest.mark.filterwarnings("ignore::parasphere.CoverageWarning")  # the learner takes few words
def test_vectors_may_be_learned_inside_fit(name: str) -> None:
    encoder = ENCODERS[name]().set_params(vectors=Learner(5)).fit(iter(TEXTS))
    assert encoder.tokenizer_ == Tokenizer(min_length=4)  # the learner's
    learned = clone(encoder.vectors).fit(reread(TEXTS)).vectors_
    given = ENCODERS[name]().set_params(vectors=learned, tokenizer=Tokenizer(min_length=4)).fit(TEXTS)
    np.testing.assert_array_equal(encoder.transform(ODD), given.transform(ODD))
    other = clone(encoder).set_params(vectors__dim=7, tokenizer=Tokenizer()).fit(TEXTS)
    assert other.transform(ODD).shape != given.transform(ODD).shape
    assert other.tokenizer_ == Tokenizer()
    assert not hasattr(encoder.vectors, "vectors_")  # a clone was fitted


def test_jointly_learned_vectors_are_saved_with_the_encoder(tmp_path: Path) -> None:
    mean = MeanOfVectors(JointVectors(4, start=None, epochs=1, min_count=1)).fit(TEXTS)
    mean.save(tmp_path)
    loaded = MeanOfVectors.load(tmp_path)
    np.testing.assert_array_equal(loaded.transform(ODD), mean.transform(ODD))
    assert loaded.vectors.get_params()["epochs"] == 1
    with pytest.raises(ValueError, match="fit needs texts"):
        MeanOfVectors(JointVectors()).fit()


def test_a_tokenizer_of_python_code_is_named_again(tmp_path: Path) -> None:
    bow = BagOfWords(tokenizer=str.split).fit(TEXTS)
    with pytest.warns(ParasphereWarning, match="is not saved"):
        bow.save(tmp_path)
    with pytest.raises(StoreError, match=r"pass it again to load"):
        BagOfWords.load(tmp_path)
    loaded = BagOfWords.load(tmp_path, tokenizer=str.split)
    np.testing.assert_array_equal(loaded.transform(ODD).toarray(), bow.transform(ODD).toarray())


def test_what_was_fitted_stays_fitted_after_a_load(tmp_path: Path) -> None:
    fisher = FisherVector(VECTORS, 2, power=1.0).fit(TEXTS).set_params(power=0.5, tokenizer=Tokenizer(min_length=5))
    expected = fisher.transform(ODD)
    np.testing.assert_array_equal(expected, FisherVector(VECTORS, 2, power=1.0).fit(TEXTS).transform(ODD))
    fisher.save(tmp_path)
    np.testing.assert_array_equal(FisherVector.load(tmp_path).transform(ODD), expected)


def test_counts_are_those_of_scikit_learn() -> None:
    texts = ["The cat sat; the cat ran", "dogs ran, dogs ran", "a cat and a dog", "", "ÄPFEL"]
    theirs = CountVectorizer(token_pattern=r"[^\W\d_]+").fit(texts)
    ours = BagOfWords(tokenizer=Tokenizer()).fit(texts)
    assert sorted(ours.get_feature_names_out()) == sorted(theirs.get_feature_names_out())
    order = [theirs.vocabulary_[word] for word in ours.get_feature_names_out()]
    expected = normalize(theirs.transform(texts).astype(float))[:, order]
    np.testing.assert_allclose(ours.transform(texts).toarray(), expected.toarray(), rtol=1e-15)
    few = BagOfWords(2, Tokenizer.paper()).fit(texts)
    assert few.get_feature_names_out().tolist() == ["cat", "ran"]  # 3 each; "sat" and "dogs" are rarer
    np.testing.assert_allclose(few.transform(["sat", "cat cat ran"]).toarray(), [[0, 0], [2 / 5**0.5, 1 / 5**0.5]])


def test_the_mean_of_unit_vectors() -> None:
    vectors = WordVectors.from_arrays(["cat", "dogs", "ran"], [[3, 0, 0], [0, 2, 0], [0, 1, 1]])
    mean = MeanOfVectors(vectors).fit()
    texts, half = ["The cat; the cat ran", "dogs ran", ""], 0.5**0.5
    expected = [[2 / 3, half / 3, half / 3], [0, (1 + half) / 2, half / 2], [0, 0, 0]]
    np.testing.assert_allclose(mean.transform(texts), expected, atol=1e-7)
    np.testing.assert_array_equal(mean.transform(Reader(vectors).read(texts)), mean.transform(texts))
    assert mean.get_feature_names_out().tolist() == ["meanofvectors0", "meanofvectors1", "meanofvectors2"]


FAULTS: list[tuple[type, dict[str, Any]]] = [
    (BagOfWords, {"max_words": 0, "tokenizer": "words"}),
    (TfIdf, {"ngram_range": 2, "sublinear_tf": "no", "max_words": 0, "n_features": 2.5}),
    (LatentSemanticIndex, {"n_topics": 0, "random_state": "seed"}),
    (NonnegativeFactors, {"n_topics": 0, "max_iter": 0, "tol": -1}),
    (ProbabilisticLatentSemanticIndex, {"n_topics": 1.5, "max_iter": 0, "tol": float("nan"), "verbose": "yes"}),
    (TopicsLDA, {"n_topics": 0, "passes": 0, "alpha": 0, "eta": 0, "chunk_size": 0, "max_iter": 0, "tol": -1}),
    (MovMFTopics, {"n_topics": 0, "weighting": "bm25", "kappa": "tied", "max_kappa": 0, "n_init": 0, "tol": -1}),
    (SphericalAdmixtureTopics, {"n_topics": 0, "weighting": "bm25", "max_iter": 0, "tol": -1}),
    (MeanOfVectors, {"vectors": 5, "tokenizer": 5}),
    (WeightedMean, {"vectors": None}),
    (SmoothInverseFrequency, {"a": 0, "n_removed": -1}),
    (UnsupervisedSIF, {"n_removed": 1.5}),
    (FisherVector, {"n_components": 0, "power": 0, "unit": 1.5, "max_tokens": 0}),
    (
        ParagraphVectors,
        {"mode": "dmc", "alpha": 0, "infer_alpha": 2.0}
        | dict.fromkeys(("dim", "epochs", "infer_epochs", "negative", "window", "min_count"), 0),
    ),
    (
        FastSent,
        {"sample": -1, "learning_rate": 0, "normalise": "no", "autoencode": None, "split_sentences": "no"}
        | dict.fromkeys(("dim", "min_count", "negative", "epochs"), 0),
    ),
    (
        SkipThought,
        {"minutes": 0, "learning_rate": 0, "clip": 0, "precision": "int8", "device": 3, "checkpoint_minutes": -1}
        | dict.fromkeys(("dim", "word_dim", "n_words", "max_length", "epochs", "batch_size"), 0),
    ),
    (MiniLM, {"max_length": 2, "batch_size": 0, "device": None}),
    (Pretrained, {"fingerprint": 5, "device": 3, "folder": 5}),
]


@pytest.mark.parametrize(("kind", "faults"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_faulty_parameters_are_named(kind: Any, faults: dict[str, Any]) -> None:
    for name, value in faults.items():
        given = {"folder": "nowhere"} if kind is Pretrained else {}
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {kind.__name__} must be .* Got {value!r}"):
            kind(**given | {name: value}).fit(TEXTS)


def test_texts_that_cannot_be_fitted_to() -> None:
    faulty: list[tuple[Any, list[str], str]] = [
        (BagOfWords(), ["", "12"], "has a word"),
        (LatentSemanticIndex(12), TEXTS, "12 topics need more texts and more words than that; there are 60 and 12"),
        (NonnegativeFactors(3), ["a b c d", "b"], "3 topics need more texts and more words"),
        (MovMFTopics(1), ["cat cat", "cat"], "at least two words"),
        (UnsupervisedSIF(VECTORS, 5), TEXTS, "n_removed=5 is more than the 4 dimensions"),
        (UnsupervisedSIF(VECTORS, 2), ["", "12"], "has a word"),
        (FisherVector(VECTORS, 2), ["sea", "xyz"], "the texts have 1 known words; 2 Gaussians need 2"),
        (WeightedMean(VECTORS), [], "no texts to fit to"),
    ]
    for encoder, texts, message in faulty:
        with pytest.raises(ValueError, match=message) as told:
            encoder.fit(texts)
        assert isinstance(told.value, CorpusError) or "n_removed" in message


def test_damage_is_found_when_loading(tmp_path: Path) -> None:
    encoder = ENCODERS["movmf"]().fit(TEXTS)
    encoder.model_.mean_directions_ = encoder.model_.mean_directions_[:, :-1].copy()
    encoder.model_.n_features_in_ -= 1
    encoder.save(tmp_path / "movmf")
    with pytest.raises(StoreError, match="the topics and the vocabulary do not fit each other"):
        MovMFTopics.load(tmp_path / "movmf")
    encoder = ENCODERS["lda"]().fit(TEXTS)
    encoder.max_iter_ = 0
    encoder.save(tmp_path / "lda")
    with pytest.raises(StoreError, match="'max_iter' parameter of TopicsLDA"):
        TopicsLDA.load(tmp_path / "lda")

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import CorpusError, ParasphereWarning
from parasphere.model import Reader
from parasphere.vectors import GLOVE
from reproduction import datasets
from reproduction.baselines import BagOfWords
from reproduction.datasets import Dataset
from reproduction.experiments import ENCODERS, dataset_from, linear, protocol
from reproduction.experiments.protocol import Fold, Options, evaluate, folds, summarise

NEWS = Path(os.environ.get("SCIKIT_LEARN_DATA", "absent"), "20news-bydate_py3.pkz")
NLTK = Path(os.environ.get("NLTK_DATA", "absent"), "corpora")


def vectors() -> WordVectors:
    matrix = np.random.default_rng(7).normal(size=(12, 6))
    matrix[:, 0] += 1.5  # as in real vectors, there is a common direction
    return WordVectors.from_arrays([f"w{c}" for c in "abcdefghijkl"], matrix)


def planted(n: int = 60, *, split: bool = False, labels: int = 3) -> Dataset:
    """Return texts of which each label prefers words of its own, but not always."""
    rng = np.random.default_rng(3)
    truth = np.arange(n) % labels
    words = np.array([f"w{c}" for c in "abcdefghijkl"])
    texts = []
    for label in truth:
        own = words[label * 12 // labels : (label + 1) * 12 // labels]
        drawn = np.where(rng.random(9) < 0.5, rng.choice(own, 9), rng.choice(words, 9))
        texts.append(" ".join(drawn))
    train = np.arange(n) < 2 * n // 3 if split else None
    names = [f"label {i}" for i in range(labels)]
    return Dataset("planted", texts, truth, names, [f"d{i}" for i in range(n)], "ours", "", train)


def bow() -> BagOfWords:
    return BagOfWords(100, Tokenizer())


def spm() -> SphericalParagraphModel:
    return SphericalParagraphModel(vectors(), tokenizer=Tokenizer())


def test_folds_are_stratified_and_fixed() -> None:
    corpus = planted()
    found = folds(corpus, seed=0)
    assert len(found) == 10
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in found])), np.arange(60))
    for fold, again in zip(found, folds(corpus, seed=0), strict=True):
        assert np.bincount(corpus.labels[fold.test]).tolist() == [2, 2, 2]
        assert not set(fold.train) & set(fold.test)
        np.testing.assert_array_equal(fold.test, again.test)
    assert any((a.test != b.test).any() for a, b in zip(found, folds(corpus, seed=1), strict=True))


def test_a_corpus_with_a_split_keeps_it() -> None:
    [fold] = folds(planted(split=True))
    assert (fold.train.tolist(), fold.test.tolist()) == (list(range(40)), list(range(40, 60)))


def test_rare_labels_mean_fewer_folds_or_an_error() -> None:
    corpus = planted()
    rare = np.r_[np.flatnonzero(corpus.labels < 2), np.flatnonzero(corpus.labels == 2)[:5]]
    assert len(folds(_only(corpus, rare))) == 5
    with pytest.raises(CorpusError, match="the label 'label 2' has 3 documents in all; at least 4"):
        folds(_only(corpus, rare[:-2]))
    with pytest.raises(CorpusError, match="at least two labels"):
        folds(planted(labels=1))
    split = replace(corpus, train=corpus.labels != 2)
    with pytest.raises(CorpusError, match="'label 2' has 0 documents for training"):
        folds(split)


@pytest.mark.parametrize("classifier", ["liblinear", "libsvm-rbf"])
def test_test_labels_are_never_seen(classifier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = planted(split=True)
    [fold] = folds(corpus)
    seen: list[Any] = []
    choose = protocol.choose

    def spy(features: Any, labels: Any, options: Options) -> Any:
        seen.append((features.shape[0], labels.tolist()))
        return choose(features, labels, options)

    monkeypatch.setattr(protocol, "choose", spy)
    honest = evaluate(bow, corpus, fold, Options(classifier))
    assert seen == [(len(fold.train), corpus.labels[fold.train].tolist())]
    changed = corpus.labels.copy()
    changed[fold.test] = (changed[fold.test] + 1) % 3
    other = evaluate(bow, replace(corpus, labels=changed), fold, Options(classifier))
    assert other.chosen == honest.chosen
    np.testing.assert_array_equal(other.predicted, honest.predicted)


def test_an_encoder_sees_the_training_texts_only_unless_transductive() -> None:
    corpus = planted(split=True)
    [fold] = folds(corpus)
    fitted: list[list[str]] = []

    class Spy(BagOfWords):
        def fit(self, X: Any, y: Any = None) -> "Spy":
            assert y is None
            fitted.append(list(X))
            super().fit(X)
            return self

    evaluate(Spy, corpus, fold, Options())
    evaluate(Spy, corpus, fold, Options(transductive=True))
    assert fitted == [corpus.texts[:40], corpus.texts]


@pytest.mark.parametrize("transductive", [False, True])
def test_bags_cut_into_folds_give_what_the_texts_give(transductive: bool) -> None:
    corpus = planted()
    bags = Reader(vectors(), tokenizer=Tokenizer()).read(corpus.texts)
    for fold in folds(corpus)[:3]:
        texts = [corpus.texts[i] for i in fold.train]
        # Directions: the metric of offsets is that of the whole corpus, whichever of its bags are selected.
        of_texts = spm().set_params(space="direction").fit(corpus.texts if transductive else texts)
        of_bags = spm().set_params(space="direction").fit(bags if transductive else bags[fold.train])
        assert of_texts.concentration_ == of_bags.concentration_
        there = of_texts.transform([corpus.texts[i] for i in fold.test])
        np.testing.assert_array_equal(there, of_bags.transform(bags[fold.test]))


def test_a_summary_in_the_order_of_the_corpus() -> None:
    corpus = planted()
    outcomes = [evaluate(spm, corpus, fold, Options(), tells_certainty=True) for fold in folds(corpus)]
    facts, arrays = summarise(corpus, outcomes)
    np.testing.assert_array_equal(arrays["test"], np.arange(60))
    assert facts["correct"] == (arrays["predicted"] == corpus.labels).astype(int).tolist()
    assert facts["accuracy"] == pytest.approx(np.mean(facts["folds"])) == np.mean(facts["correct"])
    assert 0.6 < facts["accuracy"] < 1  # learned, and not by cheating
    assert 0.6 < facts["macro_f1"] < 1
    assert np.sum(facts["confusion"], 1).tolist() == [20, 20, 20]
    assert np.trace(facts["confusion"]) == sum(facts["correct"])
    assert (facts["n_train"], facts["n_test"], facts["dimensions"], len(facts["C"])) == (54, 60, 6, 10)
    assert facts["texts_per_second"] == pytest.approx(60 / facts["transform_seconds"])
    certain = facts["certain"]
    assert [len(certain[end]) for end in ("most", "least")] == [5, 5]
    assert certain["most"][0]["concentration"] > certain["least"][-1]["concentration"]
    first = certain["most"][0]
    assert corpus.texts[corpus.ids.index(first["id"])] == first["text"]


def test_dense_vectors_are_standardised_by_the_training_part() -> None:
    train, test = protocol.scaled(np.array([[1.0, 7], [3, 7]]), np.array([[5.0, 9]]))
    np.testing.assert_array_equal(train, [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(test, [[3, 2]])
    counts = bow().fit_transform(planted().texts)
    assert protocol.scaled(counts, counts) == (counts, counts)


def test_what_did_not_converge_is_counted_and_other_warnings_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = planted(split=True)
    monkeypatch.setattr(linear, "MAX_NEWTON", 1)
    hasty = evaluate(
        lambda: SphericalParagraphModel(vectors(), max_iter=1, tol=0.0), corpus, folds(corpus)[0], Options()
    )
    assert hasty.unconverged[0] > 0
    assert hasty.unconverged[1] == 1
    with warnings.catch_warnings(record=True) as passed_on:
        warnings.simplefilter("always")
        with protocol.counted() as stopped:
            warnings.warn("by the way", UserWarning, stacklevel=1)
            warnings.warn("too slow", ConvergenceWarning, stacklevel=1)
    assert [str(warning.message) for warning in stopped] == ["too slow"]
    assert [str(warning.message) for warning in passed_on] == ["by the way"]


def test_unknown_classifiers_are_refused() -> None:
    with pytest.raises(ValueError, match="no classifier is called 'tree'; there are: liblinear and libsvm-rbf"):
        Options("tree")  # type: ignore[arg-type]


def test_a_corpus_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("body,topic\nwa wb,x\nwc,y\n")
    found = dataset_from(file, "topic", text="body")
    assert (found.name, found.texts, found.labels.tolist()) == ("mine", ["wa wb", "wc"], [0, 1])
    assert (found.label_names, found.ids, found.train) == (["x", "y"], ["mine.csv:1", "mine.csv:2"], None)
    for place, text in {"x/1.txt": "wa wb", "y/2.txt": "wc"}.items():
        (tmp_path / "folder" / place).parent.mkdir(parents=True)
        (tmp_path / "folder" / place).write_text(text)
    found = dataset_from(tmp_path / "folder")
    assert (found.label_names, found.ids) == (["x", "y"], ["x/1.txt", "y/2.txt"])
    (tmp_path / "nulls.jsonl").write_text('{"text": "wa", "t": "x", "n": "a"}\n{"text": null, "t": "y", "n": "b"}\n')
    with pytest.warns(ParasphereWarning, match="1 of 2 texts are null"):
        found = dataset_from(tmp_path / "nulls.jsonl", "t", id="n")
    assert (found.texts, found.ids) == (["wa", ""], ["a", "b"])
    with pytest.raises(CorpusError, match="no labels; name their column"):
        dataset_from(file, text="body")


def _only(corpus: Dataset, kept: Any) -> Dataset:
    texts, ids = [corpus.texts[i] for i in kept], [corpus.ids[i] for i in kept]
    return replace(corpus, texts=texts, ids=ids, labels=corpus.labels[kept])


# ------------------------------------------------------------------------------------- real corpora

MEASURED = {  # per cent, with GloVe 6B in 50 dimensions
    ("20news-similar", "spm"): 80.7,
    ("20news-similar", "bow"): 85.7,
    ("subj", "spm"): 88.7,
    ("subj", "bow"): 83.6,
}


@pytest.mark.corpora
@pytest.mark.skipif(not (NEWS.exists() and NLTK.exists()), reason="SCIKIT_LEARN_DATA and NLTK_DATA name no corpora")
@pytest.mark.parametrize(("name", "encoder"), MEASURED)
def test_accuracies_have_not_moved_by_a_point(name: str, encoder: str) -> None:
    corpus = datasets.load(name)
    if name == "subj":  # 2,000 sentences, a thousand of each label
        corpus = _only(corpus, np.arange(0, len(corpus), 5))
    entry = ENCODERS[encoder]
    loaded = WordVectors.load(GLOVE) if entry.needs_vectors else None
    outcomes = [
        evaluate(lambda: entry.build(loaded, 50, 0), corpus, Fold(fold.train, fold.test), Options())
        for fold in folds(corpus)
    ]
    found, _ = summarise(corpus, outcomes)
    assert 100 * found["accuracy"] == pytest.approx(MEASURED[name, encoder], abs=0.8)
    assert found["unconverged"] == {"classifier": 0, "encoder": 0}

"""The default vectors, adapted to the texts that a model is fitted to."""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commands import typed

from parasphere import (
    Encoder,
    JointVectors,
    SphericalParagraphModel,
    SphericalTopics,
    Tokenizer,
    WordVectors,
    datasets,
)
from parasphere.corpus import blocks
from parasphere.vectors import ENGLISH, adapted, adapting

TEXTS = datasets.load("docstrings").texts[:400]
WORDS = Tokenizer(digits=True)


@pytest.fixture(scope="module")
def english() -> WordVectors:
    return WordVectors.load(ENGLISH)


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(tol=1e-2).fit(TEXTS)


def is_adapted(model: SphericalParagraphModel) -> bool:
    vectors = model.vectors_
    assert vectors is not None
    return vectors.name.endswith(", adapted")


def same(one: SphericalParagraphModel, other: SphericalParagraphModel) -> bool:
    return bool((one.transform(TEXTS) == other.transform(TEXTS)).all())


def test_words_of_the_texts_move_and_others_stay(model: SphericalParagraphModel, english: WordVectors) -> None:
    found = model.vectors_
    assert found is not None
    assert found.words[: len(english)] == english.words
    cosines = (found.matrix[: len(english)] * english.matrix).sum(axis=1)
    row, other = english.vocabulary.get_many(["array", "violin"])
    assert cosines[row] < 0.999
    assert (found.matrix[other] == english.matrix[other]).all()
    assert cosines[row] > 0.4


def test_frequent_words_without_a_vector_get_one(model: SphericalParagraphModel, english: WordVectors) -> None:
    found = model.vectors_
    assert found is not None
    assert "ndarray" not in english
    assert "array" in [word for word, _ in found.nearest("ndarray", 20)]


def test_weights_stay(model: SphericalParagraphModel, english: WordVectors) -> None:
    found = model.vectors_
    assert found is not None
    assert found.weights is not None
    assert english.weights is not None
    assert (found.weights[: len(english)] == english.weights).all()
    assert set(found.weights[len(english) :]) == {english.unknown_weight}
    assert found.unknown_weight == english.unknown_weight


def test_the_number_of_threads_changes_no_bit(model: SphericalParagraphModel) -> None:
    assert same(model, SphericalParagraphModel(tol=1e-2, n_jobs=2).fit(TEXTS))


def test_the_seed_is_that_of_the_model(model: SphericalParagraphModel) -> None:
    assert same(model, SphericalParagraphModel(tol=1e-2, random_state=0).fit(TEXTS))
    assert not same(model, SphericalParagraphModel(tol=1e-2, random_state=1).fit(TEXTS))


@pytest.mark.parametrize(
    "source",
    [iter, lambda texts: blocks(texts), lambda texts: pa.array(texts, pa.large_string())],
    ids=["an iterator", "a stream of blocks", "a column"],
)
def test_texts_may_come_from_anywhere(source: Callable[[Any], Any], model: SphericalParagraphModel) -> None:
    assert same(model, SphericalParagraphModel(tol=1e-2).fit(source(TEXTS)))


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are of Unix")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import os

    lines = [" ".join(text.split()) for text in TEXTS]
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=lambda: (tmp_path / "pipe").write_text("\n".join(lines)))
    writer.start()
    model = SphericalParagraphModel(tol=1e-2).fit(tmp_path / "pipe")
    writer.join()
    assert is_adapted(model)
    assert same(model, SphericalParagraphModel(tol=1e-2).fit(lines))


def test_the_default_vectors_may_be_given(model: SphericalParagraphModel, english: WordVectors) -> None:
    assert same(model, SphericalParagraphModel(english, tol=1e-2).fit(TEXTS))


def test_only_a_fit_to_texts_adapts(english: WordVectors) -> None:
    def fitted(*arguments: Any, **options: Any) -> SphericalParagraphModel:
        return SphericalParagraphModel(*arguments, tol=0.1, **options)

    plain = fitted(adapt=False).fit(TEXTS)
    assert plain.vectors_ is not None
    assert plain.vectors_.source == ENGLISH
    bags = fitted().read(TEXTS)
    steps = fitted()
    while not steps.update(steps.accumulate(TEXTS)):
        pass
    models = [fitted().partial_fit(TEXTS), fitted().fit(bags), steps]
    models.append(fitted(JointVectors(start=english, epochs=1)).fit(TEXTS))  # it learns from the texts itself
    models.append(SphericalParagraphModel.paper(ENGLISH, tol=1.0).fit(TEXTS))
    assert not any(map(is_adapted, models))
    assert same(plain, models[0])
    assert same(plain, models[1])


def test_partial_fit_goes_on_with_adapted_vectors(model: SphericalParagraphModel) -> None:
    further = SphericalParagraphModel(tol=1e-2).fit(TEXTS).partial_fit(TEXTS[:20])
    assert further.vectors_ is not None
    assert model.vectors_ is not None
    assert further.vectors_.fingerprint == model.vectors_.fingerprint


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS[:199],
        [""] * 300,
        ["once"] * 300,
        [f"{chr(0x4E00 + i)}{chr(0x4E01 + i)}" for i in range(300)],
        ["щука рак лебедь"] * 300,
        ["the cat sat on the mat and the cat ran"] + [""] * 300,
    ],
    ids=["few", "empty", "one word", "no word twice", "unknown words alone", "one text with words"],
)
def test_vectors_stay_where_there_is_nothing_to_learn(texts: list[str], english: WordVectors) -> None:
    assert adapted(english, texts, WORDS) is english


def test_vectors_stay_if_held_out_texts_are_predicted_no_better(english: WordVectors) -> None:
    drawn = np.random.default_rng(0).integers(2000, 20_000, (400, 8))
    texts = [" ".join(english.vocabulary.word(int(row)) for row in rows) for rows in drawn]
    assert adapted(english, texts, WORDS) is english


def test_of_many_texts_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = adapting.drawn_texts(TEXTS, 0)
    assert [text for block in whole for text in block.texts] == TEXTS
    size = sum(len(text.encode()) for text in TEXTS)
    monkeypatch.setattr(adapting, "TEXT", size // 3)
    some = [text for block in adapting.drawn_texts(iter(TEXTS), 0) for text in block.texts]
    assert size // 8 < sum(len(text.encode()) for text in some) <= size // 3
    assert some == [text for text in TEXTS if text in some]
    assert some == [text for block in adapting.drawn_texts(list(TEXTS), 0) for text in block.texts]
    tokens = [text.split() for text in TEXTS]
    assert 0 < sum(map(len, adapting.drawn_texts(tokens, 0))) < len(TEXTS)


@pytest.mark.parametrize("parts", [1, 2, 3, 10, 1000])
def test_which_texts_are_drawn_is_known_from_sizes_and_numbers(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for partitions of a cluster, which count their texts before any is chosen."""
    monkeypatch.setattr(adapting, "TEXT", sum(map(len, TEXTS)) // parts)
    first, second = list(blocks(TEXTS[:150])), list(blocks(TEXTS[150:]))
    numbers = [adapting.numbers_of(7, 0, 150), adapting.numbers_of(7, 150, 250)]
    totals = [
        adapting.sizes_below(adapting.sizes_of(block), own)
        for (block,), own in zip([first, second], numbers, strict=True)
    ]
    share = adapting.share_of(totals[0] + totals[1])
    found = [adapting.below(share, block, own)[0] for (block,), own in zip([first, second], numbers, strict=True)]
    expected = adapting.drawn_texts(TEXTS, 7)
    assert [text for block in found for text in block.texts] == [text for block in expected for text in block.texts]


def test_one_document_may_be_longer_than_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "TEXT", 10)
    assert sum(map(len, adapting.drawn_texts(TEXTS, 0))) <= 2


def test_it_is_saved_and_loaded(tmp_path: Path, model: SphericalParagraphModel) -> None:
    model.save(tmp_path / "model")
    model.encoder_.save(tmp_path / "encoder")
    again = SphericalParagraphModel.load(tmp_path / "model")
    assert again.adapt
    assert is_adapted(again)
    assert same(model, again)
    for name in ("model", "encoder"):
        assert (Encoder.load(tmp_path / name).transform(TEXTS) == model.transform(TEXTS)).all()
    assert same(model, pickle.loads(pickle.dumps(model)))


def test_what_is_built_on_a_model_has_its_vectors(model: SphericalParagraphModel) -> None:
    assert model.index(TEXTS).encoder.reader is model.encoder_.reader
    topics = SphericalTopics(n_topics=3, random_state=0).fit(TEXTS)
    reader = topics.encoder_.reader
    assert reader is not None
    assert reader.vectors.name == f"{ENGLISH}, adapted"


def test_given_vectors_are_adapted_however_they_are_given(english: WordVectors, tmp_path: Path) -> None:
    words = [word for word in english.words[:20_000] if word.isalpha()]
    plain = english.subset(words).with_weights(None)
    plain.write(tmp_path / "plain.txt")
    texts, held_out = TEXTS[:300], TEXTS[300:]
    by_path = SphericalParagraphModel(tmp_path / "plain.txt", tol=1e-2).fit(texts)
    by_object = SphericalParagraphModel(WordVectors.load(tmp_path / "plain.txt"), tol=1e-2).fit(texts)
    assert is_adapted(by_path)
    assert (by_path.transform(held_out) == by_object.transform(held_out)).all()
    found = by_path.vectors_
    assert found is not None
    assert found.weights is None  # words without weights stay without, those that get a vector too
    assert "ndarray" in found
    assert "ndarray" not in plain
    assert not is_adapted(SphericalParagraphModel(plain, adapt=False, tol=1e-2).fit(texts))
    assert not is_adapted(SphericalParagraphModel.paper(plain, tol=1.0).fit(texts))


@pytest.mark.parametrize("how", [[], ["--no-adapt"]])
def test_the_command_adapts_unless_told_not_to(how: list[str], tmp_path: Path) -> None:
    lines = [" ".join(text.split()) for text in TEXTS]
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    told = typed("fit", tmp_path / "texts.txt", "-o", tmp_path / "model", *how)
    assert told.code == 0, told.err
    assert "400" in told.out
    found = SphericalParagraphModel.load(tmp_path / "model")
    assert is_adapted(found) == (not how)
    if not how:
        assert same(found, SphericalParagraphModel().fit(lines))

"""Skip-thought on planted text: what neighbours reveal, exact resumption, and words that were never learned."""

import ast
import itertools
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from parasphere import Tokenizer, WordVectors
from parasphere.errors import CorpusError, MissingExtraError, StoreError, VectorsError
from parasphere.text import Vocabulary
from reproduction.baselines.sentences import OrderedText
from reproduction.baselines.skipthought import SkipThought, _pieces

torch = pytest.importorskip("torch", reason="skip-thought is written in torch")
gru = pytest.importorskip("reproduction.baselines.gru")

N_TOPICS = 8


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Networks this small are fastest in one thread, above all where processors are shared."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def planted(rng: np.random.Generator, n_docs: int) -> tuple[list[str], list[int], list[int]]:
    """Write documents of one topic each; a sentence takes all its words from one of the topic's two halves."""
    lines, topics, halves = [], [], []
    for _ in range(n_docs):
        topic = int(rng.integers(N_TOPICS))
        for _ in range(6):
            half = int(rng.integers(2))
            words = rng.choice([f"{'ab'[half]}{'stuvwxyz'[topic]}{letter}" for letter in "klmn"], 4)
            lines.append(" ".join(words))
            topics.append(topic)
            halves.append(half)
        lines.append("")
    return lines, topics, halves


def agreement(encoder: Any, rng: np.random.Generator) -> float:
    """Tell the topics of sentences in one half's words by centroids of the other half's; chance is 1/8."""
    lines, topics, halves = planted(rng, 80)
    vectors = encoder.transform([line for line in lines if line])
    vectors = vectors - vectors.mean(0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    topic, half = np.array(topics), np.array(halves)
    centroids = np.stack([vectors[(half == 0) & (topic == t)].mean(0) for t in range(N_TOPICS)])
    return float((np.argmax(vectors[half == 1] @ centroids.T, 1) == topic[half == 1]).mean())


def small(**given: Any) -> SkipThought:
    usual = {"dim": 64, "word_dim": 16, "batch_size": 64, "epochs": 3, "learning_rate": 0.02, "random_state": 0}
    return SkipThought(**{**usual, **given})


def test_neighbours_reveal_topics_and_shuffled_order_does_not(rng: np.random.Generator) -> None:
    lines, *_ = planted(rng, 140)
    learned = agreement(small().fit(lines), np.random.default_rng(1))
    shuffled = [lines[i] for i in rng.permutation(len(lines))]
    control = agreement(small().fit(shuffled), np.random.default_rng(1))
    assert learned > 0.9
    assert control < 0.5


def test_the_decoder_learns_thirty_sentences_by_heart() -> None:
    rng = np.random.default_rng(5)
    lines = [" ".join(rng.choice([f"w{a}{b}" for a in "abcdef" for b in "ghijk"], 5)) for _ in range(30)]
    text = OrderedText.read(lines)
    words = Vocabulary(text.count_words(Tokenizer())[0])
    corpus = gru.TrainingSentences(text.ids(words, Tokenizer()), 30)
    training = _training(corpus, len(words), steps=90)
    training.run()
    assert training.losses[0] > 3
    assert training.losses[-1] < 0.05
    for row in range(29):
        assert _written(training.model, corpus, row) == corpus.words[corpus.begins[row + 1] :][:5].tolist()


def _training(corpus: Any, n_words: int, steps: int) -> Any:
    from reproduction.baselines.gru_training import Plan, Training

    plan = Plan(30, 2e-2, 1.0, 0, n_steps=steps, seconds=None)
    return Training(gru.build(n_words, 24, 96, 0), corpus, plan, torch.device("cpu"))


def _written(model: Any, corpus: Any, row: int) -> list[int]:
    """Write the next sentence word by word, each time the likeliest one."""
    given = corpus.words[corpus.begins[row] :][: corpus.lengths[row]]
    words, word, state = [], gru.END, None
    with torch.inference_mode():
        condition = model["encoder"](model["embedding"](torch.tensor(given))[:, None])[1][0]
        while len(words) < 10:
            read = torch.cat([model["embedding"](torch.tensor([word])), condition], 1)[None]
            out, state = model["next"](read, state)
            word = int(model["softmax"](out[0, 0]).argmax())
            if word == gru.END:
                break
            words.append(word)
    return words


def test_a_batch_is_what_the_sentences_are() -> None:
    lines = ["a b c", "d", "e f", "", "g h", "a"]
    text = OrderedText.read(lines)
    sentences = text.ids(Vocabulary(list("abcdefgh")), Tokenizer())
    corpus = gru.TrainingSentences(sentences, 2)
    assert corpus.lengths.tolist() == [2, 1, 2, 2, 1]
    rows = np.array([0, 2, 1])
    batch = gru.Batch.of(corpus, rows, torch.device("cpu"))
    a, b, d, e, f = (i + gru.SPECIAL for i in (0, 1, 3, 4, 5))
    assert batch.words.tolist() == [a, e, d, b, f]
    assert batch.sizes.tolist() == [3, 2]
    (into, out, places), sizes = batch.sides["next"]  # of "d": "e f"; of "a b": "d"
    assert (into.tolist(), out.tolist()) == ([0, 0, e, d, f], [e, d, f, 0, 0])
    assert (places.tolist(), sizes.tolist()) == ([2, 0, 2, 0, 2], [2, 2, 1])
    (into, out, _), _ = batch.sides["previous"]  # of "d": "a b"; of "e f": "d"
    assert (into.tolist(), out.tolist()) == ([0, 0, a, d, b], [a, d, b, 0, 0])
    with pytest.raises(CorpusError, match="neighbour"):
        gru.TrainingSentences(OrderedText.read(["a", "", "b"]).ids(Vocabulary(["a", "b"]), Tokenizer()), 2)


def test_the_loss_is_that_of_one_sentence_after_another() -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abcdefgh"), rng.integers(1, 6))) for _ in range(12)]
    sentences = OrderedText.read(lines).ids(Vocabulary(list("abcdefgh")), Tokenizer())
    corpus = gru.TrainingSentences(sentences, 4)
    model = gru.build(8, 5, 7, 3)
    together = gru.batch_loss(model, gru.Batch.of(corpus, np.arange(12), torch.device("cpu")))
    total, count = 0.0, 0
    for row in range(12):  # no packing, no batches
        given = torch.tensor(corpus.words[corpus.begins[row] :][: corpus.lengths[row]])
        state = model["encoder"](model["embedding"](given))[1][0]
        for side, other in (("previous", row - 1), ("next", row + 1)):
            if not 0 <= other < 12:
                continue
            told = corpus.words[corpus.begins[other] :][: corpus.lengths[other]].tolist()
            read = model["embedding"](torch.tensor([gru.END, *told]))
            hidden = model[side](torch.cat([read, state.expand(len(read), -1)], 1))[0]
            chances = torch.log_softmax(model["softmax"](hidden), 1)
            total -= float(chances[range(len(read)), [*told, gru.END]].detach().sum())
            count += len(read)
    assert float(together.detach()) == pytest.approx(total / count, rel=1e-5)


def test_saved_loaded_and_repeated_runs_agree(tmp_path: Path, rng: np.random.Generator) -> None:
    lines, *_ = planted(rng, 30)
    fitted = small(epochs=2).fit(lines)
    fitted.save(tmp_path / "encoder")
    texts = [*lines[:9], "unheard of", "ask ask " * 40]
    found = SkipThought.load(tmp_path / "encoder").transform(texts)
    np.testing.assert_array_equal(found, fitted.transform(texts))
    np.testing.assert_array_equal(clone(fitted).fit(lines).transform(texts), found)
    assert len(fitted.losses_) == fitted.n_steps_ == 2 * -(-180 // 64)
    assert fitted.words_seen_ == 2 * 180 * 4
    np.testing.assert_array_equal(fitted.set_params(device="nowhere").transform(texts), found)
    fitted.save(tmp_path / "encoder")  # loaded on the CPU, whatever machine it was trained on
    np.testing.assert_array_equal(SkipThought.load(tmp_path / "encoder").transform(texts), found)
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        SkipThought.load(tmp_path / "encoder", device="nowhere").transform(texts)
    half = small(epochs=2, precision="float16").fit(lines)
    np.testing.assert_allclose(half.transform(texts), found, atol=5e-3)
    assert half.get_feature_names_out()[0] == "skipthought0"


def test_an_interrupted_training_goes_on_exactly(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reproduction.baselines.gru_training import Training

    lines, *_ = planted(rng, 30)
    whole = small(epochs=4).fit(lines)
    broken = small(epochs=4, checkpoint=tmp_path / "checkpoint")
    step = Training.step

    def interrupted(self: Any, rows: Any) -> None:
        step(self, rows)
        if self.n_steps == 5:  # amid the second epoch
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Training, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(lines)
    monkeypatch.undo()
    assert (tmp_path / "checkpoint").exists()
    with pytest.raises(StoreError, match=r"another computation \(different: dim\)"):
        small(epochs=4, dim=32, checkpoint=tmp_path / "checkpoint").fit(lines)
    with pytest.raises(StoreError, match=r"another computation \(different: text\)"):
        small(epochs=4, checkpoint=tmp_path / "checkpoint").fit([*lines, "ask ask", "ask"])
    broken.fit(lines)
    np.testing.assert_array_equal(broken.losses_, whole.losses_)
    for name, weights in whole.weights_.items():
        np.testing.assert_array_equal(broken.weights_[name], weights)
    assert not (tmp_path / "checkpoint").exists()


def test_time_is_a_limit(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, *_ = planted(rng, 30)
    ticks = itertools.count()  # a clock that goes on by one second each time it is read: no machine is too slow for it
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("reproduction.baselines.gru_training.time", clock)
    fitted = small(epochs=None, minutes=0.5).fit(lines)
    assert 30 <= fitted.seconds_ <= 32
    assert 25 <= fitted.n_steps_ <= 30


def test_expansion_finds_a_linear_relation(rng: np.random.Generator) -> None:
    lines, *_ = planted(rng, 30)
    fitted = small(epochs=1).fit(lines)
    words = fitted.vocabulary_.words
    relation = rng.normal(size=(16, 16))
    hidden = rng.normal(size=(len(words) + 1, 16))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    fitted.weights_["embedding"][2:] = hidden[1:] @ relation  # the embeddings are a linear image of the vectors
    expanded = fitted.expand(WordVectors.from_arrays(["unlearned", *words], hidden))
    assert (fitted.expansion_, fitted.vectors_) == (None, None)
    np.testing.assert_allclose(expanded.expansion_, relation, rtol=1e-4, atol=1e-4)
    # A word that was not learned is encoded as one whose embedding is its image.
    told = expanded.transform(["unlearned ask", "unheard ask"])
    fitted.weights_["embedding"][1] = hidden[0] @ relation
    np.testing.assert_allclose(told[0], fitted.transform(["unheard ask"])[0], atol=1e-5)
    assert np.abs(told[0] - told[1]).max() > 1e-3
    with pytest.raises(VectorsError, match="none of the"):
        fitted.expand(WordVectors.from_arrays(["x"], [[1.0]]))


def test_vectors_at_fit_are_the_same_as_afterwards(tmp_path: Path, rng: np.random.Generator) -> None:
    lines, *_ = planted(rng, 20)
    vectors = WordVectors.from_arrays(["ask", "btk", "new"], rng.normal(size=(3, 2)))
    fitted = small(epochs=1, vectors=vectors).fit(lines)
    after = small(epochs=1).fit(lines).expand(vectors)
    np.testing.assert_array_equal(fitted.transform(["new ask"]), after.transform(["new ask"]))
    fitted.save(tmp_path / "saved")
    np.testing.assert_array_equal(
        SkipThought.load(tmp_path / "saved").transform(["new ask"]), after.transform(["new ask"])
    )


def test_texts_of_no_and_of_many_sentences(rng: np.random.Generator) -> None:
    lines, *_ = planted(rng, 20)
    fitted = small(epochs=1).fit(lines)
    one, two, both, empty, none = fitted.transform(["Ask btk!", "Atk bsl.", "Ask btk! Atk bsl.", "", "12 3"])
    np.testing.assert_allclose(both, (one + two) / 2, atol=1e-6)
    assert not empty.any()
    assert not none.any()
    np.testing.assert_array_equal(fitted.transform(["xyzzy"]), fitted.transform(["plugh"]))  # both unknown
    np.testing.assert_allclose(fitted.transform([["ask", "btk"]])[0], one, atol=1e-6)
    assert fitted.transform([]).shape == (0, 64)
    _, lengths, whose = _pieces(np.array([61]), 30)
    assert (lengths.tolist(), whose.tolist()) == ([20, 20, 21], [0, 0, 0])


def test_faults_are_told() -> None:
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        SkipThought(device="nowhere").fit(["a", "b"])
    with pytest.raises(CorpusError, match="no word"):
        small().fit(["", "12"])


def test_extras_are_imported_only_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in Path(gru.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = getattr(node, "module", None) or ""
            assert not {"torch", "gensim", "sentence_transformers"} & {module.split(".")[0], *names}, path
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"reproduction/\[neural\]"):
        SkipThought().fit(["a", "b"])

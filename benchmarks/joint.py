"""Learning word vectors from texts: words per second and accuracy, beside word2vec, Doc2Vec and fastText.

Run with ``python -m benchmarks joint``; it takes a quarter of an hour. All learn 300 dimensions from the training texts
of 20 Newsgroups, tokenised alike, with the same number of threads: ours by its defaults, from ``english-128`` and from
nothing, the others for the same wall time or a little more. The accuracy is that of a linear support vector machine on
the test texts: on the vectors of SPM for word vectors, on inferred vectors for Doc2Vec. fastText is left out if it is
not installed. Our learners are timed in turn, up to four times if the machine's host gave more than a twentieth of the
processors' time to others meanwhile; the fastest counts.

The loss is the negative objective of joint learning: words of test texts are predicted from others of the same text,
among all words of the training texts (without sampling), with the learned concentrations and mean direction.
"""

from benchmarks.measure import share_stolen, stolen, table

import math
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.svm import LinearSVC

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from reproduction import datasets
from parasphere.text import Lookup, Vocabulary
from parasphere.vectors.learning import LearningSettings
from parasphere.vectors.learning_steps import Cutting, cut
from parasphere.vectors.learning_texts import read_texts

DIM, MIN_COUNT, NEGATIVES = 300, 2, 5
THREADS = min(2, os.cpu_count() or 1)
TRIES, STOLEN = 4, 0.05
TWO, ONE = "JointVectors", "JointVectors, 1 thread"
JUDGED = 1000  # test texts


class Task:
    """Texts to learn from, and the evaluation of vectors of words or texts."""

    def __init__(self, name: str) -> None:
        self.name, data = name, datasets.load(name)
        self.labels = data.labels
        self.train = np.random.default_rng(0).random(len(data)) < 0.8 if data.train is None else data.train
        self.texts = [text for text, train in zip(data.texts, self.train, strict=True) if train]
        self.unseen = [text for text, train in zip(data.texts, self.train, strict=True) if not train]
        read = read_texts(self.texts, Tokenizer(), MIN_COUNT, known=True)
        words = np.array(read.words, object)
        self.lists = [words[read.ids[lo:hi]].tolist() for lo, hi in pairwise(read.ends)]
        self.words, self.known = len(read.ids), read.words
        self.judged = self._pieces(read.counts / read.counts.sum())

    def _pieces(self, shares: NDArray[np.float64]) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Return words of test texts and the words to predict from them, sampled and divided as in learning."""
        read = Lookup(Vocabulary(self.known), Tokenizer()).ids(self.unseen[:JUDGED])
        known = read.ids >= 0
        ends = np.append(0, np.cumsum(known))[read.ends]
        often, settings = LearningSettings().sample / shares, LearningSettings()
        keep = np.minimum(1, np.sqrt(often) + often).astype(np.float32)
        how = Cutting(settings.context, settings.targets, settings.share)
        ids, order = read.ids[known].astype(np.int32), np.arange(len(ends) - 1)
        pieces = cut(ids, ends, order, keep, how, np.array([1], np.uint64))
        both = zip(pairwise(pieces.begins), pieces.middles, strict=True)
        return [(pieces.words[lo:middle], pieces.words[middle:hi]) for (lo, hi), middle in both]

    def accuracy(self, seen: NDArray[Any], unseen: NDArray[Any]) -> float:
        """Return the accuracy of a linear classifier of vectors of texts on the test texts."""
        machine = LinearSVC(dual=False, tol=1e-3).fit(seen, self.labels[self.train])
        return float(machine.score(unseen, self.labels[~self.train]))

    def accuracy_of(self, vectors: WordVectors) -> float:
        """Return the accuracy with the vectors of SPM on these word vectors."""
        model = SphericalParagraphModel(vectors, adapt=False, tokenizer=Tokenizer(), tol=1e-4, space="direction").fit(
            self.texts
        )
        return self.accuracy(model.transform(self.texts), model.transform(self.unseen))

    def loss_of(self, vectors: WordVectors, kappa: float, kappa0: float, mean: NDArray[Any]) -> float:
        """Return the mean loss per predicted word, in nats."""
        rows = vectors.vocabulary.get_many(self.known)
        scaled = (kappa * np.asarray(vectors.weights)[rows, None] * vectors.matrix[rows]).astype(np.float32)
        losses = []
        for some in (self.judged[at : at + 256] for at in range(0, len(self.judged), 256)):
            etas = np.stack([kappa0 * mean + scaled[context].sum(0) for context, _ in some]).astype(np.float32)
            logits = (etas / np.linalg.norm(etas, axis=1, keepdims=True)) @ scaled.T
            for own, (_, targets), total in zip(logits, some, logsumexp(logits, axis=1), strict=True):
                losses += (total - own[targets]).tolist()
        return float(np.mean(losses))


def run() -> dict[str, Any]:
    """Measure everything, ours and the others in this process."""
    task = Task("20news")
    ours(epochs=1).fit(task.texts[:100])  # compiles
    learners = {TWO: ours(), ONE: ours(n_jobs=1)}
    rows: dict[str, dict[str, float]] = {}
    to_time = list(learners)
    for _ in range(TRIES):
        disturbed = []
        for name in to_time:
            row = learned(learners[name], task, judged=rows.get(name))
            print(name, row, flush=True)
            rows[name] = min(rows.get(name, row), row, key=lambda one: one["seconds"])
            disturbed += [name] if row["stolen"] > STOLEN else []
        to_time = disturbed
    rows["JointVectors, start=None"] = learned(ours(start=None), task)
    rows |= others(rows[TWO]["seconds"], task)
    same = learners[ONE].vectors_.fingerprint == learners[TWO].vectors_.fingerprint
    return {"texts": len(task.texts), "words": task.words, "dim": DIM, "same bits": same, "rows": rows}


def report(result: dict[str, Any]) -> str:
    rows = [
        [
            name, f"{row['seconds']:.0f}", f"{row['epochs']:.0f}", f"{row['words per second']:,.0f}",
            f"{row['loss']:.3f}" if "loss" in row else "", f"{100 * row['accuracy']:.1f}",
            f"{100 * row['stolen']:.1f}" if "stolen" in row else "",
        ]
        for name, row in result["rows"].items()
    ]  # fmt: skip
    bits = "the same" if result["same bits"] else "NOT the same"
    return (
        f"20 Newsgroups: {result['texts']:,} texts, {result['words']:,} words, {result['dim']} dimensions; "
        f"{THREADS} threads unless stated otherwise. One and {THREADS} threads gave {bits} bits. The loss is that of "
        "words left out of test texts, in nats.\n\n"
        + table(["", "seconds", "epochs", "words per second", "loss", "accuracy", "stolen, %"], rows)
    )


def ours(**changed: Any) -> JointVectors:
    """Return our learner, which splits texts as the others do."""
    learner = JointVectors(DIM, tokenizer=Tokenizer(), n_jobs=THREADS)
    learner.set_params(**changed)
    return learner


def learned(learner: JointVectors, task: Task, judged: dict[str, float] | None = None) -> dict[str, float]:
    """Learn with our learner, and evaluate the vectors unless they were evaluated before."""
    lost, begun = stolen(), time.perf_counter()
    learner.fit(task.texts)
    seconds, epochs = time.perf_counter() - begun, len(learner.losses_)
    share = share_stolen(lost, seconds)
    if judged is not None:
        return _facts(seconds, epochs, task, judged["accuracy"]) | {"loss": judged["loss"], "stolen": share}
    numbers = learner.concentration_, learner.prior_concentration_
    loss = task.loss_of(learner.vectors_, *numbers, learner.mean_direction_)
    return _row(seconds, epochs, task, learner.vectors_) | {"loss": loss, "stolen": share}


def others(seconds: float, task: Task, seed: int = 0) -> dict[str, dict[str, float]]:
    return {name: _for_about(seconds, learn, task) for name, learn in _peers(task, seed).items()}


def _row(seconds: float, epochs: int, task: Task, vectors: WordVectors) -> dict[str, float]:
    return _facts(seconds, epochs, task, task.accuracy_of(vectors))


def _facts(seconds: float, epochs: int, task: Task, accuracy: float) -> dict[str, float]:
    each = epochs * task.words / seconds
    return {"seconds": seconds, "epochs": epochs, "words per second": each, "accuracy": accuracy}


def _for_about(goal: float, learn: Callable[[int], Any], task: Task) -> dict[str, float]:
    """Learn for the number of epochs that takes ``goal`` seconds or a little more, by the time of one epoch."""
    begun = time.perf_counter()
    learn(1)
    epochs = math.ceil(goal / (time.perf_counter() - begun))
    begun = time.perf_counter()
    found = learn(epochs)
    seconds = time.perf_counter() - begun
    if callable(found):
        return _facts(seconds, epochs, task, found())
    return _row(seconds, epochs, task, found)


def _peers(task: Task, seed: int) -> dict[str, Callable[[int], Any]]:
    """Return the installed peers: functions of the number of epochs that return word vectors, or how to score them."""
    peers: dict[str, Callable[[int], Any]] = {}
    if find_spec("gensim") is not None:
        peers |= {
            "word2vec (gensim, skip-gram)": lambda n: _word2vec(n, task, seed),
            "Doc2Vec (gensim, DBOW)": lambda n: _doc2vec(n, task, seed),
        }
    if find_spec("fasttext") is not None:
        peers["fastText (skip-gram)"] = lambda n: _fasttext(n, task)  # which has no seed
    return peers


def _word2vec(epochs: int, task: Task, seed: int) -> WordVectors:
    from gensim.models import Word2Vec

    how = {"vector_size": DIM, "min_count": MIN_COUNT, "negative": NEGATIVES, "workers": THREADS, "epochs": epochs}
    model = Word2Vec(task.lists, sg=1, seed=seed, **how)
    return WordVectors.load(model.wv)


def _doc2vec(epochs: int, task: Task, seed: int) -> Callable[[], float]:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    tagged = [TaggedDocument(words, [i]) for i, words in enumerate(task.lists)]
    how = {"vector_size": DIM, "min_count": MIN_COUNT, "negative": NEGATIVES, "workers": THREADS, "epochs": epochs}
    model = Doc2Vec(tagged, dm=0, seed=seed, **how)

    def judge() -> float:
        words = [Tokenizer()(text) for text in task.unseen]
        unseen = np.stack([model.infer_vector(list(each)) for each in words])
        return task.accuracy(np.stack([model.dv[i] for i in range(len(tagged))]), unseen)

    return judge


def _fasttext(epochs: int, task: Task) -> WordVectors:
    from tempfile import NamedTemporaryFile

    import fasttext  # type: ignore[import-not-found]

    with NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(" ".join(words) for words in task.lists))
        file.flush()
        how = {
            "dim": DIM,
            "minCount": MIN_COUNT,
            "neg": NEGATIVES,
            "thread": THREADS,
            "epoch": epochs,
            "verbose": 0,
        }
        model = fasttext.train_unsupervised(file.name, model="skipgram", **how)
    words = model.get_words()
    return WordVectors.from_arrays(words, [model[word] for word in words])

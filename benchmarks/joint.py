"""Learning word vectors from texts: words per second and accuracy, beside word2vec, Doc2Vec and fastText.

Run with ``python -m benchmarks joint``; it takes about 20 minutes. All learn 300 dimensions from the training texts of
20 Newsgroups, and of the paper's six corpora, tokenised alike, with the same number of threads: ours by its defaults,
from ``english-128`` and from nothing, the others for about the same wall time. The accuracy is that of a linear support
vector machine on the test texts (a fifth, drawn at random, where there is no division): on SPM for vectors of words, on
inferred vectors for Doc2Vec. fastText is left out if it is not installed.
"""

from benchmarks.measure import table

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.vectors.learning_texts import known_words, read_texts

DIM, MIN_COUNT, NEGATIVES = 300, 2, 5
THREADS = min(2, os.cpu_count() or 1)
CORPORA = ("20news-different", "20news-similar", "20news-same", "reuters-10", "subj", "mr")


class Task:
    """Texts to learn from, and how vectors of words or texts are judged."""

    def __init__(self, name: str) -> None:
        data = datasets.load(name)
        self.labels = data.labels
        self.train = np.random.default_rng(0).random(len(data)) < 0.8 if data.train is None else data.train
        self.texts = [text for text, train in zip(data.texts, self.train, strict=True) if train]
        self.unseen = [text for text, train in zip(data.texts, self.train, strict=True) if not train]
        read = known_words(read_texts(self.texts, Tokenizer(), MIN_COUNT))
        words = np.array(read.words, object)
        self.lists = [words[read.ids[lo:hi]].tolist() for lo, hi in zip(read.ends, read.ends[1:], strict=False)]
        self.words = len(read.ids)

    def accuracy(self, seen: NDArray[Any], unseen: NDArray[Any]) -> float:
        """Return the share of test texts that a linear machine on vectors of texts classifies rightly."""
        machine = LinearSVC(dual=False, tol=1e-3).fit(seen, self.labels[self.train])
        return float(machine.score(unseen, self.labels[~self.train]))

    def accuracy_of(self, vectors: WordVectors) -> float:
        """Return the same of the vectors of texts that SPM makes of vectors of words."""
        model = SphericalParagraphModel(vectors, tol=1e-4, space="direction").fit(self.texts)
        return self.accuracy(model.transform(self.texts), model.transform(self.unseen))


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    task = Task("20news")
    JointVectors(DIM, epochs=1, n_jobs=THREADS).fit(task.texts[:100])  # compiles
    learners = {
        "JointVectors, 1 thread": JointVectors(DIM, n_jobs=1),
        "JointVectors": JointVectors(DIM, n_jobs=THREADS),
        "JointVectors, start=None": JointVectors(DIM, start=None, n_jobs=THREADS),
    }
    rows = {name: _learned(learner, task) for name, learner in learners.items()}
    prints = [learner.vectors_.fingerprint for learner in learners.values()]
    rows |= _others(rows["JointVectors"]["seconds"], task)
    result = {"texts": len(task.texts), "words": task.words, "dim": DIM, "same bits": prints[0] == prints[1]}
    del learners["JointVectors, 1 thread"]
    corpora = {}
    for corpus in CORPORA:
        task = Task(corpus)
        found = {name: _learned(learner, task) for name, learner in learners.items()}
        corpora[corpus] = found | _others(found["JointVectors"]["seconds"], task)
        print(corpus, {name: round(100 * row["accuracy"], 1) for name, row in corpora[corpus].items()}, flush=True)
    return {**result, "rows": rows, "corpora": corpora}


def report(result: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{row['seconds']:.0f}",
            row["epochs"],
            f"{row['words per second']:,.0f}",
            f"{100 * row['accuracy']:.1f}",
        ]
        for name, row in result["rows"].items()
    ]
    bits = "the same" if result["same bits"] else "NOT the same"
    corpora = result["corpora"]
    names = list(next(iter(corpora.values())))
    accuracies = [[name, *(f"{100 * found[name]['accuracy']:.1f}" for found in corpora.values())] for name in names]
    return (
        f"20 Newsgroups: {result['texts']:,} texts, {result['words']:,} words, {result['dim']} dimensions; "
        f"{THREADS} threads unless told otherwise. One and {THREADS} threads gave {bits} bits.\n\n"
        + table(["", "seconds", "epochs", "words per second", "accuracy"], rows)
        + "\n\nAccuracies on the other corpora, each in about the time of JointVectors:\n\n"
        + table(["", *corpora], accuracies)
    )


def _learned(learner: JointVectors, task: Task) -> dict[str, float]:
    begun = time.perf_counter()
    learner.fit(task.texts)
    seconds = time.perf_counter() - begun
    return _row(seconds, len(learner.losses_), task, task.accuracy_of(learner.vectors_))


def _others(seconds: float, task: Task) -> dict[str, dict[str, float]]:
    return {name: _for_about(seconds, learn, task) for name, learn in _peers(task).items()}


def _row(seconds: float, epochs: int, task: Task, accuracy: float) -> dict[str, float]:
    each = epochs * task.words / seconds
    return {"seconds": seconds, "epochs": epochs, "words per second": each, "accuracy": accuracy}


def _for_about(goal: float, learn: Callable[[int], Callable[[], float]], task: Task) -> dict[str, float]:
    """Learn for as many epochs as fit into a number of seconds, by the time of one epoch."""
    begun = time.perf_counter()
    learn(1)
    epochs = max(1, round(goal / (time.perf_counter() - begun)))
    begun = time.perf_counter()
    judge = learn(epochs)
    return _row(time.perf_counter() - begun, epochs, task, judge())


def _peers(task: Task) -> dict[str, Callable[[int], Callable[[], float]]]:
    """Return those that are installed: each learns for a number of epochs, and returns how it is judged."""
    peers: dict[str, Callable[[int], Callable[[], float]]] = {}
    if find_spec("gensim") is not None:
        peers |= {
            "word2vec (gensim, skip-gram)": lambda n: _word2vec(n, task),
            "Doc2Vec (gensim, DBOW)": lambda n: _doc2vec(n, task),
        }
    if find_spec("fasttext") is not None:
        peers["fastText (skip-gram)"] = lambda n: _fasttext(n, task)
    return peers


def _word2vec(epochs: int, task: Task) -> Callable[[], float]:
    from gensim.models import Word2Vec

    how = {"vector_size": DIM, "min_count": MIN_COUNT, "negative": NEGATIVES, "workers": THREADS, "epochs": epochs}
    model = Word2Vec(task.lists, sg=1, seed=0, **how)
    return lambda: task.accuracy_of(WordVectors.load(model.wv))


def _doc2vec(epochs: int, task: Task) -> Callable[[], float]:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    tagged = [TaggedDocument(words, [i]) for i, words in enumerate(task.lists)]
    how = {"vector_size": DIM, "min_count": MIN_COUNT, "negative": NEGATIVES, "workers": THREADS, "epochs": epochs}
    model = Doc2Vec(tagged, dm=0, seed=0, **how)

    def judge() -> float:
        words = [Tokenizer()(text) for text in task.unseen]
        unseen = np.stack([model.infer_vector(list(each)) for each in words])
        return task.accuracy(np.stack([model.dv[i] for i in range(len(tagged))]), unseen)

    return judge


def _fasttext(epochs: int, task: Task) -> Callable[[], float]:
    from tempfile import NamedTemporaryFile

    import fasttext  # type: ignore[import-not-found]

    with NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(" ".join(words) for words in task.lists))
        file.flush()
        how = {"dim": DIM, "minCount": MIN_COUNT, "neg": NEGATIVES, "thread": THREADS, "epoch": epochs, "verbose": 0}
        model = fasttext.train_unsupervised(file.name, model="skipgram", **how)
    words = model.get_words()
    return lambda: task.accuracy_of(WordVectors.from_arrays(words, [model[word] for word in words]))

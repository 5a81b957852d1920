"""Learning word vectors from texts: words per second and accuracy, beside word2vec, Doc2Vec and fastText.

Run with ``python -m benchmarks joint``; it takes about ten minutes. All learn 300 dimensions from the 11,314 training
texts of 20 Newsgroups, tokenised alike, with the same number of threads: ours by its defaults, the others for about the
same wall time. The accuracy is that of a linear support vector machine on the test texts: on SPM for vectors of words,
on inferred vectors for Doc2Vec. fastText is left out if it is not installed.
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


class Task:
    """Texts to learn from, and how vectors of words or texts are judged."""

    def __init__(self) -> None:
        data = datasets.load("20news")
        assert data.train is not None
        self.labels, self.train = data.labels, data.train
        self.texts = [text for text, train in zip(data.texts, data.train, strict=True) if train]
        self.unseen = [text for text, train in zip(data.texts, data.train, strict=True) if not train]
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
    task = Task()
    JointVectors(DIM, epochs=1, n_jobs=THREADS).fit(task.texts[:100])  # compiles
    rows, ours = {}, {}
    for threads in sorted({1, THREADS}):
        begun = time.perf_counter()
        ours[threads] = JointVectors(DIM, n_jobs=threads).fit(task.texts)
        seconds, epochs = time.perf_counter() - begun, len(ours[threads].losses_)
        name = f"JointVectors, {threads} thread{'s' if threads > 1 else ''}"
        rows[name] = _row(seconds, epochs, task, task.accuracy_of(ours[threads].vectors_))
    same = len({learner.vectors_.fingerprint for learner in ours.values()}) == 1
    for name, learn in _peers(task).items():
        rows[name] = _for_about(seconds, learn, task)
    return {"texts": len(task.texts), "words": task.words, "dim": DIM, "same bits": same, "rows": rows}


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
    return (
        f"20 Newsgroups: {result['texts']:,} texts, {result['words']:,} words, {result['dim']} dimensions; "
        f"{THREADS} threads unless told otherwise. One and {THREADS} threads gave {bits} bits.\n\n"
        + table(["", "seconds", "epochs", "words per second", "accuracy"], rows)
    )


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

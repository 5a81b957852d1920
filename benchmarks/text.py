"""Text to sums of word vectors, beside scikit-learn, gensim and model2vec on the same texts and vocabulary.

Run with ``python -m benchmarks.text``. The texts are raw 20 Newsgroups if scikit-learn's cache has them, otherwise the
embedded docstrings, five times. All start from a Python list of strings; times are the best of several repeats on one
core.
"""

from benchmarks.measure import best, table

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.utils import simple_preprocess
from model2vec import StaticModel
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import CountVectorizer
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from parasphere import WordVectors, datasets
from parasphere.text import count_matrix
from parasphere import Tokenizer as Words
from parasphere._kernels import sum_rows
from parasphere.model import Reader
from parasphere.vectors import GLOVE
from parasphere.text import Strings

LETTERS = r"[^\W\d_]+"
BARS = {
    "scikit-learn CountVectorizer + sparse product": 8,
    "gensim simple_preprocess + mean": 15,
    "model2vec encode": 20,
}
GIGABYTE = 1_000_000_000
MEMORY_BAR = 1.5e9


def corpus() -> tuple[str, list[str]]:
    """Return the name of the corpus, and its texts."""
    try:
        return "20 Newsgroups, raw", fetch_20newsgroups(subset="all", download_if_missing=False).data
    except OSError:
        return "embedded docstrings, five times", datasets.load("docstrings").texts * 5


def scikit_learn(vectors: WordVectors, texts: list[str]) -> NDArray[np.float64]:
    vectorizer = CountVectorizer(token_pattern=LETTERS, vocabulary=vectors.vocabulary.words, dtype=np.float32)
    return vectorizer.transform(texts) @ vectors.matrix


def gensim_mean(keyed: KeyedVectors, texts: list[str]) -> NDArray[np.float32]:
    means = np.zeros((len(texts), keyed.vector_size), np.float32)
    for i, text in enumerate(texts):
        rows = [
            keyed.key_to_index[w] for w in simple_preprocess(text, min_len=1, max_len=99) if w in keyed.key_to_index
        ]
        if rows:
            means[i] = keyed.vectors[rows].mean(axis=0)
    return means


def static_model(vectors: WordVectors) -> StaticModel:
    """Build a model2vec model with the same words and vectors."""
    words = {word: row for row, word in enumerate(vectors.vocabulary.words)}
    words["[UNK]"] = len(words)
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(pattern=Regex(r"[^\p{L}]+"), behavior="removed")
    return StaticModel(np.vstack([vectors.matrix, np.zeros(vectors.dim, np.float32)]), tokenizer, max_length=None)


def floor(vectors: WordVectors, texts: list[str]) -> float:
    """Return the seconds of reading the bytes and summing the rows, without tokenizing: a lower bound."""
    reader = Reader(vectors, Words())
    ids, ends = reader.lookup.ids(texts)
    out = reader.empty(len(texts))
    data = Strings.of(texts).data

    def gather() -> None:
        data.sum()
        into = (out.sums, out.lengths, out.squared_norms, out.unknown, out.squared_weights)
        sum_rows(ids, ends, vectors.matrix, None, 0.0, *into)

    gather()
    return best(gather)


def run() -> dict[str, Any]:
    """Measure all in one process, one after another."""
    name, texts = corpus()
    vectors = WordVectors.load(GLOVE)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    bags = Reader(vectors).read(texts)
    keyed = KeyedVectors(vectors.dim)
    keyed.add_vectors(vectors.vocabulary.words, np.array(vectors.matrix))
    model = static_model(vectors)

    # The peers must do the same work: their vectors are ours where the tokens are.
    np.testing.assert_allclose(scikit_learn(vectors, texts[:500]), bags.sums[:500], atol=2e-2, rtol=1e-3)
    ours = bags.sums[:500] / np.maximum(1, (bags.lengths + bags.unknown)[:500, None])
    agreement = np.mean([_cosine(a, b) for a, b in zip(model.encode(texts[:500]), ours, strict=True)])
    assert agreement > 0.99, agreement

    count_words = [word for word in vectors.vocabulary.words if word.isalpha()][:50_000]
    small = WordVectors.from_arrays(count_words, np.ones((len(count_words), 2), np.float32)).vocabulary
    seconds = {
        "parasphere": best(lambda: Reader(vectors).read(texts), 7),
        "parasphere, two threads": best(lambda: Reader(vectors).read(texts, n_jobs=2), 7),
        "read the text and gather the rows, no more": floor(vectors, texts),
        "scikit-learn CountVectorizer + sparse product": best(lambda: scikit_learn(vectors, texts), 2),
        "gensim simple_preprocess + mean": best(lambda: gensim_mean(keyed, texts), 2),
        "model2vec encode": best(lambda: model.encode(texts, use_multiprocessing=False), 2),
    }
    counts = {
        "parasphere": best(lambda: count_matrix(texts, small)),
        "scikit-learn": best(
            lambda: CountVectorizer(token_pattern=LETTERS, vocabulary=count_words).transform(texts), 2
        ),
    }
    return {
        "corpus": name, "documents": len(texts), "megabytes": megabytes, "vectors": repr(vectors),
        "seconds": seconds, "bars": BARS, "count_matrix_seconds": counts, "memory": memory(),
    }  # fmt: skip


def _cosine(a: NDArray[Any], b: NDArray[Any]) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 1.0


READER = """
import resource, sys, time
from pathlib import Path
from parasphere import WordVectors
from parasphere.model import Reader
vectors = WordVectors.load("glove-6b-50d")
start = time.perf_counter()
bags = Reader(vectors).read(Path(sys.argv[1]))
print(len(bags), time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def memory() -> dict[str, float]:
    """Read a generated text file of a gigabyte into bags in a fresh process; return its peak resident memory."""
    texts = [" ".join(text.split()) + "\n" for text in datasets.load("docstrings").texts]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.txt"
        rng = np.random.default_rng(0)
        with path.open("w") as file:
            while file.tell() < GIGABYTE:
                file.writelines(texts[i][:1500].rstrip() + "\n" for i in rng.integers(len(texts), size=1000))
        size = path.stat().st_size
        run = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True)
    documents, seconds, peak = map(float, run.stdout.split())
    assert peak < MEMORY_BAR, f"{peak / 1e9:.2f} GB resident for a text of {size / 1e9:.2f} GB"
    return {"text_bytes": size, "documents": documents, "seconds": seconds, "peak_resident_bytes": peak}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    seconds, megabytes = result["seconds"], result["megabytes"]
    rows = []
    for name, value in seconds.items():
        bar = result["bars"].get(name)
        rows.append([
            name, f"{value:.2f}", f"{megabytes / value:.1f}", f"{value / seconds['parasphere']:.1f}x",
            f">= {bar}x" if bar else "",
        ])  # fmt: skip
    held = result["memory"]
    counts = result["count_matrix_seconds"]
    return "\n\n".join([
        f"{result['corpus']}: {result['documents']:,} documents, {megabytes:.1f} MB; {result['vectors']}. One core.",
        table(["text to bags", "s", "MB/s", "time over ours", "bar"], rows),
        f"Sparse counts of 50,000 words: {counts['parasphere']:.2f} s, scikit-learn's CountVectorizer "
        f"{counts['scikit-learn']:.2f} s ({counts['scikit-learn'] / counts['parasphere']:.1f}x).",
        f"A text file of {held['text_bytes'] / 1e9:.2f} GB ({held['documents']:,.0f} documents) to bags: "
        f"{held['seconds']:.1f} s, {held['peak_resident_bytes'] / 1e9:.2f} GB of resident memory at most "
        f"(bar: under {MEMORY_BAR / 1e9} GB).",
    ])  # fmt: skip


if __name__ == "__main__":
    print(report(run()))

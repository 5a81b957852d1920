"""Embed the English vectors: ``python scripts/english/embed_english.py FILE.npz``, with a file of refine_english.py.

It writes src/parasphere/vectors/english-128: words, quantised rows, weights and provenance. The same file gives the
same bytes. The vectors are the default of the library, so other ones change the figures of the README, the docs,
results and benchmarks/results.

FILE.npz holds ``u``, (n_words, dim), and ``scale``, (n_words,): their product has the weight of a word as its length
and the vector as its direction. ``words`` are one UTF-8 string, separated by line feeds, the most frequent first;
``counts`` has the number of occurrences of each in the texts; ``provenance`` is JSON. Its missing facts are given by
--fact.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from quantise_english import save_quantised

from parasphere.vectors.english import english_folder

# The weight of unknown words is this share of the mean weight of the rarest words. Chosen among 0.5, 0.75 and 1 on the
# training and development parts of the STS benchmark, on Cranfield, and by classification within training texts.
UNKNOWN, RAREST = 0.75, 2_000
LARGEST = 12_000_000  # bytes of the whole folder
NEEDED = ("teachers", "files", "script", "seed", "commit")
LICENCE = """\
The word vectors english-128 (this folder) were learned by the scripts of scripts/english and are under the Apache
License 2.0, as the rest of parasphere. provenance.json names the files, the seeds and the commits. They are statistics
of:

gte-small          the sentence encoder whose vectors of texts they imitate, by Li et al. (2023), MIT License:
                   https://huggingface.co/thenlper/gte-small
GloVe 6B           a second teacher, by Pennington, Socher and Manning, Public Domain Dedication and License (PDDL):
                   https://nlp.stanford.edu/projects/glove
English Wikipedia  texts, by its contributors, CC BY-SA: https://en.wikipedia.org (no text of it is contained here)
WordNet 3          its definitions and examples, and sentences that scripts/english/everyday.py made of its words
                   (no text of it is contained here), Copyright 2006 by Princeton University, WordNet License:
                   https://wordnet.princeton.edu/license-and-commercial-use
STS benchmark      the scores that people gave to the pairs of sentences of its training part (no text of it is
                   contained here), by Cer et al. (2017), CC BY-SA 4.0: https://ixa2.si.ehu.eus/stswiki
"""


def embed(source: Path, facts: dict[str, str]) -> int:
    """Write the folder; return its size in bytes."""
    with np.load(source) as given:
        arrays = {name: given[name] for name in given.files}
    provenance: dict[str, Any] = json.loads(_text(arrays["provenance"])) if "provenance" in arrays else {}
    provenance |= facts
    if missing := [name for name in NEEDED if name not in provenance]:
        raise SystemExit(f"{source} has no fact {', '.join(missing)}; add --fact {missing[0]}=...")
    words = _text(arrays["words"]).split("\n")
    matrix = arrays["u"] * arrays["scale"].reshape(-1, 1)
    folder = english_folder()
    weights = _weights(matrix, arrays["counts"])
    unknown = round(UNKNOWN * float(weights[np.argsort(-arrays["counts"], kind="stable")[-RAREST:]].mean()), 3)
    save_quantised(folder, words, matrix, weights, unknown)
    provenance |= {"words": len(words), "dim": matrix.shape[1], "embedded_by": "scripts/english/embed_english.py"}
    provenance["made_from_sha256"] = hashlib.sha256(source.read_bytes()).hexdigest()
    text = json.dumps(provenance, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    (folder / "provenance.json").write_text(text, encoding="utf-8")
    (folder / "LICENCE.txt").write_text(LICENCE, encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir())
    if size > LARGEST:
        raise SystemExit(f"{folder} has {size:,} bytes; the limit is {LARGEST:,}.")
    return size


def _weights(matrix: NDArray[np.float32], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lengths of the rows, scaled to mean 1 over the occurrences of the embedded words."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    return np.asarray(lengths * (counts.sum() / (counts @ lengths)))


def _text(array: NDArray[Any]) -> str:
    return bytes(array.item()).decode() if array.dtype.kind == "S" else str(array.item())


def _fact(written: str) -> tuple[str, str]:
    name, _, value = written.partition("=")
    return name, value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="FILE.npz")
    parser.add_argument("--fact", type=_fact, action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    print(f"{embed(options.source, dict(options.fact)):,} bytes in {english_folder().name}")

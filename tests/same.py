"""What the library computes, as SHA-256 sums: ``python tests/same.py`` compares them with ``same.json``.

``python tests/same.py --write`` records them anew; the message of that commit says which changed, and why. The sums are
of bits. Products by BLAS and functions of the C library may differ in the last place between processors, so sums that
depend on them are compared only where ``machine()`` is that of the record; the others are compared everywhere.

``python tests/same.py --arrays FOLDER`` writes the results themselves to a folder, or if it has them, prints by how
much each result that differs does so: for changes that may move the last bits, and no more.
"""

import contextlib
import csv
import hashlib
import json
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from parasphere import (
    JointVectors,
    SphericalParagraphModel,
    SphericalTopics,
    Tokenizer,
    WordVectors,
    count_words,
    datasets,
    vmf,
)
from parasphere.corpus import blocks
from parasphere.search import Ids, duplicates
from parasphere.text import Strings

RECORD = Path(__file__).with_suffix(".json")
QUERIES = ["least squares", "Smooth a noisy signal.", "eigenvalues of a symmetric matrix", "random numbers"]
Outcome = dict[str, Any]
CHECKS: dict[str, Callable[[], Outcome]] = {}
PORTABLE = {"words", "bags", "files"}  # neither BLAS nor the C library's functions are used


def check(function: Callable[[], Outcome]) -> Callable[[], Outcome]:
    """Register a function that returns named results."""
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def digest(value: Any) -> str:
    """Return the SHA-256 sum of an array's type, shape and bits, or of the JSON of anything else."""
    if isinstance(value, Strings | Ids):
        value = value.tolist()
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        head = f"{array.dtype.str}{array.shape}".encode()
        return hashlib.sha256(head + array.tobytes()).hexdigest()
    if isinstance(value, float):
        value = value.hex()
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def machine() -> str:
    """Return a sum that tells apart processors and libraries whose last bits differ."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(300, 128)), rng.normal(size=(128, 200))
    with threadpool_limits(1):
        parts = [
            one @ other,
            one.astype(np.float32) @ other.astype(np.float32),
            np.linalg.eigh(other @ other.T)[1],
            np.exp(one),
            np.log(abs(one)),
        ]
    return digest([digest(part) for part in parts])


def small_vectors() -> WordVectors:
    """Return 20 columns of the first 6,000 words of english-128, without weights."""
    vectors = WordVectors.load("english-128")
    words = [vectors.vocabulary.word(i) for i in range(6000)]
    return WordVectors.from_arrays(words, np.asarray(vectors.matrix[:6000, :20]))


def texts() -> list[str]:
    return list(datasets.load("docstrings").texts)


@cache
def fitted() -> SphericalParagraphModel:
    return SphericalParagraphModel(adapt=False).fit(texts())


def learned(model: SphericalParagraphModel) -> Outcome:
    """Return what a fit learned."""
    return {
        "mean direction": model.mean_direction_,
        "concentration": model.concentration_,
        "word cosine": model.word_cosine_,
        "evidence": model.evidence_,
    }


@check
def words() -> Outcome:
    names, counts = count_words(texts(), Tokenizer(digits=True))
    few = count_words(["Ünïcode STRASSE ﬁsh 北京 ΣΑΣ İstanbul", "", "e\u0301te\u0301 x_1 2b 3.5"], Tokenizer.paper())
    return {"names": list(names), "counts": np.asarray(counts), "few": [list(few[0]), np.asarray(few[1]).tolist()]}


@check
def bags() -> Outcome:
    read = fitted().read([*texts(), "", "zyxomatic frobnicator", "a " * 1000])
    two = SphericalParagraphModel(adapt=False, n_jobs=2).fit(texts()).read(texts())
    one = fitted().read([texts()[7]])
    names = ("sums", "lengths", "squared_norms", "unknown", "squared_weights")
    return {name: getattr(read, name) for name in names} | {"two threads": two.sums, "one text": one.sums}


@check
def default_model() -> Outcome:
    model, corpus = fitted(), texts()
    posterior = model.posterior([*corpus, "", "zyxomatic"])
    match = model.explain_match(corpus[3], corpus[4])
    return learned(model) | {
        "offset": model.transform(corpus),
        "direction": model.transform(corpus, space="direction"),
        "information": posterior.information,
        "kappa": posterior.concentration,
        "word kappa": posterior.word_concentration,
        "log likelihood": posterior.log_likelihood,
        "compare": model.compare(corpus[:50], corpus[50:100]),
        "match": [[word for word, _ in match.words_a], [part.hex() for _, part in match.words_a]],
    }


@check
def paper() -> Outcome:
    model = SphericalParagraphModel.paper(small_vectors(), random_state=3, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(texts())
    return learned(model) | {"direction": model.transform(texts())}


@check
def partial_fit() -> Outcome:
    model, corpus = SphericalParagraphModel(), texts()
    for begin in range(0, len(corpus), 300):
        model.partial_fit(corpus[begin : begin + 300])
    return learned(model) | {"offset": model.transform(corpus[:100])}


@check
def joint_vectors() -> Outcome:
    found = {}
    for threads in (1, 2):
        learner = JointVectors(dim=40, start=small_vectors(), epochs=2, n_jobs=threads).fit(texts())
        found |= {
            f"matrix, {threads} threads": np.asarray(learner.vectors_.matrix),
            f"weights, {threads} threads": np.asarray(learner.vectors_.weights),
            f"losses, {threads} threads": learner.held_out_losses_,
        }
    found["default epochs"] = JointVectors(start=small_vectors()).fit(texts()[:200]).losses_
    return found


@check
def search() -> Outcome:
    corpus = datasets.load("docstrings")
    index = fitted().index(corpus.texts, corpus.ids)
    found: Outcome = {"weight": index.fusion.weight, "scale": index.fusion.scale}
    for weight in (None, 0.0, 0.3, 1.0):
        hits = index.search(QUERIES, 20, weight=weight)
        found[f"ids, weight {weight}"] = [[hit.id for hit in each] for each in hits]
        found[f"scores, weight {weight}"] = np.array([[hit.score for hit in each] for each in hits])
        found[f"similarities, weight {weight}"] = np.array([[hit.similarity for hit in each] for each in hits])
    return found


@check
def near_duplicates() -> Outcome:
    corpus = texts()[:600]
    edited = [text.replace("array", "matrix", 2) for text in corpus[::5]]
    found = duplicates([*corpus, *edited], 0.5)
    return {"groups": list(found), "links": [[*link[:2], float(link[2]).hex()] for link in found.links]}


@check
def topics() -> Outcome:
    found = SphericalTopics(SphericalParagraphModel(adapt=False), random_state=0).fit(texts())
    return {
        "labels": found.labels_,
        "words": found.topic_words(10),
        "probabilities": found.transform(texts()[:200]),
    }


@check
def von_mises_fisher() -> Outcome:
    kappa = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 400)])
    lengths = np.concatenate([[0.0], np.linspace(1e-6, 1 - 1e-9, 200)])
    found: Outcome = {}
    for dim in (2, 3, 17, 128, 300, 10_000):
        for function in (vmf.log_partition, vmf.mean_length, vmf.mean_length_slope, vmf.entropy):
            found[f"{function.__name__}, {dim}"] = function(kappa, dim)
        found[f"concentration, {dim}"] = vmf.concentration(lengths, dim)
        found[f"banerjee, {dim}"] = vmf.concentration(lengths, dim, method="banerjee")
    found["sample"] = vmf.sample(np.eye(5)[0], 40.0, (100,), np.random.default_rng(2))
    return found


@check
def files() -> Outcome:
    some = [text.replace("\r", "")[:300] for text in texts()[:40]]
    lines = [" ".join(text.split()) for text in some]
    names = [f"t{i}" for i in range(len(some))]
    found: Outcome = {}
    with tempfile.TemporaryDirectory() as name:
        for path, options in _written(Path(name), some, lines, names):
            parts = list(blocks(path, **options))
            found[path.name] = [text for block in parts for text in block.texts]
            if "id" in options:
                found[f"ids of {path.name}"] = [text for block in parts for text in block.ids]
        vectors = WordVectors.from_arrays(["north", "east"], np.array([[0.0, 1.0], [1.0, 0.0]]))
        for ending in (".txt", ".bin", ".vec"):
            vectors.write(Path(name, f"v{ending}"))
            found[f"vectors{ending}"] = np.asarray(WordVectors.load(Path(name, f"v{ending}")).matrix)
    return found


def _written(
    folder: Path, some: list[str], lines: list[str], names: list[str]
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Write texts in every format; yield the paths and how they are read."""
    import bz2
    import gzip
    import lzma

    rows = [{"text": text, "name": name} for text, name in zip(some, names, strict=True)]
    plain = folder / "lines.txt"
    plain.write_text("\n".join(lines) + "\n")
    yield plain, {}
    for ending, module in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        path = folder / f"lines.txt{ending}"
        path.write_bytes(module.compress(plain.read_bytes()))
        yield path, {}
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rows.json").write_text(json.dumps(rows))
    for ending, delimiter in ((".csv", ","), (".tsv", "\t")):
        with (folder / f"rows{ending}").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["text", "name"], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    for ending in (".jsonl", ".json", ".csv", ".tsv", ".parquet"):
        yield folder / f"rows{ending}", {"id": "name"}
    (folder / "folder").mkdir()
    for name, text in zip(names[:5], some, strict=False):
        (folder / "folder" / f"{name}.txt").write_text(text)
    yield folder / "folder", {}


def results() -> dict[str, Outcome]:
    """Run all checks and return their results."""
    with warnings.catch_warnings(), threadpool_limits(1):  # the bits of BLAS depend on the number of its threads
        warnings.simplefilter("ignore")
        return {name: function() for name, function in CHECKS.items()}


def sums() -> dict[str, dict[str, str]]:
    """Run all checks and return the sum of each result."""
    return {name: {key: digest(value) for key, value in found.items()} for name, found in results().items()}


def distance(one: Any, other: Any) -> str:
    """Return how far two results are apart, relative to the largest number of the first; or that they differ."""
    if not isinstance(one, np.ndarray | float) or np.shape(one) != np.shape(other):
        return "other values"
    largest = float(np.abs(one).max(initial=0.0)) or 1.0
    return f"{float(np.abs(np.asarray(one, np.float64) - other).max(initial=0.0)) / largest:.1e}"


def compare_arrays(folder: Path) -> None:
    """Write the results to a folder, or print by how much they differ from those that are there."""
    kept = folder / "results.pickle"  # of one's own making
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        plain = {
            name: {key: value.tolist() if isinstance(value, Strings | Ids) else value for key, value in found.items()}
            for name, found in results().items()
        }
        kept.write_bytes(pickle.dumps(plain))
        return
    for name, before in pickle.loads(kept.read_bytes()).items():
        after = CHECKS[name]() if name in CHECKS else {}
        for key, value in before.items():
            if key not in after:
                print(f"{name}: {key}: gone")
            elif digest(value) != digest(after[key]):
                print(f"{name}: {key}: {distance(value, after[key])}")


def differences(found: dict[str, dict[str, str]]) -> list[str]:
    """Return the results whose sums are not those of the record."""
    record = json.loads(RECORD.read_text())
    same_machine = record["machine"] == machine()
    changed = []
    for name in sorted(found.keys() | record["sums"].keys()):
        one, other = found.get(name, {}), record["sums"].get(name, {})
        if same_machine or name in PORTABLE:
            changed += [f"{name}: {key}" for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key)]
        elif one.keys() != other.keys():
            changed.append(f"{name}: other results")
    return changed


def main() -> None:
    if "--arrays" in sys.argv:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            compare_arrays(Path(sys.argv[-1]))
        return
    found = sums()
    if "--write" in sys.argv:
        with contextlib.suppress(FileNotFoundError):
            print("\n".join(f"changed: {line}" for line in differences(found)))
        RECORD.write_text(json.dumps({"machine": machine(), "sums": found}, indent=1, sort_keys=True) + "\n")
        return
    changed = differences(found)
    print("\n".join(changed) or f"{sum(map(len, found.values()))} results are the same")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()

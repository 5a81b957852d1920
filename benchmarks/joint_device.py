"""Learning word vectors on a GPU: ``python -m benchmarks joint_device``, on a machine with CUDA.

JointVectors learns 300 dimensions from the 11,314 training texts of 20 Newsgroups, on the device and with compiled
loops on all cores, and from the sentences of PARASPHERE_BENCH_TEXT on the device. The accuracy is that of a linear
support vector machine on the test texts.
"""

from benchmarks.measure import table

import lzma
import os
import re
import time
from typing import Any

from parasphere import JointVectors

from .joint import DIM, Task

SENTENCES = 1_000_000
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    import torch

    task = Task()
    JointVectors(DIM, epochs=1, device="cuda").fit(task.texts[:200])  # loads kernels
    JointVectors(DIM, epochs=1, n_jobs=-1).fit(task.texts[:200])  # compiles
    rows = {
        "20 Newsgroups, device": _learned(task.texts, task, device="cuda"),
        "Wikipedia, device": _learned(sentences(), None, device="cuda"),
        "20 Newsgroups, all cores": _learned(task.texts, task, n_jobs=-1),
    }
    return {"device": torch.cuda.get_device_name(), "cores": os.cpu_count(), "dim": DIM, "rows": rows}


def sentences() -> list[str]:
    """Return a million sentences; where the text has fewer, further halves of its sentences."""
    with lzma.open(os.environ["PARASPHERE_BENCH_TEXT"], "rt", encoding="utf-8") as lines:
        found = [sentence for line in lines for sentence in SENTENCE_END.split(line.strip()) if len(sentence) > 20]
    halves = (sentence[: len(sentence) // 2] for sentence in found)
    return (found + [half for half, _ in zip(halves, range(SENTENCES - len(found)), strict=False)])[:SENTENCES]


def report(result: dict[str, Any]) -> str:
    rows = [
        [name, f"{row['texts']:,}", f"{row['words']:,}", row["epochs"], f"{row['seconds']:.1f}",
         f"{row['held out']:.3f}", "–" if row["accuracy"] is None else f"{100 * row['accuracy']:.1f}"]
        for name, row in result["rows"].items()
    ]  # fmt: skip
    heads = ["", "texts", "words", "epochs", "seconds", "held-out loss", "accuracy"]
    return f"{result['device']}, {result['cores']} cores; {result['dim']} dimensions.\n\n" + table(heads, rows)


def _learned(texts: list[str], task: Task | None, **where: Any) -> dict[str, Any]:
    begun = time.perf_counter()
    learner = JointVectors(DIM, **where).fit(texts)
    seconds = time.perf_counter() - begun
    row = {
        "texts": len(texts),
        "words": len(learner.vectors_.words),
        "epochs": len(learner.losses_),
        "seconds": seconds,
        "held out": float(learner.held_out_losses_[-1]),
        "accuracy": None if task is None else task.accuracy_of(learner.vectors_),
    }
    print(where, row, flush=True)  # the rest may take minutes
    return row

"""Cost of a fresh process: importing, fitting and loading before the first vector, and the command line.

``python -m benchmarks coldstart`` starts each process several times on one core, without a cache, and adds up the files
of the library and its dependencies; beside model2vec with the same vectors in its format.
"""

from benchmarks.measure import table

import json
import os
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import parasphere

ROUNDS = 5
NEEDED = "import numpy, sklearn.base, orjson"  # imports that the model needs anyway
IMPORT = "from parasphere import SphericalParagraphModel"
IMPORT_BAR = 1.5
VECTORS = """
from parasphere import WordVectors
assert WordVectors.load()["lake"].shape == (128,)
"""
FIT = """
from parasphere import SphericalParagraphModel
model = SphericalParagraphModel(tol=1e-3).fit([f"the {a} of the {b}" for a in WORDS for b in WORDS])
assert model.transform(["a boat on the lake"]).shape == (1, 128)
"""
SERVE = """
from parasphere import SphericalParagraphModel
assert SphericalParagraphModel.load(MODEL).transform(["a boat on the lake"]).shape == (1, 128)
"""
SAVE = (
    FIT
    + """
model.save(MODEL)
model.write_static(MODEL + "-static", space="direction")
model.index([f"the {a} of the {b}" for a in WORDS for b in WORDS]).save(MODEL + "-index")
"""
)
THEIRS = """
from model2vec import StaticModel
assert StaticModel.from_pretrained(MODEL + "-static").encode(["a boat on the lake"]).shape == (1, 128)
"""
COMMANDS = ["--version", "--help", "fit --help", "fti"]
WORDS = "sea lake hill fire wood road river stone bread wine".split()

# Reported by the child process: user and system CPU time (the latter is many times larger on a machine short of memory,
# where pages are read again: major faults), and the peak of its resident memory.
REPORT = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print([used.ru_utime, used.ru_stime, used.ru_maxrss / 1024, used.ru_majflt])
"""


def measure(script: str, environment: dict[str, str], rounds: int = ROUNDS) -> dict[str, Any]:
    """Run a script in fresh processes on one core; return the medians, and the range of CPU seconds."""
    runs = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script + REPORT], env=environment, check=True, text=True,
            stdout=subprocess.PIPE, preexec_fn=_on_one_core,
        )  # fmt: skip
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    user, system, peak, faults = (list(column) for column in zip(*runs, strict=True))
    cpu = [u + s for u, s in zip(user, system, strict=True)]
    return {
        "cpu": statistics.median(cpu),
        "cpu_range": [min(cpu), max(cpu)],
        "system": statistics.median(system),
        "peak": statistics.median(peak),
        "major_faults": faults,
    }


def run() -> dict[str, Any]:
    """Measure everything; CPU seconds and megabytes by name."""
    with tempfile.TemporaryDirectory() as folder:
        made = f"MODEL, WORDS = {str(Path(folder, 'model'))!r}, {WORDS!r}\n"
        alone = {**os.environ, "PARASPHERE_CACHE": str(Path(os.devnull, "cache"))}
        result: dict[str, Any] = {line: measure(line + "\n", alone) for line in (NEEDED, IMPORT)}
        result["load the default vectors, then one word"] = measure(VECTORS, alone)
        result["fit, then one text"] = measure(made + FIT, alone)
        subprocess.run([sys.executable, "-c", made + SAVE], env=alone, check=True)
        result["load a model, then one text"] = measure(made + SERVE, alone)
        result["model2vec: load the same vectors, then one text"] = measure(made + THEIRS, alone)
        for line in COMMANDS:
            result[f"parasphere {line}"] = measure(_command(line), alone)
        result["parasphere search INDEX lake"] = measure(_command(f"search {folder}/model-index lake"), alone)
    return {"processes": result, "installed": {name: installed(name) for name in ("parasphere", "model2vec")}}


def installed(name: str) -> float:
    """Return the megabytes of a distribution and its dependencies, without extras."""
    names, waiting = set(), [name]
    total = 0
    while waiting:
        one = canonicalize_name(waiting.pop())
        if one in names:
            continue
        names.add(one)
        found = metadata.distribution(one)
        files = (Path(str(found.locate_file(file))) for file in found.files or [])
        total += sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
        needs = (Requirement(line) for line in found.requires or [])
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    if name == "parasphere":  # an editable install has its files elsewhere
        sources = Path(parasphere.__file__).parent.rglob("*")
        total += sum(file.stat().st_size for file in sources if file.is_file() and file.suffix not in (".pyc", ".so"))
    return total / 1e6


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = [
        [name, f"{cost['cpu']:.2f}", f"{cost['cpu_range'][0]:.2f} to {cost['cpu_range'][1]:.2f}",
         f"{cost['system']:.2f}", f"{cost['peak']:.0f}", f"{max(cost['major_faults']):,}"]
        for name, cost in result["processes"].items()
    ]  # fmt: skip
    columns = ["a fresh process, on one core", "CPU s", "range", "of it system", "peak MB", "most major faults"]
    processes, sizes = result["processes"], result["installed"]
    ratio = processes[IMPORT]["cpu"] / processes[NEEDED]["cpu"]
    intro = (
        f"Medians of {ROUNDS} processes, from the start of Python to the end of the work. Importing the model costs "
        f"{ratio:.2f} times the imports that it needs anyway (bar: at most {IMPORT_BAR}). Installed with all "
        f"dependencies and without byte code, parasphere takes {sizes['parasphere']:.0f} MB, model2vec "
        f"{sizes['model2vec']:.0f} MB."
    )
    return f"{intro}\n\n{table(columns, rows)}"


def _command(line: str) -> str:
    return (
        "import contextlib, io, sys\nfrom parasphere.cli import main\n"
        f"sys.argv = ['parasphere', *{line.split()!r}]\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()), "
        "contextlib.redirect_stderr(io.StringIO()):\n    main()\n"
    )


def _on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    print(report(run()))

"""Run all benchmarks, or those named, as in ``python -m benchmarks text model``; the names are in ``NAMES``.

Each report is printed and written to ``benchmarks/results/NAME.json`` and ``NAME.md``.
"""

import importlib
import json
import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import benchmarks.measure  # noqa: F401  (sets one thread before numpy is imported)

NAMES = [
    "vectors", "text", "model", "search", "joint", "held", "duplicates", "encoders", "cluster", "topics", "calibration",
    "ecosystem", "service", "adapting", "collections", "packages", "classify",
    "coldstart", "vmf",
]  # fmt: skip
RESULTS = Path(__file__).parent / "results"
PEERS = [
    "parasphere", "numpy", "scipy", "scikit-learn", "gensim", "model2vec", "sentence-transformers",
    "wordllama", "bm25s", "PyStemmer",
]  # fmt: skip


def main(names: list[str]) -> None:
    for name in names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        result = module.run()
        made = {
            "command": f"python -m benchmarks {name}",
            "date": date.today().isoformat(),
            "commit": _commit(),
            "machine": f"{_processor()}, Python {platform.python_version()}",
            "versions": {peer: number for peer in PEERS if (number := _version(peer))},
        }
        text = module.report(result)
        print(f"\n# {name}\n\n{text}\n")
        (RESULTS / f"{name}.json").write_text(json.dumps({**made, "result": result}, indent=1) + "\n")
        by = f"Written by `{made['command']}` on {made['date']} at commit {made['commit']} ({made['machine']})."
        versions = ", ".join(f"{peer} {number}" for peer, number in made["versions"].items())
        (RESULTS / f"{name}.md").write_text(f"# {name}\n\n{text}\n\n{by} {versions}.\n")


def _version(peer: str) -> str | None:
    try:
        return version(peer)
    except PackageNotFoundError:
        return None


def _commit() -> str:
    """Return the measured commit, with ``-dirty`` if source files differ from it."""
    git = ["git", "-C", str(RESULTS)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    differs = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", ":/src", ":/reproduction", ":/benchmarks/*.py"], check=False
    )
    return name.strip() + "-dirty" * bool(differs.returncode)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = (line.split(": ")[1] for line in lines if line.startswith("model name"))  # ARM has none
    return next(named, platform.processor() or platform.machine())


if __name__ == "__main__":
    main(sys.argv[1:])

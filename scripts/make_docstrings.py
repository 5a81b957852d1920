"""Make the embedded corpus, src/parasphere/datasets/docstrings.jsonl.xz: ``python scripts/make_docstrings.py``.

It reads the docstrings of the installed numpy, scipy and scikit-learn, so other versions make another corpus: change it
only on purpose, with the count and the hash in tests/datasets/test_datasets.py and the figures of the README.
"""

import importlib
import inspect
import io
import json
import lzma
import re
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "parasphere" / "datasets" / "docstrings.jsonl.xz"
LIBRARIES = ("numpy", "scipy", "scikit-learn")
MIN_WORDS = 20  # of a docstring; shorter ones, such as "Alias of ...", are left out

# area -> the public modules whose functions and classes belong to it
AREAS = {
    "arrays": ("numpy",),
    "clustering": ("sklearn.cluster", "sklearn.mixture", "scipy.cluster.hierarchy", "scipy.cluster.vq"),
    "fourier transforms": ("numpy.fft", "scipy.fft"),
    "images": ("scipy.ndimage", "sklearn.feature_extraction.image"),
    "integration": ("scipy.integrate",),
    "interpolation": ("scipy.interpolate",),
    "linear algebra": ("numpy.linalg", "scipy.linalg", "scipy.sparse.linalg"),
    "model evaluation": ("sklearn.metrics", "sklearn.model_selection"),
    "optimisation": ("scipy.optimize",),
    "predictive models": (
        "sklearn.ensemble", "sklearn.linear_model", "sklearn.naive_bayes", "sklearn.neighbors",
        "sklearn.neural_network", "sklearn.svm", "sklearn.tree",
    ),
    "signal processing": ("scipy.signal",),
    "special functions": ("scipy.special",),
    "statistics": ("scipy.stats", "numpy.random"),
}  # fmt: skip


def corpus() -> list[Any]:
    """Return the lines of the file: its origin, then (id, label, text) per document."""
    areas = sorted(AREAS)
    for modules in AREAS.values():  # all of them first: scipy writes into the docstring of numpy.sinc
        for module in modules:
            quietly(importlib.import_module, module)
    documents: dict[str, tuple[str, int, str]] = {}  # by text: an alias has the docstring of another
    for label, area in enumerate(areas):
        for module in AREAS[area]:
            for name, text in quietly(documented, module):
                documents.setdefault(text, (name, label, text))
    origin = {
        "made_from": {library: version(library) for library in LIBRARIES},
        "made_by": "scripts/make_docstrings.py",
        "licence": "BSD-3-Clause",
        "label_names": areas,
    }
    return [origin, *documents.values()]


def quietly(look: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function without the warnings and the output of modules that are imported for the first time."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return look(*arguments)


def documented(module: str) -> list[tuple[str, str]]:
    """Return the name and docstring of each public function and class of a module."""
    namespace = importlib.import_module(module)
    named = []
    for name in sorted(getattr(namespace, "__all__", dir(namespace))):
        member: Any = vars(namespace).get(name)
        if name.startswith("_") or not callable(member):
            continue
        text = settled(inspect.getdoc(member) or "")
        if len(text.split()) >= MIN_WORDS:
            named.append((f"{module}.{name}", text))
    return named


def settled(text: str) -> str:
    """Remove text that differs between processes: random results, addresses, the order of sets."""
    text = re.sub(r".*# may vary\n?", "", text)
    text = re.sub(r"\bat 0x[0-9a-f]+", "", text)
    return re.sub(r"\{'[\w', ]+'\}", lambda match: str(sorted(re.findall(r"\w+", match[0]))), text)


def main() -> None:
    """Write the file and print a summary."""
    lines = corpus()
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    packed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    TARGET.write_bytes(packed)
    print(f"{len(lines) - 1:,} documents of {lines[0]['made_from']}, {len(packed) / 1e6:.2f} MB, to {TARGET.name}")


if __name__ == "__main__":
    main()

"""An embedded corpus: the docstrings of the numeric libraries that parasphere itself stands on.

Each is labelled by the area of the library in which it is found. Nobody wrote them for this purpose, and nothing is
downloaded.
"""

import importlib
import inspect
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from typing import Any

import numpy as np

from .dataset import Dataset

MIN_WORDS = 20  # a shorter docstring ("Alias of ...") says too little

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


def docstrings() -> Dataset:
    """Return the docstrings of numpy, scipy and scikit-learn."""
    areas = sorted(AREAS)
    found: dict[str, tuple[str, str, int]] = {}  # text -> name, text, label: an alias repeats another's docstring
    for label, area in enumerate(areas):
        for module in AREAS[area]:
            for name, text in _documented(module):
                found.setdefault(text, (name, text, label))
    names, texts, labels = zip(*found.values(), strict=True)
    libraries = ", ".join(f"{library} {version(library)}" for library in ("numpy", "scipy", "scikit-learn"))
    return Dataset(
        name="docstrings",
        texts=list(texts),
        labels=np.array(labels),
        label_names=areas,
        ids=list(names),
        licence="BSD-3-Clause",
        citation=f"The docstrings of {libraries}, by their developers.",
    )


def _documented(module: str) -> Iterator[tuple[str, str]]:
    """Yield the name and docstring of each public function and class of a module."""
    # Looking at deprecated names warns, and some modules print when they are first imported: neither is news here.
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        namespace = importlib.import_module(module)
        for name in sorted(getattr(namespace, "__all__", dir(namespace))):
            member: Any = vars(namespace).get(name)
            if name.startswith("_") or not callable(member):
                continue
            text = _settled(inspect.getdoc(member) or "")
            if len(text.split()) >= MIN_WORDS:
                yield f"{module}.{name}", text


def _settled(text: str) -> str:
    """Remove what differs from process to process: random results, addresses, the order of a set."""
    text = re.sub(r".*# may vary\n?", "", text)
    text = re.sub(r"\bat 0x[0-9a-f]+", "", text)
    return re.sub(r"\{'[\w', ]+'\}", lambda found: str(sorted(re.findall(r"\w+", found[0]))), text)

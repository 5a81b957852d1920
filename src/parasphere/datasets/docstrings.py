"""A corpus that is part of the package: docstrings of numpy, scipy and scikit-learn.

Each is labelled by the area of the library that it belongs to. They are stored in a file beside this one, written by
``scripts/make_docstrings.py``, and do not depend on the installed versions; ``docstrings-licence.txt`` is their
licence.
"""

import json
import lzma
from importlib import resources

import numpy as np

from .dataset import Dataset


def docstrings() -> Dataset:
    """Return docstrings of numpy, scipy and scikit-learn."""
    packed = resources.files(__package__).joinpath("docstrings.jsonl.xz").read_bytes()
    origin, *documents = map(json.loads, lzma.decompress(packed).decode().strip().split("\n"))
    ids, labels, texts = zip(*documents, strict=True)
    libraries = ", ".join(f"{library} {version}" for library, version in origin["made_from"].items())
    return Dataset(
        name="docstrings",
        texts=list(texts),
        labels=np.array(labels),
        label_names=origin["label_names"],
        ids=list(ids),
        licence=origin["licence"],
        citation=f"The docstrings of {libraries}, by their developers.",
    )

import subprocess
import sys
from importlib import resources

import numpy as np
import pytest

from parasphere import datasets


def test_docstrings() -> None:
    corpus = datasets.load("docstrings")
    assert len(corpus.label_names) == 13
    assert len(corpus.texts) == len(corpus.labels) == len(corpus.ids) == len(set(corpus.texts))
    assert np.bincount(corpus.labels, minlength=13).min() >= 20
    place = corpus.ids.index("scipy.signal.firwin")
    assert corpus.label_names[corpus.labels[place]] == "signal processing"
    assert "filter" in corpus.texts[place]
    assert repr(corpus).startswith("Dataset 'docstrings'")


def test_docstrings_are_the_same_everywhere_and_no_library_is_asked() -> None:
    code = (
        "import hashlib, sys; from parasphere import datasets; c = datasets.load('docstrings')\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)\n"
        "content = '\\0'.join([*c.ids, *c.texts, *map(str, c.labels), *c.label_names])\n"
        "print(len(c), hashlib.sha256(content.encode()).hexdigest())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    # Change these only with the corpus itself (scripts/make_docstrings.py) and the figures made from it.
    assert told.split() == ["2004", "52e703606f6bacd8fd03c5d4e9d797930b5d8e9dbb56b46d3f417d39e50ff3e2"]


def test_docstrings_come_with_where_they_are_from_and_their_licence() -> None:
    corpus = datasets.load("docstrings")
    assert corpus.licence == "BSD-3-Clause"
    licence = resources.files(datasets).joinpath("docstrings-licence.txt").read_text(encoding="utf-8")
    for library in ("numpy 2.4.6", "scipy 1.17.1", "scikit-learn 1.9.1"):
        assert library in corpus.citation
        assert library in licence


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no corpus is called 'doctrings'; there is: docstrings"):
        datasets.load("doctrings")

import subprocess
import sys

import numpy as np
import pytest

from parasphere import datasets


def test_docstrings() -> None:
    corpus = datasets.load("docstrings")
    assert len(corpus.label_names) == 13
    assert len(corpus) > 1500
    assert len(corpus.texts) == len(corpus.labels) == len(corpus.ids) == len(set(corpus.texts))
    assert np.bincount(corpus.labels, minlength=13).min() >= 20
    place = corpus.ids.index("scipy.signal.firwin")
    assert corpus.label_names[corpus.labels[place]] == "signal processing"
    assert "filter" in corpus.texts[place]
    assert repr(corpus).startswith("Dataset 'docstrings'")


def test_docstrings_are_the_same_in_every_process() -> None:
    code = "from parasphere import datasets as d; c = d.load('docstrings'); print(c.ids, c.texts)"
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no corpus is called 'doctrings'; there are: docstrings, 20news-different"):
        datasets.load("doctrings")

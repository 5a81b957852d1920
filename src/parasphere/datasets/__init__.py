"""Labelled corpora that are part of the package: ``load("docstrings")`` needs no download."""

from .dataset import Dataset
from .docstrings import docstrings

__all__ = ["Dataset", "load"]


def load(name: str) -> Dataset:
    """Load a corpus by its name.

    Parameters
    ----------
    name : {"docstrings"}
        Docstrings of numpy, scipy and scikit-learn, labelled by their areas.

    Examples
    --------
    >>> corpus = load("docstrings")
    >>> len(corpus), len(corpus.label_names)
    (2004, 13)
    >>> corpus.ids[0], corpus.label_names[corpus.labels[0]]
    ('numpy.abs', 'arrays')
    """
    if name != "docstrings":
        raise ValueError(f"no corpus is called {name!r}; there is: docstrings")
    return docstrings()

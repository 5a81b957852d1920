"""The corpora and tasks of the experiments; all but ``load("docstrings")`` are read from existing caches.

20 Newsgroups is read by scikit-learn's loader, Reuters, Subj and MR by NLTK's, from the folders that
``SCIKIT_LEARN_DATA`` and ``NLTK_DATA`` name; the data of tasks that measure similarity from a folder that
``PARASPHERE_TASKS`` names (:mod:`reproduction.datasets.tasks`).
"""

from collections.abc import Callable
from functools import partial

from parasphere.datasets import Dataset
from parasphere.datasets import load as load_embedded

from .corpora import SUBSETS, movie_reviews, newsgroups, reuters, subjectivity
from .tasks import Collection, SentencePairs, collection, sentence_pairs, task_folder, texts_to_cluster

__all__ = [
    "Collection", "Dataset", "SentencePairs", "collection", "load", "names", "newsgroups", "sentence_pairs",
    "task_folder", "texts_to_cluster",
]  # fmt: skip

_LOADERS: dict[str, Callable[[], Dataset]] = {
    "docstrings": partial(load_embedded, "docstrings"),
    **{f"20news-{name}": partial(newsgroups, name) for name in SUBSETS},
    "20news": partial(newsgroups, None),
    "20news-headers": partial(newsgroups, None, headers=True),
    "reuters-10": reuters,
    "subj": subjectivity,
    "mr": movie_reviews,
}


def names() -> list[str]:
    """Return the names that :func:`load` takes."""
    return list(_LOADERS)


def load(name: str) -> Dataset:
    """Load a corpus by its name.

    Parameters
    ----------
    name : str
        "docstrings" (part of parasphere), "20news-different", "20news-similar", "20news-same", "20news" (all 20
        groups), "20news-headers" (the same with headers kept), "reuters-10", "subj" or "mr".

    Examples
    --------
    >>> len(load("docstrings"))
    2004
    """
    if name not in _LOADERS:
        raise ValueError(f"no corpus is called {name!r}; there are: {', '.join(_LOADERS)}")
    return _LOADERS[name]()

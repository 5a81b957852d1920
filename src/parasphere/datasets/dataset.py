"""A labelled corpus in memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """Labelled documents.

    Attributes
    ----------
    name : str
        The name of the corpus.
    texts : list of str
        The documents.
    labels : (n_docs,) int array
        The index of the label of each document in ``label_names``.
    label_names : list of str
        The names of the labels.
    ids : list of str
        The name of each document in its source.
    licence, citation : str
        The licence of the texts, and what to cite.
    train : (n_docs,) bool array, default=None
        Which documents are for training, if the corpus defines a split.
    """

    name: str
    texts: list[str]
    labels: NDArray[np.int64]
    label_names: list[str]
    ids: list[str]
    licence: str
    citation: str
    train: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        split = "" if self.train is None else f", {self.train.sum():,} of them for training"
        return f"Dataset {self.name!r}: {len(self):,} documents{split}, {len(self.label_names)} labels"

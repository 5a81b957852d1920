"""What a corpus is, once it is loaded."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """Labelled documents.

    Attributes
    ----------
    name : str
    texts : list of str
    labels : (n_docs,) int array
        Each document's place in ``label_names``.
    label_names : list of str
    ids : list of str
        What each document is called where it comes from.
    licence, citation : str
    train : (n_docs,) bool array or None
        Which documents are for training, where the corpus itself says so; otherwise folds are needed.
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

"""Texts as vectors on the unit sphere, with a sound probabilistic model."""

from . import datasets, vmf
from .bags import Bags
from .errors import CorpusError, MissingExtraError, ParasphereError, StoreError, VectorsError
from .tokens import Tokenizer, count_matrix, count_words
from .vectors import WordVectors
from .vocabulary import Vocabulary

__version__ = "0.1.0.dev0"

__all__ = [
    "Bags",
    "CorpusError",
    "MissingExtraError",
    "ParasphereError",
    "StoreError",
    "Tokenizer",
    "VectorsError",
    "Vocabulary",
    "WordVectors",
    "count_matrix",
    "count_words",
    "datasets",
    "vmf",
]

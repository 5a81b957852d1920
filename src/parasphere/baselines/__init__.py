"""The rivals: scikit-learn transformers from texts to vectors, one a file."""

from .bow import BagOfWords
from .cbow import MeanOfVectors

__all__ = ["BagOfWords", "MeanOfVectors"]

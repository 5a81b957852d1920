"""Baselines: scikit-learn transformers from texts to vectors, one per file."""

from .bow import BagOfWords
from .cbow import MeanOfVectors
from .fastsent import FastSent
from .fisher import FisherVector
from .lda import TopicsLDA
from .lsi import LatentSemanticIndex
from .minilm import MiniLM
from .movmf import MovMFTopics
from .nmf import NonnegativeFactors
from .plsi import ProbabilisticLatentSemanticIndex
from .pretrained import Pretrained
from .pv import ParagraphVectors
from .sam import SphericalAdmixtureTopics
from .sif import SmoothInverseFrequency, UnsupervisedSIF, WeightedMean
from .skipthought import SkipThought
from .tfidf import TfIdf

__all__ = [
    "BagOfWords", "FastSent", "FisherVector", "LatentSemanticIndex", "MeanOfVectors", "MiniLM", "MovMFTopics",
    "NonnegativeFactors", "ParagraphVectors", "Pretrained", "ProbabilisticLatentSemanticIndex", "SkipThought",
    "SmoothInverseFrequency", "SphericalAdmixtureTopics", "TfIdf", "TopicsLDA", "UnsupervisedSIF", "WeightedMean",
]  # fmt: skip

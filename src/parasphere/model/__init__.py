"""The Spherical Paragraph Model: its equations, EM, posteriors, explanations, search, and the estimator."""

from .comparing import MatchExplanation
from .ecosystem import langchain_embeddings
from .em import Online, Run, Sampled
from .equations import Prior
from .estimator import SphericalParagraphModel
from .explain import Explanation
from .exports import writer
from .index import Index
from .near_duplicates import Duplicate, duplicates
from .posterior import Posterior
from .search import Match
from .statistics import CorpusStatistics, Partition

__all__ = [
    "CorpusStatistics",
    "Duplicate",
    "Explanation",
    "Index",
    "Match",
    "MatchExplanation",
    "Online",
    "Partition",
    "Posterior",
    "Prior",
    "Run",
    "Sampled",
    "SphericalParagraphModel",
    "duplicates",
    "langchain_embeddings",
    "writer",
]

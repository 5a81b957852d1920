"""The Spherical Paragraph Model: its equations, EM, posteriors, explanations, search, and the estimator."""

from .comparing import MatchExplanation
from .ecosystem import langchain_embeddings
from .em import Online, Sampled
from .equations import Prior
from .estimator import SphericalParagraphModel
from .explain import Explanation
from .exports import writer
from .index import Index
from .near_duplicates import Duplicate, duplicates
from .posterior import FacetPosterior, Posterior
from .search import Match

__all__ = [
    "Duplicate",
    "Explanation",
    "FacetPosterior",
    "Index",
    "Match",
    "MatchExplanation",
    "Online",
    "Posterior",
    "Prior",
    "Sampled",
    "SphericalParagraphModel",
    "duplicates",
    "langchain_embeddings",
    "writer",
]

"""The Spherical Paragraph Model: its equations, EM, posteriors, explanations, search, and the estimator."""

from .comparing import MatchExplanation
from .em import Online, Sampled
from .equations import Prior
from .estimator import SphericalParagraphModel
from .explain import Explanation
from .exports import writer
from .index import Index
from .posterior import FacetPosterior, Posterior
from .search import Match

__all__ = [
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
    "writer",
]

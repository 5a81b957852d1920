"""The Spherical Paragraph Model: texts to bags, its equations, EM, posteriors and explanations."""

from .bags import Bags
from .comparing import MatchExplanation
from .ecosystem import langchain_embeddings
from .em import Online, Run, Sampled
from .equations import Prior
from .explain import Explanation
from .exports import writer
from .inputs import as_texts, first_texts, held_texts
from .posterior import Posterior
from .reader import Reader, n_threads
from .scatter import Scatter
from .similar import Match
from .statistics import CorpusStatistics, Partition

__all__ = [
    "Bags",
    "CorpusStatistics",
    "Explanation",
    "Match",
    "MatchExplanation",
    "Online",
    "Partition",
    "Posterior",
    "Prior",
    "Reader",
    "Run",
    "Sampled",
    "Scatter",
    "as_texts",
    "first_texts",
    "held_texts",
    "langchain_embeddings",
    "n_threads",
    "writer",
]

"""The Spherical Paragraph Model: texts to bags, its equations, EM, posteriors and explanations."""

from .bags import Bags
from .comparing import MatchExplanation, explain_match
from .ecosystem import langchain_embeddings
from .em import Online, Run, Sampled
from .equations import Prior
from .explain import Explanation
from .exports import writer
from .inference import Inference as Encoder  # until there is one
from .inputs import as_texts, first_texts, held_texts
from .posterior import Posterior, unit_rows
from .reader import Reader, n_threads
from .scatter import Scatter
from .similar import Match
from .statistics import CorpusStatistics, Partition

__all__ = [
    "Bags",
    "CorpusStatistics",
    "Encoder",
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
    "explain_match",
    "first_texts",
    "held_texts",
    "langchain_embeddings",
    "n_threads",
    "unit_rows",
    "writer",
]

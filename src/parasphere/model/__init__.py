"""The Spherical Paragraph Model: reading texts into bags, the equations, EM, posteriors, and the fitted encoder."""

from .bags import Bags, Scatter
from .ecosystem import langchain_embeddings, static_table
from .em import CorpusStatistics, EMState, Online, Partition, Start, run_em, run_paper_em
from .encoder import Encoder
from .equations import Method, Prior
from .explain import Explanation, MatchExplanation
from .posterior import Posterior, Space, check_space
from .reader import Reader, first_texts, is_numeric, n_threads, tokenizer_for
from .similar import Match

__all__ = [
    "Bags",
    "CorpusStatistics",
    "EMState",
    "Encoder",
    "Explanation",
    "Match",
    "MatchExplanation",
    "Method",
    "Online",
    "Partition",
    "Posterior",
    "Prior",
    "Reader",
    "Scatter",
    "Space",
    "Start",
    "check_space",
    "first_texts",
    "is_numeric",
    "langchain_embeddings",
    "n_threads",
    "run_em",
    "run_paper_em",
    "static_table",
    "tokenizer_for",
]

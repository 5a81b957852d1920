"""Word vectors: formats, cache and export, and the learners that make them from texts."""

from ..places import ENGLISH, GLOVE, WORDLLAMA
from .composed import ComposedVectors
from .distilling import distil
from .joint import UPDATING, JointVectors
from .learners import Resolved, default_tokenizer, is_learner, resolve
from .pieces import Pieces
from .static import writable, write_static
from .stored import KIND
from .taught import TaughtVectors
from .wordvectors import Coverage, SkippedRowsWarning, WordVectors
from .writing import EXTENSIONS

__all__ = [
    "ENGLISH",
    "EXTENSIONS",
    "GLOVE",
    "KIND",
    "UPDATING",
    "WORDLLAMA",
    "ComposedVectors",
    "Coverage",
    "JointVectors",
    "Pieces",
    "Resolved",
    "SkippedRowsWarning",
    "TaughtVectors",
    "WordVectors",
    "default_tokenizer",
    "distil",
    "is_learner",
    "resolve",
    "writable",
    "write_static",
]

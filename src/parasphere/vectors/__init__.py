"""Word vectors: file formats, cache and export, and the learners that learn them from texts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..places import ENGLISH, GLOVE, WORDLLAMA
    from .adapting import adapted
    from .joint import UPDATING, JointVectors
    from .learners import Resolved, default_tokenizer, is_learner, resolve
    from .learning_texts import seed_of
    from .static import StaticTable, writable, write_static
    from .wordvectors import KIND, Coverage, WordVectors
    from .writing import EXTENSIONS

# The public names per module, which is imported when one of them is first used: word vectors are loaded without
# scikit-learn and scipy, which only learners need.
_NAMES = {
    "..places": ["ENGLISH", "GLOVE", "WORDLLAMA"],
    ".adapting": ["adapted"],
    ".joint": ["UPDATING", "JointVectors"],
    ".learners": ["Resolved", "default_tokenizer", "is_learner", "resolve"],
    ".learning_texts": ["seed_of"],
    ".static": ["StaticTable", "writable", "write_static"],
    ".wordvectors": ["KIND", "Coverage", "WordVectors"],
    ".writing": ["EXTENSIONS"],
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ENGLISH", "EXTENSIONS", "GLOVE", "KIND", "UPDATING", "WORDLLAMA", "Coverage", "JointVectors",
    "Resolved", "StaticTable", "WordVectors", "adapted", "default_tokenizer",
    "is_learner", "resolve", "seed_of", "writable", "write_static",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

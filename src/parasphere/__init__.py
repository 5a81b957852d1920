"""Texts as vectors on the unit sphere, by a probabilistic model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from . import corpus, dask, datasets, errors, plots, text
    from .model import Encoder
    from .model.estimator import SphericalParagraphModel
    from .search import Index, duplicates
    from .sphere import MovMF, vmf
    from .storage import load
    from .text import SegmentingTokenizer, Tokenizer
    from .topics import SphericalTopics
    from .vectors import JointVectors, WordVectors

# The public names per module. A module is imported when one of its names is first used: `from parasphere import vmf`
# imports neither scikit-learn nor the model.
_NAMES = {
    "model.estimator": ["SphericalParagraphModel"],
    "model": ["Encoder"],
    "search": ["Index", "duplicates"],
    "sphere.movmf": ["MovMF"],
    "storage": ["load"],
    "text": ["SegmentingTokenizer", "Tokenizer"],
    "topics": ["SphericalTopics"],
    "vectors": ["JointVectors", "WordVectors"],
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = {name: name for name in ("corpus", "dask", "datasets", "errors", "plots", "text")} | {"vmf": "sphere.vmf"}

__all__ = [
    "Encoder", "Index", "JointVectors", "MovMF", "SegmentingTokenizer", "SphericalParagraphModel", "SphericalTopics",
    "Tokenizer", "WordVectors", "corpus", "dask", "datasets", "duplicates", "errors", "load", "plots", "text", "vmf",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

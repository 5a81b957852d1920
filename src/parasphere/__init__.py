"""Texts as vectors on the unit sphere, with a sound probabilistic model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from . import corpus, datasets, vmf
    from .admixture import SphericalAdmixture
    from .bags import Bags
    from .errors import (
        CorpusError,
        CoverageWarning,
        MissingExtraError,
        ParasphereError,
        ParasphereWarning,
        StoreError,
        VectorsError,
    )
    from .jointmodel import JointSphericalModel
    from .model import SphericalParagraphModel
    from .movmf import MovMF
    from .own import Own
    from .tokens import Tokenizer, count_matrix, count_words
    from .vectors import WordVectors
    from .vocabulary import Vocabulary

# Where each public name lives. It is imported when it is first used, so that `from parasphere import vmf` waits for
# neither numba nor scikit-learn.
_HOMES = {
    "Bags": "bags",
    "CorpusError": "errors",
    "CoverageWarning": "errors",
    "JointSphericalModel": "jointmodel",
    "MissingExtraError": "errors",
    "MovMF": "movmf",
    "Own": "own",
    "ParasphereError": "errors",
    "ParasphereWarning": "errors",
    "SphericalAdmixture": "admixture",
    "SphericalParagraphModel": "model",
    "StoreError": "errors",
    "Tokenizer": "tokens",
    "VectorsError": "errors",
    "Vocabulary": "vocabulary",
    "WordVectors": "vectors",
    "count_matrix": "tokens",
    "count_words": "tokens",
}

__all__ = [
    "Bags",
    "CorpusError",
    "CoverageWarning",
    "JointSphericalModel",
    "MissingExtraError",
    "MovMF",
    "Own",
    "ParasphereError",
    "ParasphereWarning",
    "SphericalAdmixture",
    "SphericalParagraphModel",
    "StoreError",
    "Tokenizer",
    "VectorsError",
    "Vocabulary",
    "WordVectors",
    "corpus",
    "count_matrix",
    "count_words",
    "datasets",
    "vmf",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in ("corpus", "datasets", "vmf"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

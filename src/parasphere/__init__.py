"""Texts as vectors on the unit sphere, with a sound probabilistic model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from . import datasets
    from .corpus import source as corpus
    from .errors import (
        CorpusError,
        CoverageWarning,
        MissingExtraError,
        ParasphereError,
        ParasphereWarning,
        StoreError,
        VectorsError,
    )
    from .features.bags import Bags
    from .features.own import Own
    from .model.estimator import SphericalParagraphModel
    from .model.jointmodel import JointSphericalModel
    from .sphere import vmf
    from .sphere.admixture import SphericalAdmixture
    from .sphere.movmf import MovMF
    from .text.tokens import Tokenizer, count_matrix, count_words
    from .text.vocabulary import Vocabulary
    from .vectors.wordvectors import WordVectors

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

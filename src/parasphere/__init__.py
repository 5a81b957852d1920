"""Texts as vectors on the unit sphere, by a probabilistic model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from . import baselines, corpus, datasets
    from .corpus import SkippedFilesWarning
    from .errors import (
        CorpusError,
        CoverageWarning,
        FewDocumentsWarning,
        MissingExtraError,
        ParasphereError,
        ParasphereWarning,
        StoreError,
        VectorsError,
    )
    from .features import Bags
    from .model import SphericalParagraphModel
    from .sphere import MovMF, SphericalAdmixture, vmf
    from .text import Tokenizer, Vocabulary, count_matrix, count_words
    from .vectors import JointVectors, Word2Vec, WordVectors

# The package of each public name, which is imported when the name is first used: `from parasphere import vmf` imports
# neither pyarrow nor the model.
_HOMES = {
    "Bags": "features",
    "CorpusError": "errors",
    "CoverageWarning": "errors",
    "FewDocumentsWarning": "errors",
    "JointVectors": "vectors",
    "MissingExtraError": "errors",
    "MovMF": "sphere.movmf",
    "ParasphereError": "errors",
    "ParasphereWarning": "errors",
    "SkippedFilesWarning": "corpus",
    "SphericalAdmixture": "sphere.admixture",
    "SphericalParagraphModel": "model",
    "StoreError": "errors",
    "Tokenizer": "text",
    "VectorsError": "errors",
    "Vocabulary": "text",
    "Word2Vec": "vectors",
    "WordVectors": "vectors",
    "count_matrix": "text",
    "count_words": "text",
}
_MODULES = {"baselines": "baselines", "corpus": "corpus", "datasets": "datasets", "vmf": "sphere.vmf"}

__all__ = [
    "Bags",
    "CorpusError",
    "CoverageWarning",
    "FewDocumentsWarning",
    "JointVectors",
    "MissingExtraError",
    "MovMF",
    "ParasphereError",
    "ParasphereWarning",
    "SkippedFilesWarning",
    "SphericalAdmixture",
    "SphericalParagraphModel",
    "StoreError",
    "Tokenizer",
    "VectorsError",
    "Vocabulary",
    "Word2Vec",
    "WordVectors",
    "baselines",
    "corpus",
    "count_matrix",
    "count_words",
    "datasets",
    "vmf",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Texts as vectors on the unit sphere, by a probabilistic model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from pathlib import Path

    from . import corpus, dask, datasets
    from .errors import (
        CorpusError,
        CoverageWarning,
        FewDocumentsWarning,
        MissingExtraError,
        ParasphereError,
        ParasphereWarning,
        ScoreWarning,
        ScriptWarning,
        StoreError,
        VectorsError,
    )
    from .model import Bags, Encoder
    from .model.estimator import SphericalParagraphModel
    from .search import Index
    from .sphere import MovMF, vmf
    from .text import SegmentingTokenizer, Tokenizer, Vocabulary, count_matrix, count_words
    from .topics import SphericalTopics
    from .vectors import JointVectors, WordVectors

# The public names per module. A module is imported when one of its names is first used: `from parasphere import vmf`
# imports neither scikit-learn nor the model.
_NAMES = {
    "errors": ["CorpusError", "CoverageWarning", "FewDocumentsWarning", "MissingExtraError", "ParasphereError",
               "ParasphereWarning", "ScoreWarning", "ScriptWarning", "StoreError", "VectorsError"],
    "model.estimator": ["SphericalParagraphModel"],
    "model": ["Bags", "Encoder"],
    "search": ["Index"],
    "sphere.movmf": ["MovMF"],
    "text": ["SegmentingTokenizer", "Tokenizer", "Vocabulary", "count_matrix", "count_words"],
    "topics": ["SphericalTopics"],
    "vectors": ["JointVectors", "WordVectors"],
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = {"corpus": "corpus", "dask": "dask", "datasets": "datasets", "vmf": "sphere.vmf"}

__all__ = [
    "Bags", "CorpusError", "CoverageWarning", "Encoder", "FewDocumentsWarning", "Index",
    "JointVectors", "MissingExtraError", "MovMF", "ParasphereError", "ParasphereWarning", "ScoreWarning",
    "ScriptWarning", "SegmentingTokenizer", "SphericalParagraphModel", "SphericalTopics",
    "StoreError", "Tokenizer", "VectorsError", "Vocabulary", "WordVectors", "corpus",
    "count_matrix", "count_words", "dask", "datasets", "load", "vmf",
]  # fmt: skip


_KINDS = {"bags": "Bags", "encoder": "Encoder", "index": "Index", "word-vectors": "WordVectors"}  # of folders


def load(folder: "str | Path", **options: Any) -> Any:
    """Load a saved object: a model, an encoder, an index, topics, word vectors, bags, or a learner of vectors.

    Parameters
    ----------
    folder : path
        A folder written by the ``save`` method of one of these.
    **options
        Passed to the ``load`` method of the class, as in ``vectors="path"`` for word vectors that were moved.

    Examples
    --------
    >>> import parasphere
    >>> folder = getfixture("tmp_path") / "vectors"
    >>> parasphere.WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]]).save(folder)
    >>> parasphere.load(folder).words
    ['north', 'east']
    """
    from .errors import StoreError
    from .storage import read_manifest

    kind = str(read_manifest(folder)["kind"])
    name = _KINDS.get(kind, kind.removeprefix("estimator "))
    if name not in _HOMES:
        raise StoreError(f"{folder} holds {kind!r}, which is a part of something else and cannot be loaded by itself.")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name).load(folder, **options)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

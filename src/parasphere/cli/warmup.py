"""What ``parasphere warmup`` does once, so that later processes need not: compile, and parse the default vectors."""

import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..compiled.codecache import folders
from ..errors import ParasphereError
from ..model.estimator import SphericalParagraphModel
from ..places import CacheWarning, cache_folder
from ..vectors import WordVectors

# More texts than formulas are applied to one by one; with letters beyond ASCII, and a word that has no vector.
_TEXTS = [f"The {word} of the Café was wide, zzyzxw, {word}s." for word in "sea lake hill fire wood road".split()]


def warm_up(vectors: Any = None) -> dict[str, Any]:
    """Fit a model to a few texts and use it, so that all that this takes is compiled, parsed and kept.

    Parameters
    ----------
    vectors : WordVectors, optional
        Instead of the default ones, which are put into the cache.

    Returns
    -------
    dict
        Where compiled code and parsed vectors are, and how many bytes each has.

    Raises
    ------
    ParasphereError
        If nothing can be kept.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CacheWarning)
            _walk(WordVectors.load() if vectors is None else vectors)
    except CacheWarning as warning:
        raise ParasphereError(str(warning)) from None
    kept = [(folder, _size(folder.glob("*.nb[ci]"))) for folder in folders(Path(__file__))]
    compiled, compiled_bytes = max(kept, key=lambda found: found[1])
    parsed = cache_folder() / "entries"
    return {
        "compiled": str(compiled),
        "compiled_bytes": compiled_bytes,
        "vectors": str(parsed),
        "vectors_bytes": _size(parsed.rglob("*")),
    }


def _walk(vectors: WordVectors) -> None:
    """Go the ordinary road: texts to a model, a saved model to vectors, neighbours and explanations."""
    with tempfile.TemporaryDirectory() as folder:
        SphericalParagraphModel(vectors, tol=1.0).fit(_TEXTS).save(Path(folder, "model"), embed_vectors=False)
        model = SphericalParagraphModel.load(Path(folder, "model"), vectors=vectors)
    model.transform(_TEXTS)
    model.posterior(_TEXTS)
    model.similar(_TEXTS[0], _TEXTS, 2)
    model.compare(_TEXTS[0], _TEXTS[1])
    model.explain(_TEXTS[0])


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())

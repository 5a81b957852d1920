"""``parasphere warmup``: compile the code and parse the default vectors, for all later processes."""

import os
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..compiled.codecache import folders
from ..errors import ParasphereError
from ..model import SphericalParagraphModel
from ..places import CacheWarning, cache_folder
from ..vectors import WordVectors

# Enough texts for the vectorised code, with letters beyond ASCII and a word that has no vector.
_TEXTS = [f"The {word} of the Café was wide, zzyzxw, {word}s." for word in "sea lake hill fire wood road".split()]


def warm_up(vectors: Any = None) -> dict[str, Any]:
    """Fit a model to a few texts and use it, so that the code and vectors for this are in the cache.

    Returns the folders and bytes of the compiled code and of the parsed vectors, those of the default ones if none are
    given. A cache that cannot be written is an error.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CacheWarning)
            _walk(WordVectors.load() if vectors is None else vectors)
    except CacheWarning as warning:
        raise ParasphereError(str(warning)) from None
    sources = Path(__file__).parents[1].rglob("__init__.py")
    caches = {folder for source in sources for folder in folders(source) if any(folder.glob("*.nbc"))}
    compiled = os.path.commonpath(caches)
    parsed = cache_folder() / "entries"
    return {
        "compiled": compiled,
        "compiled_bytes": sum(_size(folder.glob("*.nb[ci]")) for folder in caches),
        "vectors": str(parsed),
        "vectors_bytes": _size(parsed.rglob("*")),
    }


def _walk(vectors: WordVectors) -> None:
    """Fit, save and load a model, and use it for vectors, search, comparison and explanation."""
    with tempfile.TemporaryDirectory() as folder:
        SphericalParagraphModel(vectors, tol=1.0).fit(_TEXTS).save(Path(folder, "model"))
        model = SphericalParagraphModel.load(Path(folder, "model"), vectors=vectors)
    model.transform(_TEXTS)
    model.posterior(_TEXTS)
    model.similar(_TEXTS[0], _TEXTS, 2)
    model.compare(_TEXTS[0], _TEXTS[1], return_std=True)
    model.explain(_TEXTS[0])


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())

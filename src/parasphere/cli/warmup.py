"""``parasphere warmup``: compile the code, for all later processes."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

from ..errors import ParasphereError
from ..model import SphericalParagraphModel
from ..places import CacheWarning
from ..topics import SphericalTopics
from .diagnosis import compiled_code

# Enough texts for the vectorised code, with letters beyond ASCII and a word that has no vector.
_TEXTS = [f"The {word} of the Café was wide, zzyzxw, {word}s." for word in "sea lake hill fire wood road".split()]


def warm_up() -> dict[str, Any]:
    """Fit a model to a few texts and use it, so that the code for this is in the cache.

    Returns the folder and bytes of the compiled code. A cache that cannot be written is an error.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CacheWarning)
            _walk()
    except CacheWarning as warning:
        raise ParasphereError(str(warning)) from None
    code = compiled_code()
    return {"compiled": code["folder"], "compiled_bytes": code["bytes"]}


def _walk() -> None:
    """Fit, save and load a model, and use it for vectors, search, comparison, explanation and topics."""
    with tempfile.TemporaryDirectory() as folder:
        SphericalParagraphModel(tol=1.0).fit(_TEXTS).save(Path(folder, "model"))
        model = SphericalParagraphModel.load(Path(folder, "model"))
    SphericalParagraphModel(weighted=False).read(_TEXTS)  # other code reads texts with vectors that have no weights
    model.transform(_TEXTS)
    model.posterior(_TEXTS)
    model.similar(_TEXTS[0], _TEXTS, 2)
    index = model.index(_TEXTS)
    index.search(_TEXTS[0], 2)
    index.duplicates()
    model.compare(_TEXTS[0], _TEXTS[1], return_std=True)
    model.explain(_TEXTS[0])
    model.explain_match(_TEXTS[0], _TEXTS[1])
    SphericalTopics(model, 2).fit(_TEXTS).predict(_TEXTS)

"""Estimators on disk: their parameters and what ``fit`` found, as arrays and plain facts; never pickled."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import store
from .errors import ParasphereError, StoreError
from .tokens import Tokenizer
from .vectors import WordVectors
from .vocabulary import Vocabulary

CALLABLE = "callable"


class Kept:
    """Gives a scikit-learn estimator ``save`` and ``load``.

    Kept are its parameters, and every attribute that ``fit`` made: those whose names end with an underscore. They may
    be numbers, strings, None, arrays, a Vocabulary, WordVectors, a Tokenizer, and lists and dicts of plain values.
    """

    @classmethod
    def _kind(cls) -> str:
        return f"estimator {cls.__name__}"

    def save(self, folder: str | Path) -> None:
        """Write what was fitted to a folder, replacing what it held in one step.

        Word vectors that were given by name or path are referred to; others are written with it.
        """
        check_is_fitted(self)
        arrays: dict[str, NDArray[Any]] = {}
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        found = {name: value for name, value in vars(self).items() if _is_found(name)}
        source = source_of(parameters.get("vectors"))
        if source is not None:
            parameters["vectors"] = source  # good in any working directory
        facts = {
            "parameters": {name: _packed(value, name, arrays, None) for name, value in parameters.items()},
            "found": {name: _packed(value, name, arrays, source) for name, value in found.items()},
        }
        store.save(folder, self._kind(), arrays, facts)

    @classmethod
    def load(cls, folder: str | Path, *, vectors: Any = None, tokenizer: Any = None) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        folder : path
        vectors : optional
            Word vectors in place of those that were referred to, if they have moved; they must be the same ones.
        tokenizer : callable, optional
            The tokenizer, if it was one of Python code: that is not saved.
        """
        arrays, facts = store.load(folder, cls._kind())
        given = {"vectors": vectors, "tokenizer": tokenizer}
        try:
            parameters = {
                name: _unpacked(fact, arrays, folder, given.get(name)) for name, fact in facts["parameters"].items()
            }
            if vectors is not None and isinstance(parameters.get("vectors"), str):
                parameters["vectors"] = vectors  # where they are now
            estimator = cls(**parameters)
            for name, fact in facts["found"].items():
                setattr(estimator, name, _unpacked(fact, arrays, folder, vectors))
        except (KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{folder} lacks what a {cls.__name__} needs ({error!r}): it is damaged.") from error
        return estimator


def tokenizer_facts(tokenizer: Any) -> Any:
    """Return what a tokenizer is made of, or that it is Python code."""
    if not isinstance(tokenizer, Tokenizer):
        return CALLABLE
    return asdict(tokenizer) | {"stop_words": sorted(tokenizer.stop_words) or None}


def tokenizer_from(facts: Any, given: Any, folder: str | Path) -> Any:
    """Return the tokenizer that was given, or else the one that was saved."""
    if given is not None:
        return given
    if facts == CALLABLE:
        raise StoreError(f"{folder} was fitted with a tokenizer of Python code, which is not saved: name it again.")
    return Tokenizer(**facts)


def source_of(vectors: Any) -> str | None:
    """Return the name or path that vectors are loaded by, good in any working directory; None if they have none."""
    if not isinstance(vectors, str | Path):
        return None
    path = Path(vectors).expanduser()
    return str(path.resolve()) if path.exists() else str(vectors)


def vectors_from(source: Any, facts: Mapping[str, Any], folder: str | Path) -> WordVectors:
    """Load word vectors that a saved estimator refers to, and insist that they are the same."""
    if source is None:
        raise StoreError(f"{folder} was saved without its word vectors ({facts['name']}): load(folder, vectors=...).")
    try:
        vectors = source if isinstance(source, WordVectors) else WordVectors.load(source)
    except ParasphereError as error:
        message = f"the word vectors of {folder} cannot be loaded ({error}) Name them: load(folder, vectors=...)."
        raise StoreError(message) from error
    if vectors.fingerprint != facts["fingerprint"]:
        raise StoreError(
            f"{folder} was fitted with the word vectors {facts['name']} ({facts['fingerprint'][:12]}…); "
            f"{vectors.name} ({vectors.fingerprint[:12]}…) are others."
        )
    return vectors


def _is_found(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _packed(value: Any, name: str, arrays: dict[str, NDArray[Any]], source: str | None) -> Any:
    """Return a JSON-able stand-in for a value, and put its arrays, if it has any, among the others."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Vocabulary):
        arrays |= {f"{name}.data": value.data, f"{name}.offsets": value.offsets}
        return {"vocabulary": name}
    if isinstance(value, WordVectors):
        facts = {"name": value.name, "fingerprint": value.fingerprint, "source": source}
        if source is None:  # once, if the parameter and what was fitted are the same vectors
            arrays |= {f"{value.fingerprint}.{key}": array for key, array in value.arrays().items()}
        return {"vectors": facts}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_packed(item, f"{name}.{place}", arrays, source) for place, item in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": {key: _packed(item, f"{name}.{key}", arrays, source) for key, item in value.items()}}
    if name == "random_state":  # a generator's state is spent: what it led to is in the arrays
        return None
    if isinstance(value, Tokenizer) or callable(value):
        return {"tokenizer": tokenizer_facts(value)}
    raise StoreError(f"{name} is a {type(value).__name__}, which cannot be saved")


def _unpacked(fact: Any, arrays: store.Arrays, folder: str | Path, given: Any) -> Any:
    if not isinstance(fact, dict):
        return fact
    ((kind, value),) = fact.items()
    if kind == "array":
        return np.array(arrays[value])
    if kind == "vocabulary":
        data, offsets = (np.array(arrays[f"{value}.{part}"]) for part in ("data", "offsets"))
        if data.dtype != np.uint8 or offsets.dtype != np.int64 or not _fit(data, offsets):
            raise StoreError(f"{folder}: the arrays of its vocabulary do not fit each other: it is damaged.")
        return Vocabulary.from_buffers(data, offsets)
    if kind == "vectors":
        if value["source"] is not None or given is not None:
            return vectors_from(value["source"] if given is None else given, value, folder)
        own = {key: arrays[f"{value['fingerprint']}.{key}"] for key in ("data", "offsets", "matrix", "norms")}
        return WordVectors.from_stored(own, folder, name=value["name"], fingerprint=value["fingerprint"])
    if kind in ("list", "tuple"):
        items = [_unpacked(item, arrays, folder, given) for item in value]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: _unpacked(item, arrays, folder, given) for key, item in value.items()}
    if kind == "tokenizer":
        return tokenizer_from(value, given, folder)
    raise KeyError(kind)


def _fit(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == len(data) and (np.diff(offsets) > 0).all())

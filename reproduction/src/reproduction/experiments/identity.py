"""What identifies an estimator, and with it a cached result: its class, its parameters, and the code below them."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from parasphere.errors import ParasphereError
from parasphere.text import Tokenizer
from parasphere.vectors import WordVectors

VECTORS = ("vectors", "start")  # parameters that may name word vectors


@cache
def digest(*parts: str) -> str:
    """Hash strings; the hash differs if they are divided otherwise."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        hashed.update(f"{len(part)}:".encode() + part.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def classes_of(transformer: Any) -> list[type]:
    """Return the classes of a transformer and of all estimators nested in it."""
    parts = transformer.get_params().values()
    return list(dict.fromkeys(type(part) for part in (transformer, *parts) if isinstance(part, BaseEstimator)))


def identity(value: Any) -> Any:
    """Return JSON that identifies a parameter completely: equal in every process for equal values, and only for them.

    Estimators are identified by their class and all their parameters, nested ones included; word vectors by their
    content, if an estimator only names them too: english-128 may be made anew. A value whose content is out of reach,
    such as a function, is refused.
    """
    if isinstance(value, WordVectors):
        return ["WordVectors", value.fingerprint]
    if isinstance(value, Tokenizer):
        return ["Tokenizer", identity(asdict(value))]
    if isinstance(value, BaseEstimator):
        return [f"{type(value).__module__}.{type(value).__qualname__}", identity(_loaded(value.get_params(deep=False)))]
    if isinstance(value, Mapping):
        return {str(key): identity(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [identity(item) for item in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and issubclass(value, np.generic):  # a dtype, as scikit-learn's vectorizers have
        return np.dtype(value).str
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ParasphereError(f"an encoder with the parameter {value!r} cannot be identified, so its result not be cached")


def _loaded(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator with the word vectors that they name."""
    named = {name: parameters[name] for name in VECTORS if isinstance(parameters.get(name), str | Path)}
    return parameters | {name: WordVectors.load(source) for name, source in named.items()}

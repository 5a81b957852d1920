"""Estimators on disk: their parameters and what ``fit`` found, as arrays and plain facts; never pickled."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import storage
from ..compiled.layout import check_layouts
from ..errors import ParasphereError, StoreError
from ..text.tokens import Tokenizer
from ..text.vocabulary import Vocabulary
from ..vectors.wordvectors import WordVectors

CALLABLE = "callable"
# What Python raises when facts from a folder are not what they should be.
WRONG_FACTS = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError, AssertionError,
)  # fmt: skip


class Kept:
    """Gives a scikit-learn estimator ``save`` and ``load``.

    Kept are its parameters, and every attribute that ``fit`` made: those whose names end with an underscore. They may
    be numbers, strings, None, arrays, a Vocabulary, WordVectors, a Tokenizer, and lists and dicts of plain values.

    What is loaded is looked at before it is used. A subclass says what fits: by the annotations of its parameters and
    attributes, and by ``_layouts``, the layouts of its arrays (:mod:`parasphere.compiled.layout`). Their axes may be named after
    a parameter or attribute that is a whole number; ``words`` are those of ``vocabulary_``, ``rows`` and ``dim`` those
    of ``vectors_``. The numbers of ``_positive`` must lie above 0, those of ``_not_negative`` not below it.
    """

    _layouts: ClassVar[Mapping[str, str]] = {}
    _positive: ClassVar[tuple[str, ...]] = ()
    _not_negative: ClassVar[tuple[str, ...]] = ()

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
        storage.save(folder, self._kind(), arrays, facts)

    @classmethod
    def load(cls, folder: str | Path, *, vectors: Any = None, tokenizer: Any = None, verify: bool = True) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        folder : path
        vectors : optional
            Word vectors in place of those that were referred to, if they have moved; they must be the same ones.
        tokenizer : callable, optional
            The tokenizer, if it was one of Python code: that is not saved.
        verify : bool, default=True
            Compare the data with their checksum, once per file; ``False`` maps them unread.
        """
        arrays, facts = storage.load(folder, cls._kind(), verify=verify)
        given = {"vectors": vectors, "tokenizer": tokenizer}
        try:
            parameters = {
                name: _unpacked(fact, arrays, folder, given.get(name)) for name, fact in facts["parameters"].items()
            }
            if vectors is not None and isinstance(parameters.get("vectors"), str):
                parameters["vectors"] = vectors  # where they are now
            check_types(cls.__init__, parameters)
            estimator = cls(**parameters)
            for name, fact in facts["found"].items():
                if not _is_found(name):
                    raise ParasphereError(f"{name!r} is no name of what fit finds")
                setattr(estimator, name, _unpacked(fact, arrays, folder, vectors))
            estimator._check_found()
        except StoreError:  # it names the folder itself
            raise
        except ParasphereError as error:
            raise StoreError(f"{folder} lacks what a {cls.__name__} needs ({error}): it is damaged.") from error
        except WRONG_FACTS as error:
            raise StoreError(f"{folder} lacks what a {cls.__name__} needs ({error!r}): it is damaged.") from error
        return estimator

    def _check_parameters(self) -> None:
        """Raise unless the parameters can be used; a subclass may know more than their types."""

    def _check_found(self) -> None:
        """Raise unless what was loaded is all there, of the right types, and fits."""
        self._check_parameters()
        found = vars(self)
        hints = {name: hint for name, hint in get_type_hints(type(self)).items() if _is_found(name)}
        check_types(hints, {name: found[name] for name in hints})
        sizes = {name: value for name, value in found.items() if isinstance(value, int)}
        if isinstance(found.get("vocabulary_"), Vocabulary):
            sizes["words"] = len(found["vocabulary_"])
        if isinstance(found.get("vectors_"), WordVectors):
            sizes |= {"rows": len(found["vectors_"]), "dim": found["vectors_"].dim}
        check_layouts(found, self._layouts, sizes)
        for name in (*self._layouts, *self._positive, *self._not_negative):
            numbers = np.asarray(0.0 if found[name] is None else found[name])
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                raise ParasphereError(f"{name} holds numbers that are not finite")
            if name in self._positive and not (numbers.size and (numbers > 0).all()):
                raise ParasphereError(f"{name} must hold numbers above 0")
            if name in self._not_negative and not (numbers.size and (numbers >= 0).all()):
                raise ParasphereError(f"{name} must hold numbers that are not below 0")


def check_types(hints: Mapping[str, Any] | Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Raise unless values are what annotations say, as far as these are plain; NaN is no number."""
    known = hints if isinstance(hints, Mapping) else get_type_hints(hints)
    for name, value in values.items():
        if not _is_a(value, known.get(name, Any)):
            raise ParasphereError(f"{name} is {str(value)[:60]!r}, which it cannot be")


def _is_a(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind in (Union, UnionType):
        return any(_is_a(value, each) for each in get_args(hint))
    if kind is Literal:
        return value in get_args(hint)
    if kind is float and isinstance(value, float):
        return not math.isnan(value)
    if kind in (int, float):
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if kind is Callable:
        return callable(value)
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)


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
    check_types(Tokenizer, facts)
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


def _unpacked(fact: Any, arrays: storage.Arrays, folder: str | Path, given: Any) -> Any:
    if not isinstance(fact, dict):
        return fact
    ((kind, value),) = fact.items()
    if kind == "array":
        return np.array(arrays[value])
    if kind == "vocabulary":
        data, offsets = (np.array(arrays[f"{value}.{part}"]) for part in ("data", "offsets"))
        try:
            vocabulary = Vocabulary.from_buffers(data, offsets)
            vocabulary.check_utf8()
        except ParasphereError as error:
            message = f"{folder}: the arrays of its vocabulary do not fit each other ({error}): it is damaged."
            raise StoreError(message) from error
        return vocabulary
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

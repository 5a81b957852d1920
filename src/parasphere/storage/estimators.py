"""Saving and loading of estimators, nested ones included, as arrays and JSON; nothing is pickled.

How values are saved:

==========================================  ==========================================================
numbers, strings, booleans, None            as JSON
arrays of numbers                           in the data file
arrays of strings                           as JSON
lists, tuples, dicts with string keys       item by item
classes marked with :func:`storable`        by their ``to_saved`` and ``from_saved``
estimators with :class:`Saved`              by their parameters and learned attributes
functions                                   not saved: they are passed to ``load`` again
==========================================  ==========================================================
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError, ParasphereWarning, StoreError, warn_user
from ..parameters import check_parameters
from .facts import WRONG_FACTS, check_types
from .folder import load, save
from .layouts import check_layouts
from .tensors import Arrays

Facts = dict[str, Any]
Overrides = Mapping[str, Any]


class Storable(Protocol):
    """The protocol of classes whose instances can be part of a saved estimator."""

    def to_saved(self) -> tuple[Facts, Arrays]:
        """Return the state: facts, whose values can themselves be saved, and arrays."""

    @classmethod
    def from_saved(cls, facts: Facts, arrays: Arrays, overrides: Overrides) -> Self:
        """Return an instance with this state, after checking it.

        ``overrides`` are the arguments ``vectors`` and ``tokenizer`` of ``load``. Raises a ParasphereError if the state
        is invalid, and a StoreError if something else is missing.
        """


_STORABLES: dict[str, type[Storable]] = {}
_ESTIMATORS: dict[str, type["Saved"]] = {}
Kind = TypeVar("Kind", bound=type)
# The modules of classes that a saved estimator may contain although nothing has imported them yet.
_MODULES = {
    "JointVectors": "vectors.joint",
    "segmenting-tokenizer": "text.segmenting",
    "tokenizer": "text.tokens",
    "vocabulary": "text.vocabulary",
    "word-vectors": "vectors.wordvectors",
}


def storable(name: str) -> Callable[[Kind], Kind]:
    """Register a class whose instances can be part of a saved estimator, under a name that must not change."""

    def mark(kind: Kind) -> Kind:
        _STORABLES[name] = kind
        return kind

    return mark


def _registered(registry: Mapping[str, Kind], name: str) -> Kind:
    """Return a registered class, importing its module if necessary."""
    if name not in registry and name in _MODULES:
        import_module(f"..{_MODULES[name]}", __package__)
    return registry[name]


class Saved:
    """Mixin with ``save`` and ``load`` for scikit-learn estimators.

    The parameters and all learned attributes, whose names end with an underscore, are saved.

    Loaded values are checked. Subclasses declare what is valid by the annotations of parameters and attributes, and by
    ``_layouts``, the layouts of arrays (:mod:`parasphere.storage.layouts`). Axes may be named after an integer among
    the parameters and attributes, or after a size of an attribute (``words``, ``rows`` and ``dim``). Attributes named
    in ``_positive`` must be above 0, and those in ``_not_negative`` at least 0. Parameters named in ``_left_out`` are
    saved only if they are a name or path; otherwise the loaded estimator has their default.
    """

    _layouts: ClassVar[Mapping[str, str]] = {}
    _positive: ClassVar[tuple[str, ...]] = ()
    _not_negative: ClassVar[tuple[str, ...]] = ()
    _left_out: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _ESTIMATORS[cls.__name__] = cls

    @classmethod
    def kind(cls) -> str:
        """Return the kind of the folders that are written."""
        return f"estimator {cls.__name__}"

    def save(self, folder: str | Path) -> None:
        """Write the fitted estimator to a folder, replacing an earlier save in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
            Created if necessary. Word vectors that were loaded by name or path are saved as a reference to it; others
            are written to the folder.
        """
        check_fitted(self)
        packing = _Packing()
        facts = packing.estimator(self, "")
        packing.warn_of_functions()
        save(folder, self.kind(), packing.arrays, facts)

    @classmethod
    def load(cls, folder: str | Path, *, vectors: Any = None, tokenizer: Any = None, verify: bool = True) -> Self:
        """Load an estimator written by :meth:`save`.

        Parameters
        ----------
        folder : path
            The folder.
        vectors : path or WordVectors, default=None
            The word vectors, if they were moved; their content must be the same.
        tokenizer : callable, default=None
            The tokenizer, if it was a Python function, which is not saved.
        verify : bool, default=True
            Compare the data with their checksum. Numbers are always checked.

        Returns
        -------
        estimator
        """
        arrays, facts = load(folder, cls.kind(), verify=verify)
        unpacking = _Unpacking(arrays, {"vectors": vectors, "tokenizer": tokenizer})
        try:
            return cast(Self, unpacking.estimator(cls, facts, ""))
        except StoreError as error:
            raise StoreError(f"{folder}: {error}") from error
        except WRONG_FACTS as error:
            reason = str(error) if isinstance(error, ParasphereError) else repr(error)
            raise StoreError(f"{folder} holds no valid {cls.__name__} ({reason}): it is damaged.") from error

    def _check_learned(self) -> None:
        """Raise unless all learned attributes are present, have the right types, and fit each other."""
        learned = vars(self)
        hints = {name: hint for name, hint in get_type_hints(type(self)).items() if _is_learned(name)}
        check_types(hints, {name: learned[name] for name in hints})
        sizes = {name: value for name, value in learned.items() if isinstance(value, int)}
        for value in learned.values():
            sizes |= value.sizes() if hasattr(value, "sizes") else {}
        check_layouts(learned, self._layouts, sizes)
        for name in (*self._layouts, *self._positive, *self._not_negative):
            numbers = np.asarray(0.0 if learned[name] is None else learned[name])
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                raise ParasphereError(f"{name} holds numbers that are not finite")
            if name in self._positive and not (numbers.size and (numbers > 0).all()):
                raise ParasphereError(f"{name} must hold numbers above 0")
            if name in self._not_negative and not (numbers.size and (numbers >= 0).all()):
                raise ParasphereError(f"{name} must hold numbers that are not below 0")


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError unless an estimator has learned attributes; scikit-learn is not imported."""
    if not any(_is_learned(name) for name in vars(estimator)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(estimator).__name__} is not fitted yet: call fit first.")


def packed(value: Any, name: str, *, warn: bool = False) -> tuple[Any, Arrays]:
    """Return the JSON-able facts and the arrays of a value; with ``warn``, warn of functions, which are not saved."""
    packing = _Packing()
    facts = packing.value(value, name)
    if warn:
        packing.warn_of_functions()
    return facts, packing.arrays


def unpacked(facts: Any, arrays: Arrays, name: str, *, vectors: Any = None, tokenizer: Any = None) -> Any:
    """Return the value that :func:`packed` turned into facts and arrays."""
    return _Unpacking(arrays, {"vectors": vectors, "tokenizer": tokenizer}).value(facts, name)


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


class _Packing:
    """Turns values into JSON-able facts and the arrays that these refer to."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.functions: dict[int, tuple[str, Any]] = {}
        self.packed: dict[int, tuple[Any, Facts]] = {}  # by id; an object that occurs twice is written once

    def estimator(self, estimator: Any, path: str) -> Facts:
        parameters = [
            (name, value)
            for name, value in estimator.get_params(deep=False).items()
            if name not in estimator._left_out or isinstance(value, str | Path)
        ]
        learned = [(name, value) for name, value in vars(estimator).items() if _is_learned(name)]
        return {
            "parameters": {name: self.parameter(value, f"{path}{name}") for name, value in parameters},
            "learned": {name: self.value(value, f"{path}{name}") for name, value in learned},
        }

    def parameter(self, value: Any, path: str) -> Any:
        """Return the facts of a parameter; an object with a ``source`` to load it from is saved as that name."""
        source = getattr(value, "source", None)
        named = type(value) in _STORABLES.values() and isinstance(source, str)
        return source if named else self.value(value, path)

    def value(self, value: Any, path: str) -> Any:
        """Return the facts of a value; ``path`` is its name."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, np.ndarray) and value.ndim == 1 and all(isinstance(item, str) for item in value):
            return {"strings": value.tolist()}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            self.arrays[path] = value
            return {"array": path}
        if type(value) in _STORABLES.values():
            return self._object(value, path)
        if isinstance(value, list | tuple):
            items = [self.value(item, f"{path}.{index}") for index, item in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.value(item, f"{path}.{key}") for key, item in value.items()}}
        if isinstance(value, Saved):
            return {"estimator": type(value).__name__, "facts": self.estimator(value, f"{path}.")}
        if isinstance(value, np.random.RandomState | np.random.Generator):  # its state is no longer needed
            return None
        if callable(value):
            self.functions[id(value)] = path.rpartition(".")[2].removesuffix("_"), value
            return {"function": getattr(value, "__qualname__", type(value).__name__)}
        raise StoreError(f"{path} is a {type(value).__name__}, which cannot be saved.")

    def warn_of_functions(self) -> None:
        """Warn of each function among the values: it is not saved."""
        for name, function in self.functions.values():
            shown = getattr(function, "__qualname__", type(function).__name__)
            warn_user(
                f"the {name} is the Python function {shown!r}, which is not saved: pass it again to load, as in "
                f"load(folder, {name}=...)",
                ParasphereWarning,
            )

    def _object(self, value: Any, path: str) -> Facts:
        if id(value) not in self.packed:
            name = next(name for name, kind in _STORABLES.items() if kind is type(value))
            facts, arrays = value.to_saved()
            self.arrays |= {f"{path}.{key}": array for key, array in arrays.items()}
            packed = {
                "object": name,
                "at": path,
                "facts": {key: self.value(item, f"{path}.{key}") for key, item in facts.items()},
                "arrays": sorted(arrays),
            }
            self.packed[id(value)] = value, packed
        return self.packed[id(value)][1]


class _Unpacking:
    """Turns the facts and arrays of :class:`_Packing` back into values."""

    def __init__(self, arrays: Arrays, overrides: Overrides) -> None:
        self.arrays = dict(arrays)  # each is used once: copies take no more memory than the file
        self.overrides = overrides
        self.made: dict[str, Any] = {}

    def estimator(self, kind: type, facts: Facts, path: str) -> Any:
        parameters = {name: self.value(fact, f"{path}{name}") for name, fact in facts["parameters"].items()}
        if self.overrides["vectors"] is not None and isinstance(parameters.get("vectors"), str):
            parameters["vectors"] = self.overrides["vectors"]  # they were moved
        check_types(kind.__init__, parameters)  # type: ignore[misc]
        made = kind(**parameters)
        if hasattr(made, "_parameters"):
            check_parameters(made, parameters)
        for name, fact in facts["learned"].items():
            if not _is_learned(name):
                raise ParasphereError(f"{name!r} is not the name of a learned attribute")
            setattr(made, name, self.value(fact, f"{path}{name}"))
        if facts["learned"]:
            made._check_learned()
        return made

    def value(self, fact: Any, path: str) -> Any:
        if not isinstance(fact, dict):
            return fact
        if "object" in fact:
            return self._object(fact)
        if "estimator" in fact:
            return self.estimator(_registered(_ESTIMATORS, fact["estimator"]), fact["facts"], f"{path}.")
        ((kind, value),) = fact.items()
        if kind == "array":
            return np.array(self.arrays.pop(value))
        if kind == "strings":
            return np.array([str(item) for item in value], object)
        if kind in ("list", "tuple"):
            items = [self.value(item, f"{path}.{index}") for index, item in enumerate(value)]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {key: self.value(item, f"{path}.{key}") for key, item in value.items()}
        if kind == "function":
            return self._function(path.rpartition(".")[2].removesuffix("_"), value)
        raise KeyError(kind)

    def _object(self, fact: Facts) -> Any:
        at = str(fact["at"])
        if at not in self.made:
            facts = {key: self.value(item, f"{at}.{key}") for key, item in fact["facts"].items()}
            arrays = {key: self.arrays.pop(f"{at}.{key}") for key in fact["arrays"]}
            self.made[at] = _registered(_STORABLES, fact["object"]).from_saved(facts, arrays, self.overrides)
        return self.made[at]

    def _function(self, name: str, written: Any) -> Any:
        function = self.overrides.get(name)
        if function is None:
            raise StoreError(
                f"the {name} was the Python function {str(written)[:60]!r}, which is not saved: pass it again to load."
            )
        return function

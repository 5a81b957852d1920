"""Encoders of one's own, named on the command line: ``my_module:MyEncoder``."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, clone

from parasphere.errors import ParasphereError

from .encoders import ENCODERS, Encoder


def own_encoder(written: str) -> Encoder:
    """Return the entry of an encoder that is not in the registry.

    Parameters
    ----------
    written : str
        A module and one of its attributes, as in "my_module:MyEncoder". The current directory can be imported from.
        The attribute is a scikit-learn transformer of texts, or a class or function that returns one and needs no
        arguments. If it has a parameter ``random_state``, that is set to the seed.
    """
    module, _, name = written.partition(":")
    if not module or not name:
        raise ParasphereError(f"--encoder {written}: give a module and a name in it, as in my_module:MyEncoder")
    if name in ENCODERS:
        raise ParasphereError(f"--encoder {written}: {name} is one of the encoders of the paper; give it another name")
    made = _made(written, _attribute(written, module, name))

    def build(_vectors: Any, _dim: int, seed: int) -> Any:
        encoder = clone(made)
        return encoder.set_params(random_state=seed) if seeded else encoder

    seeded = "random_state" in made.get_params(deep=False)
    return Encoder(name, name, build, needs_vectors=False, kind="own", by_dim=False, seeded=seeded)


def _attribute(written: str, module: str, name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            reason = f"there is no module {module} in this directory or among what is installed"
        else:
            reason = f"{module} cannot be imported ({error})"
        raise ParasphereError(f"--encoder {written}: {reason}") from error
    try:
        return getattr(found, name)
    except AttributeError:
        raise ParasphereError(f"--encoder {written}: {module} has no {name}") from None


def _made(written: str, found: Any) -> Any:
    """Return the transformer that a class or function makes, or the one that is given."""
    if not isinstance(found, BaseEstimator) and callable(found):
        try:
            found = found()
        except TypeError as error:
            raise ParasphereError(f"--encoder {written} cannot be made without arguments: {error}") from error
    if not isinstance(found, BaseEstimator) or not hasattr(found, "fit") or not hasattr(found, "transform"):
        raise ParasphereError(
            f"--encoder {written} is a {type(found).__name__}, not a transformer: it must be a scikit-learn estimator "
            "(BaseEstimator) with fit and transform"
        )
    return found

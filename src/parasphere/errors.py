"""Errors and warnings. Messages say where the fault is, what is wrong, and what is expected."""

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = [
    "CorpusError", "CoverageWarning", "FewDocumentsWarning", "InvalidParameterError", "MissingExtraError",
    "ParasphereError", "ParasphereWarning", "ScoreWarning", "ScriptWarning", "StoreError",
    "VectorsError",
]  # fmt: skip
_FOLDER = str(Path(__file__).parent)


LONGEST = 2000  # characters of a message


class ParasphereError(ValueError):
    """An input that cannot be used; the message names the file, line or document."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


class CorpusError(ParasphereError):
    """A document, or a file of documents, that cannot be read."""


class VectorsError(ParasphereError):
    """Word vectors that cannot be read."""


class StoreError(ParasphereError):
    """A file or folder that cannot be written, or a saved folder that is missing, damaged, or of another kind."""


class InvalidParameterError(ParasphereError, TypeError):
    """A parameter of an estimator has a value of the wrong type, or one out of its range."""


class ParasphereWarning(UserWarning):
    """Something was done as requested, but may not be what was intended."""


class CoverageWarning(ParasphereWarning):
    """Few words of a corpus have a vector."""


class FewDocumentsWarning(ParasphereWarning):
    """A model was fitted to so few documents that its concentration is not reliable."""


class ScoreWarning(ParasphereWarning):
    """A score is comparable only between models with the same word weights."""


class ScriptWarning(ParasphereWarning):
    """Texts are in a script without spaces between words, and a tokenizer was chosen for it."""


class MissingExtraError(ImportError):
    """An optional library is missing; the message names the extra that installs it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'parasphere[{extra}]'")


def shortened(message: str) -> str:
    """Return a message without its middle, if it is long: it may quote a value of any length."""
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST * 2 // 3]} … {message[-LONGEST // 3 :]}"


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the nearest caller outside this library, at any depth of calls."""
    message = shortened(message)
    if sys.version_info >= (3, 12):
        warnings.warn(message, category, skip_file_prefixes=(_FOLDER,))
        return
    import inspect

    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional library, or raise a :class:`MissingExtraError`.

    Parameters
    ----------
    module : str
        The module, such as "usearch.index".
    extra : str
        The extra of this package that installs it.
    purpose : str
        What the module is needed for; the message begins with it.

    Examples
    --------
    >>> import_extra("usearch_of_old.index", "search", "approximate search")
    Traceback (most recent call last):
    parasphere.errors.MissingExtraError: approximate search needs usearch-of-old, which is not installed: pip install
    'parasphere[search]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(module.split(".")[0].replace("_", "-"), extra, purpose) from error

"""Optional libraries of the experiments."""

from importlib import import_module
from typing import Any

from parasphere import errors


class MissingExtraError(errors.MissingExtraError):
    """An optional library is missing; the message names the extra of this package that installs it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        ImportError.__init__(
            self, f"{purpose} needs {library}, which is not installed: pip install -e 'reproduction/[{extra}]'"
        )


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional library, or raise a :class:`MissingExtraError`.

    Parameters
    ----------
    module : str
        The module, such as "sentence_transformers".
    extra : str
        The extra of this package that installs it.
    purpose : str
        What needs it; the message begins with it.

    Examples
    --------
    >>> import_extra("torch_of_old.nn", "neural", "SkipThought")
    Traceback (most recent call last):
    reproduction.extras.MissingExtraError: SkipThought needs torch-of-old, which is not installed: pip install -e
    'reproduction/[neural]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(module.split(".")[0].replace("_", "-"), extra, purpose) from error

"""The von Mises-Fisher distribution on unit vectors, and mixtures of it.

:mod:`~parasphere.sphere.vmf` needs numpy alone; the mixture is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import vmf
    from .movmf import MovMF

__all__ = ["MovMF", "vmf"]


def __getattr__(name: str) -> Any:
    if name == "MovMF":
        return import_module(".movmf", __name__).MovMF
    if name == "vmf":
        return import_module(".vmf", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

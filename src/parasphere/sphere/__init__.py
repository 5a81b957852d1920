"""The von Mises-Fisher distribution, its mixtures and admixtures, on unit vectors.

:mod:`~parasphere.sphere.vmf` needs numpy alone; the estimators are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import vmf
    from .admixture import SphericalAdmixture
    from .movmf import MovMF

__all__ = ["MovMF", "SphericalAdmixture", "vmf"]


def __getattr__(name: str) -> Any:
    homes = {"MovMF": "movmf", "SphericalAdmixture": "admixture"}
    if name in homes:
        return getattr(import_module(f".{homes[name]}", __name__), name)
    if name == "vmf":
        return import_module(".vmf", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

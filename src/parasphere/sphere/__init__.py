"""Unit vectors alone: the von Mises-Fisher distribution, its mixtures and admixtures."""

from . import vmf
from .admixture import SphericalAdmixture
from .movmf import MovMF

__all__ = ["MovMF", "SphericalAdmixture", "vmf"]

"""The spherical admixture model of unit vectors."""

from .admixture import SphericalAdmixture

__all__ = ["SphericalAdmixture"]

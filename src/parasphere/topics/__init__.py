"""Topics: texts that belong together, in their own words."""

from .estimator import SphericalTopics

__all__ = ["SphericalTopics"]

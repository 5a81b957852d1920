"""Topics: groups of texts about the same subject, named by phrases of their own."""

from .estimator import SphericalTopics

__all__ = ["SphericalTopics"]

"""Texts as vectors on the unit sphere, with a sound probabilistic model."""

__version__ = "0.1.0.dev0"

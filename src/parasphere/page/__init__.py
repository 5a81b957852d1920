"""The page: a map of a corpus in one HTML file, to search, read, select and export its texts in a browser."""

from .writing import write_page

__all__ = ["write_page"]

"""The explorer: a local page with a map of a corpus, to search, read, select and export texts."""

from .answers import Explorer
from .app import make_app
from .documents import Documents, Facet, read_documents, read_index
from .landscape import Landscape, landscape_of
from .onefile import MOST_TEXTS, page_of, write_page
from .serving import open_socket, serve

__all__ = [
    "MOST_TEXTS",
    "Documents",
    "Explorer",
    "Facet",
    "Landscape",
    "landscape_of",
    "make_app",
    "open_socket",
    "page_of",
    "read_documents",
    "read_index",
    "serve",
    "write_page",
]

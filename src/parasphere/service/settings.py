"""What a server is told when it is started."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import ParasphereError


@dataclass(frozen=True)
class Settings:
    """The settings of a server; limits are per request unless they say otherwise.

    Parameters
    ----------
    model : path
        The folder of a saved :class:`SphericalParagraphModel`.
    index : path, default=None
        The folder of a saved index, which ``/similar`` searches.
    topics : path, default=None
        The folder of saved :class:`SphericalTopics`, for ``/topics``.
    vectors : str, default=None
        Where the word vectors of the model are now, if they were moved.
    host : str, default="127.0.0.1"
        The address to listen on; the default can be reached from the same machine only.
    port : int, default=8000
        The port; 0 is any that is free.
    workers : int, default=1
        Number of processes. They share the pages of the mapped model.
    api_key : str, default=None
        What clients must send as ``Authorization: Bearer KEY``; None asks for nothing.
    max_body : int, default=8 MiB
        Bytes of a body.
    max_texts : int, default=2048
        Number of texts.
    max_length : int, default=100,000
        Characters of a text.
    max_waiting : int, default=128
        Requests that a worker holds at a time; further ones are answered with 429.
    timeout : float, default=30.0
        Seconds from the first byte of a request's headers to its answer.
    grace : int, default=30
        Seconds that requests have to finish when the server is told to stop.
    """

    model: Path
    index: Path | None = None
    topics: Path | None = None
    vectors: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    api_key: str | None = None
    max_body: int = 8 << 20
    max_texts: int = 2048
    max_length: int = 100_000
    max_waiting: int = 128
    timeout: float = 30.0
    grace: int = 30

    @cached_property
    def name(self) -> str:
        """The name of the model in answers: that of its folder."""
        return self.model.resolve().name


def read_key(path: Path) -> str:
    """Return the API key in a file, without the blanks around it."""
    key = path.read_text(encoding="utf-8").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ParasphereError(f"{path} must hold one API key: printable ASCII characters without blanks between them.")
    return key

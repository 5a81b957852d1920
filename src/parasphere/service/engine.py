"""The model, index and topics of a worker, reloaded when their folders are replaced."""

import asyncio
import contextlib
import logging
import signal
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import ParasphereError, StoreError
from ..model import Encoder
from ..search import Index
from ..storage import MANIFEST, is_saved
from ..topics import SphericalTopics

LOGGER = logging.getLogger("parasphere.service")
INTERVAL = 1.0  # seconds between checks of the folders
_EXAMPLES = ["a boat on the lake", "the road to the hills"]


@dataclass(frozen=True)
class Settings:
    """The settings of a server; limits are per request unless they say otherwise."""

    model: Path  # the folder of a saved model
    index: Path | None = None  # the folder of a saved index, for /similar
    topics: Path | None = None  # the folder of saved topics, for /topics
    host: str = "127.0.0.1"  # reachable from the same machine only
    port: int = 8000  # 0 is any free one
    workers: int = 1  # processes
    api_key: str | None = None  # must be sent as "Authorization: Bearer KEY"; None needs no key
    max_body: int = 8 << 20  # bytes of a body
    max_texts: int = 2048
    max_length: int = 100_000  # characters of a text
    max_waiting: int = 128  # requests that a worker holds at once
    timeout: float = 30.0  # seconds from the first byte of a request's headers to its answer
    grace: int = 30  # seconds that open requests have to finish when the server is stopped

    @cached_property
    def name(self) -> str:
        """The name of the model in answers: that of its folder."""
        return self.model.resolve().name


@dataclass(frozen=True)
class Engine:
    """The encoder of a server, and its index and topics if it has any."""

    encoder: Encoder
    index: Index | None = None
    topics: SphericalTopics | None = None

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Map everything that a server needs into memory."""
        try:
            encoder = Encoder.load(settings.model)
        except StoreError as error:
            hint = " Give the model, and the index by --index." if is_saved(settings.model, "index") else ""
            raise StoreError(f"{error}{hint}") from error
        return cls(
            encoder,
            None if settings.index is None else Index.load(settings.index),
            None if settings.topics is None else SphericalTopics.load(settings.topics),
        )

    def warm(self) -> "Engine":
        """Use everything once, so that no client waits for what is built on first use; return the engine."""
        with contextlib.suppress(ParasphereError):  # the examples may have no known word
            self.encoder.transform(_EXAMPLES)
            if self.index is not None:
                self.index.search(_EXAMPLES, 1)
            if self.topics is not None:
                self.topics.predict(_EXAMPLES)
        return self


class Reloading:
    """Holds the engine of a worker, and replaces it when one of its folders has been replaced.

    A request keeps the engine that it began with; if a folder cannot be loaded, the engine is kept.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state = self._look()  # before loading, so that a folder replaced meanwhile is loaded again
        self._reload = asyncio.Event()
        self._failure = ""
        self.engine = Engine.load(settings).warm()

    async def watch(self) -> None:
        """Check the folders every second and reload them when they changed; SIGHUP always reloads them."""
        with contextlib.suppress(AttributeError, RuntimeError, ValueError):  # on Windows, and outside the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload.set)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._reload.wait(), INTERVAL)
            state = self._look()
            if state == self._state and not self._reload.is_set():
                continue
            self._reload.clear()
            try:
                self.engine = await asyncio.to_thread(lambda: Engine.load(self._settings).warm())
            except Exception as error:  # tried again: the folder may still be being copied
                if str(error) != self._failure:
                    LOGGER.error("reload", exc_info=error)
                self._failure = str(error)
            else:
                self._state, self._failure = state, ""
                LOGGER.info("reloaded")

    def _look(self) -> list[tuple[int, int, int] | None]:
        """Return inode, time and size of the manifest of each folder."""
        found: list[tuple[int, int, int] | None] = []
        for folder in filter(None, (self._settings.model, self._settings.index, self._settings.topics)):
            try:
                state = (folder / MANIFEST).stat()
                found.append((state.st_ino, state.st_mtime_ns, state.st_size))
            except OSError:
                found.append(None)
        return found

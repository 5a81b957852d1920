"""What a worker computes with: a model, an index and topics, loaded anew when their folders are replaced."""

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
INTERVAL = 1.0  # seconds between looks at the folders
_EXAMPLES = ["a boat on the lake", "the road to the hills"]


@dataclass(frozen=True)
class Settings:
    """The settings of a server; limits are per request unless they say otherwise."""

    model: Path  # the folder of a saved model
    index: Path | None = None  # the folder of a saved index, for /similar
    topics: Path | None = None  # the folder of saved topics, for /topics
    host: str = "127.0.0.1"  # can be reached from the same machine only
    port: int = 8000  # 0 is any that is free
    workers: int = 1  # processes
    api_key: str | None = None  # what clients must send as "Authorization: Bearer KEY"; None asks for nothing
    max_body: int = 8 << 20  # bytes of a body
    max_texts: int = 2048
    max_length: int = 100_000  # characters of a text
    max_waiting: int = 128  # requests that a worker holds at a time
    timeout: float = 30.0  # seconds from the first byte of a request's headers to its answer
    grace: int = 30  # seconds that requests have to finish when the server is told to stop

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
        """Compute everything once, so that no client waits for what is built on first use; return the engine."""
        with contextlib.suppress(ParasphereError):  # none of the words of the examples is known here
            self.encoder.transform(_EXAMPLES)
            if self.index is not None:
                self.index.search(_EXAMPLES, 1)
            if self.topics is not None:
                self.topics.predict(_EXAMPLES)
        return self


class Reloading:
    """Holds the engine of a worker, and replaces it when one of its folders has been replaced.

    A request that has begun keeps the engine that it began with; a folder that cannot be loaded changes nothing.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state = self._look()  # before loading: what is replaced meanwhile is loaded again
        self._asked = asyncio.Event()
        self._failure = ""
        self.engine = Engine.load(settings).warm()

    async def watch(self) -> None:
        """Look at the folders every second; SIGHUP loads them though they look as before."""
        with contextlib.suppress(AttributeError, RuntimeError, ValueError):  # Windows; not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._asked.set)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), INTERVAL)
            state = self._look()
            if state == self._state and not self._asked.is_set():
                continue
            self._asked.clear()
            try:
                self.engine = await asyncio.to_thread(lambda: Engine.load(self._settings).warm())
            except Exception as error:  # tried again, as a folder that is copied is complete only at the end
                if str(error) != self._failure:
                    LOGGER.error("reload", exc_info=error)
                self._failure = str(error)
            else:
                self._state, self._failure = state, ""
                LOGGER.info("reloaded")

    def _look(self) -> list[tuple[int, int, int] | None]:
        """Return what tells the manifest of each folder from another one."""
        found: list[tuple[int, int, int] | None] = []
        for folder in filter(None, (self._settings.model, self._settings.index, self._settings.topics)):
            try:
                state = (folder / MANIFEST).stat()
                found.append((state.st_ino, state.st_mtime_ns, state.st_size))
            except OSError:
                found.append(None)
        return found

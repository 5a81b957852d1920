"""Running a server: its socket, its workers, and how it ends."""

import asyncio
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import ParasphereError
from .accepting import FairLoop
from .app import create_app
from .engine import Engine
from .logs import CONFIG
from .metrics import FOLDER
from .settings import Settings
from .workers import Workers

HEADER_SECONDS = 10.0  # from a connection, or the last answer on it, to the end of the next request's headers
_IDLE_SECONDS = 75  # between requests: longer than proxies keep connections, which would otherwise meet closed ones
_HEALTH_SECONDS = 60  # within which a worker that has started answers its parent


class Gathering:
    """A transport that writes at the end of the loop's turn: uvicorn writes headers and body of an answer apart.

    Each write takes as long as the rest of what HTTP does for a short answer, here and at the client, which is woken.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write soon."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Write what is left, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Impatient(HttpToolsProtocol):
    """HTTP with an end to waiting for headers, which uvicorn does not have: idle connections cost a file each."""

    lost: Callable[[], None] | None = None  # called when the connection has ended
    _since: float | None = None  # when headers began to be waited for
    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the headers of the first request."""
        super().connection_made(Gathering(transport, self.loop))  # type: ignore[arg-type]
        self._since = self.loop.time()
        self._check = self.loop.call_later(HEADER_SECONDS, self._look)

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of the next request."""
        super().on_message_begin()
        if self._since is None:
            self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Wait no longer."""
        self._since = None
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no longer."""
        if self._check is not None:
            self._check.cancel()
        super().connection_lost(exc)
        if self.lost is not None:
            self.lost()

    def _look(self) -> None:
        """Look whether it is time to give up; one timer per connection costs less than one per request."""
        left = HEADER_SECONDS if self._since is None else self._since + HEADER_SECONDS - self.loop.time()
        # A loop that was held up runs its timers first: what has arrived meanwhile must be read before this is decided.
        self._check = self.loop.call_later(left, self._look) if left > 0 else self.loop.call_later(0.1, self._close)

    def _close(self) -> None:
        if self._since is None:
            self._look()
        elif not self.transport.is_closing():
            self.transport.close()


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until a signal ends it: requests that have begun are answered first.

    The model is loaded here too, before any worker, so that what is wrong with it is told at once.

    Parameters
    ----------
    settings : Settings
    announce : callable
        Called with the URL of the server when that is known.
    """
    Engine.load(settings)
    listening = bind(settings)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    announce(f"http://{shown}:{port}")
    # uvicorn raises the signal that ended it once more, when all is done; as an exception it can be caught.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="parasphere-") as folder:
        config = uvicorn.Config(
            partial(create_app, settings), factory=True, workers=settings.workers, http=Impatient, ws="none",
            loop="auto" if settings.workers == 1 else f"{FairLoop.__module__}:FairLoop",
            lifespan="on", log_config=CONFIG, access_log=False, server_header=False, proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS, timeout_graceful_shutdown=settings.grace,
            timeout_worker_healthcheck=_HEALTH_SECONDS,
        )  # fmt: skip
        try:
            if settings.workers == 1:
                server = uvicorn.Server(config)
                server.run([listening])
                if not server.started:
                    raise ParasphereError("the server could not start; its log says why.")
            else:
                os.environ[FOLDER] = folder
                workers = Workers(config, sockets=[listening])
                workers.run()
                if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
                    raise ParasphereError("a worker could not start; the log says why.")
        except KeyboardInterrupt:
            pass
        finally:
            listening.close()


def bind(settings: Settings) -> socket.socket:
    """Return a listening socket, which all workers share: what one of them has not accepted, another does."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ParasphereError(f"{settings.host!r} is no address to listen on ({error}).") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.set_inheritable(True)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ParasphereError(
            f"port {settings.port} of {settings.host} cannot be listened on ({error}); choose another by --port."
        ) from None
    return listening

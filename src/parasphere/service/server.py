"""The server: application, workers, socket, logs and shutdown."""

import asyncio
import logging
import os
import signal
import socket
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
import uvicorn
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from prometheus_client.multiprocess import mark_process_dead
from starlette.exceptions import HTTPException
from starlette.routing import Route
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from .. import __version__
from ..errors import CoverageWarning, ParasphereError
from .engine import LOGGER, Engine, Reloading, Settings
from .middleware import METRICS_FOLDER, ServiceMiddleware
from .problems import ProblemError, answer, on_problem
from .routes import router

HEADER_SECONDS = 10.0  # from a connection, or the first byte of a request, to the end of its headers
MAX_HEADER_BYTES, MAX_HEADERS = 32 << 10, 100  # of a request, its first line included
_IDLE_SECONDS = 75  # between requests: longer than proxies keep connections, so that the proxy closes them first
_HEALTH_SECONDS = 60  # within which a worker answers its parent; on a busy machine its imports take long
_THREADS = 4  # requests that are computed at the same time
_ABOUT = "Texts as unit vectors with a measure of certainty: vectors, search, explanations and topics of one model."


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application of a worker; the model is loaded when it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", CoverageWarning)  # of few known words, which concern the client
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        app.state.reloading = Reloading(settings)
        watching = asyncio.create_task(app.state.reloading.watch())
        yield
        watching.cancel()

    described = [route for route in router.routes if isinstance(route, APIRoute)]
    # Endpoints take requests and return responses, so that Starlette's routes, which are faster, can call them.
    called = [Route(route.path, route.endpoint, methods=list(route.methods or ())) for route in described]
    app: FastAPI = FastAPIOffline(
        title="parasphere", version=__version__, description=_ABOUT, lifespan=lifespan, routes=called
    )
    # The middleware checks the key; the dependency adds a field for it to the OpenAPI pages.
    app.include_router(router, dependencies=None if settings.api_key is None else [Depends(HTTPBearer())])
    app.state.settings = settings
    app.add_exception_handler(HTTPException, on_problem)
    app.add_middleware(ServiceMiddleware, settings=settings, paths={route.path for route in described})
    return app


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON; its ``fields`` are those of the call's ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without the newline."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


_LOGS: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonLines}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": "INFO", "propagate": False} for name in (LOGGER.name, "uvicorn")
    },
}


class BoundedProtocol(HttpToolsProtocol):
    """HTTP with limits on the bytes, number and time of headers, which uvicorn does not have."""

    _timer: asyncio.TimerHandle | None = None
    _unread = 0  # bytes since the end of the headers, or since the last piece of a body
    _too_long = False

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._wait(True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._wait(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; headers and trailers are counted before their end, because the parser holds them."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._too_long = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start the timer for the headers of a request."""
        super().on_message_begin()
        self._wait(True)

    def on_headers_complete(self) -> None:
        """Stop the timer; refuse headers that are too long."""
        self._wait(False)
        self._unread = 0
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        self._too_long = size > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS
        if self._too_long:
            raise ValueError("too many headers")  # which the parser passes on as one of its own errors
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Restart the count; the application limits bodies."""
        self._unread = 0
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is not HTTP, or has too many headers, and close the connection."""
        status, message = 400, "this is not a valid HTTP request."
        if self._too_long:
            status = 431
            message = f"the headers are too long; at most {MAX_HEADERS}, of {MAX_HEADER_BYTES:,} bytes, are accepted."
        body = bytes(answer(ProblemError(status, message)).body)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()

    def _wait(self, begins: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close) if begins else None


class Workers(Multiprocess):
    """Keeps the requested number of workers running."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended, and subtract the requests that they counted as waiting."""
        before = list(self.processes)
        for process in before:
            # The worker's end of the pipe: if it dies during a health check, the parent must not wait for its answer.
            process.child_conn.close()
        super().keep_subprocess_alive()
        for process in before:
            if not process.process.is_alive():
                mark_process_dead(process.pid)  # type: ignore[no-untyped-call]

    def handle_hup(self) -> None:
        """Let workers reload their model; uvicorn would replace the workers."""
        for process in self.processes:
            if process.pid is not None and process.is_ready(timeout=1):  # a starting worker loads it anyway
                os.kill(process.pid, signal.SIGHUP)


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until a signal ends it: requests that have begun are answered first.

    The model is loaded here too, before any worker, so that an error in it is reported at once. ``announce`` is called
    with the URL of the server.
    """
    Engine.load(settings)
    listening = bind(settings)
    host, port = listening.getsockname()[:2]
    announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    # At the end uvicorn raises the signal that stopped it again; as an exception it can be caught.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="parasphere-") as folder:
        config = uvicorn.Config(
            partial(create_app, settings), factory=True, workers=settings.workers, http=BoundedProtocol, ws="none",
            lifespan="on", log_config=_LOGS, access_log=False, server_header=False, proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS, timeout_graceful_shutdown=settings.grace,
            timeout_worker_healthcheck=_HEALTH_SECONDS,
        )  # fmt: skip
        try:
            if settings.workers == 1:
                uvicorn.Server(config).run([listening])
                return
            os.environ[METRICS_FOLDER] = folder
            workers = Workers(config, sockets=[listening])
            workers.run()
            if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
                raise ParasphereError("a worker could not start; the log has the reason.")
        except KeyboardInterrupt:
            pass
        finally:
            listening.close()


def bind(settings: Settings) -> socket.socket:
    """Return a listening socket, which all workers share."""
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on port {port} of {host} ({error}); choose others with --host and --port."
        raise ParasphereError(message) from None

"""Middleware of all requests: id, key, limits, timeout, log line and metrics.

With several workers the metrics of each are in files of a common folder, which the environment variable
PROMETHEUS_MULTIPROC_DIR names before prometheus-client is imported; the worker that answers ``/metrics`` adds them up.
"""

import asyncio
import hmac
import logging
import random
import re
import time
from collections.abc import Collection

from prometheus_client import Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .engine import LOGGER, Settings
from .problems import ProblemError, answer

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SECONDS = Histogram("parasphere_request_seconds", "Seconds per request.", ["path"], buckets=_BUCKETS)
_REQUESTS = Counter("parasphere_requests", "Requests that were answered.", ["path", "status"])
_TEXTS = Counter("parasphere_texts", "Texts that were computed.", ["path"])
_WAITING = Gauge("parasphere_requests_waiting", "Requests that are being served.", multiprocess_mode="livesum")

# Paths that need no key: probes, and the description of the interface.
_OPEN = ("/health", "/ready", "/docs", "/redoc", "/openapi.json", "/static-offline-docs/")
_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_HELD = 8  # limit of the bodies of all waiting requests together, in bodies of the largest size
_DROPPED = 1 << 16  # bytes of a body that are read after an answer, to keep the connection open
_SOON = {"Retry-After": "1"}


class ServiceMiddleware:
    """Admits requests within the limits, counts and logs them; ``paths`` are counted by name, others together."""

    def __init__(self, app: ASGIApp, settings: Settings, paths: Collection[str]) -> None:
        self.app, self.settings, self.paths = app, settings, paths
        self.waiting = 0  # requests with a body, read or not
        self.held = 0  # bytes of their bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        exchange = _Exchange(self, scope, receive, send)
        works = scope["method"] == "POST"
        self.waiting += works
        _WAITING.inc(works)
        try:
            async with asyncio.timeout(self.settings.timeout):
                self._admit(exchange, works)
                await self.app(scope, exchange.receive, exchange.send)
        except ProblemError as problem:
            await exchange.refuse(problem)
        except TimeoutError:
            await exchange.refuse(self._late(exchange))
        except Exception as error:
            fields = {"request_id": exchange.id, "path": scope["path"]}
            LOGGER.error("error", exc_info=error, extra={"fields": fields})
            await exchange.refuse(ProblemError(500, f"the server failed; its log says why, under id {exchange.id}."))
        finally:
            self.held -= exchange.size
            self.waiting -= works
            _WAITING.dec(works)
        self._record(exchange, time.perf_counter() - began)

    def _admit(self, exchange: "_Exchange", works: bool) -> None:
        key, limit = self.settings.api_key, self.settings.max_waiting
        if key is not None and not exchange.scope["path"].startswith(_OPEN):
            scheme, _, sent = exchange.headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(sent.strip(), key.encode()):
                message = "send the API key of this server as 'Authorization: Bearer KEY'."
                raise ProblemError(401, message, headers={"WWW-Authenticate": "Bearer"})
        if works and self.waiting > limit:
            raise _busy(f"{limit} requests are waiting already")

    def _late(self, exchange: "_Exchange") -> ProblemError:
        seconds = f"{self.settings.timeout:g} s"
        if exchange.complete:
            return ProblemError(503, f"the request took longer than {seconds}; send less at a time.", headers=_SOON)
        message = f"the body of the request did not arrive within {seconds}."
        return ProblemError(408, message, headers={"Connection": "close"})

    def _record(self, exchange: "_Exchange", seconds: float) -> None:
        """Count and log a request that was answered."""
        scope, status = exchange.scope, exchange.status
        path, texts, client = scope["path"], scope["texts"], scope.get("client")
        label = path if path in self.paths else "other"
        _SECONDS.labels(label).observe(seconds)
        _REQUESTS.labels(label, status).inc()
        _TEXTS.labels(label).inc(texts)
        level = logging.ERROR if status >= 500 else logging.WARNING if status == 429 else logging.INFO
        fields = {
            "request_id": exchange.id, "method": scope["method"], "path": path[:200], "status": status,
            "ms": round(1000 * seconds, 3), "texts": texts, "bytes": exchange.size, "client": client and client[0],
        }  # fmt: skip
        LOGGER.log(level, "request", extra={"fields": fields})


class _Exchange:
    """The state of a request and its answer."""

    def __init__(self, service: ServiceMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self.service, self.scope, self._receive, self._send = service, scope, receive, send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        own = self.headers.get(b"x-request-id", b"")
        self.id = own.decode() if _ID.fullmatch(own) else f"{random.getrandbits(64):016x}"
        self.length = int(self.headers.get(b"content-length", b"0").lstrip(b"0")[:20] or 0)  # int() bounds the digits
        self.status, self.size = 0, 0
        self.complete = not self.length and b"transfer-encoding" not in self.headers
        scope["texts"] = 0  # set by endpoints

    async def receive(self) -> Message:
        service, limit = self.service, self.service.settings.max_body
        message: Message = {"type": "none"} if self.length > limit else await self._receive()
        piece = message.get("body", b"")
        self.size += len(piece)
        service.held += len(piece)
        if max(self.length, self.size) > limit:
            raise ProblemError(413, f"the body is too long; the limit is {limit:,} bytes.")
        if service.held > _HELD * limit:
            raise _busy(f"requests of {service.held:,} bytes are waiting already")
        if message["type"] == "http.disconnect" and not self.complete:
            raise ProblemError(400, "the client disconnected before its request was read.")
        self.complete = self.complete or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode())]
            dropped = min(_DROPPED, self.service.settings.max_body)
            if not self.complete and not 0 < self.length <= dropped:  # uvicorn would read the rest of the body
                message["headers"].append((b"connection", b"close"))
        await self._send(message)

    async def refuse(self, problem: ProblemError) -> None:
        """Answer with a problem, unless an answer has begun."""
        if not self.status:
            await answer(problem)(self.scope, self._receive, self.send)


def _busy(why: str) -> ProblemError:
    return ProblemError(429, f"this worker is busy: {why}. Try again in a second.", headers=_SOON)

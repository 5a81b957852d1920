"""The gate that every request passes: its id, key, limits, time, log line and numbers.

The endpoints are FastAPI's, which describes them, but they are called from here: a request takes ten times as long
through its routers as it does otherwise, and nothing of what these would do is needed. All else is FastAPI's to answer.
"""

import asyncio
import hmac
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from .call import Call
from .deadlines import Deadlines
from .logs import log_failure, log_request
from .metrics import Metrics
from .problems import ProblemError, answer
from .settings import Settings

# What anybody may ask without a key: probes, and the description of the interface.
OPEN = ("/health", "/ready", "/docs", "/redoc", "/openapi.json", "/static-offline-docs/")
WORK = ("/embed", "/similar", "/explain", "/topics", "/v1/embeddings")
_NAMED = {*WORK, "/health", "/ready", "/metrics", "/docs", "/redoc", "/openapi.json", "/v1/models"}
_random = random.Random()  # ids need not be secret, and asking the system for each costs as much as all else here
_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
Endpoint = Callable[[Call], Awaitable[Response]]
_HELD = 8  # bodies of the largest size that all waiting requests may hold together


class Gate:
    """The ASGI application of a worker.

    Parameters
    ----------
    app : FastAPI
        The application.
    routes : iterable of APIRoute
        Its routes whose endpoints are functions from a request to a response, and whose paths have no parameters.
    settings : Settings
    metrics : Metrics
    """

    def __init__(self, app: FastAPI, routes: Iterable[APIRoute], settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.endpoints: dict[tuple[str, str], Endpoint] = {
            (method, route.path): route.endpoint for route in routes for method in route.methods or ()
        }
        self.key = None if settings.api_key is None else b"Bearer " + settings.api_key.encode()
        self.deadlines = Deadlines(settings.timeout)
        self.waiting = 0  # requests, read or not
        self.held = 0  # bytes of their bodies
        self._told = 0  # how many wait, as the metrics have it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Passage(self, scope, receive, send).pass_through()

    def wait(self, change: int) -> None:
        """Count requests that wait; the metrics are told at the end of the loop's turn, in which many come and go."""
        if self.waiting == self._told:
            asyncio.get_running_loop().call_soon(self._tell_waiting)
        self.waiting += change

    def _tell_waiting(self) -> None:
        self._told = self.waiting
        self.metrics.waiting.set(self.waiting)


class _Passage:
    """One request on its way through the gate."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        self.gate, self.scope, self.receive, self.send = gate, scope, receive, send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        self.id = given if _ID.fullmatch(given) else b"%016x" % _random.getrandbits(64)
        self.path: str = scope["path"]
        self.status, self.size, self.complete, self.closing = 0, 0, False, False
        scope["texts"] = 0  # set by those who compute them
        scope["app"] = gate.app

    async def pass_through(self) -> None:
        """Serve the request, and tell how it went."""
        began = time.perf_counter()
        deadlines = self.gate.deadlines
        task = deadlines.begin()
        try:
            await self._admitted()
        except ProblemError as problem:
            await self._refuse(problem)
        except asyncio.CancelledError:
            if not deadlines.missed(task):
                raise
            await self._refuse(self._late())
        except Exception as error:
            log_failure("error", error, request_id=self.id.decode(), path=self.path)
            await self._refuse(
                ProblemError(500, f"the server failed; its log says why, under the id {self.id.decode()}.")
            )
        finally:
            deadlines.end(task)
        self._tell(time.perf_counter() - began)

    async def _admitted(self) -> None:
        gate, works = self.gate, self.path in WORK
        if not self._has_key():
            raise ProblemError(
                401, "send the API key of this server as 'Authorization: Bearer KEY'.",
                headers={"WWW-Authenticate": "Bearer"},
            )  # fmt: skip
        if works and gate.waiting >= gate.settings.max_waiting:
            self.closing = b"content-length" not in self.headers or int(self.headers[b"content-length"]) > 1 << 16
            raise _busy(f"{gate.waiting} requests wait already")
        if works:
            gate.wait(1)
        try:
            body = await self._body()
            endpoint = gate.endpoints.get((self.scope["method"], self.path))
            if endpoint is None:
                await gate.app(self.scope, _Replay(body, self.receive), self._pass_on)
            else:
                await self._answer(await endpoint(Call(self.scope, gate.app.state.worker, self.headers, body)))
        finally:
            gate.held -= self.size
            if works:
                gate.wait(-1)

    def _has_key(self) -> bool:
        if self.gate.key is None or self.path.startswith(OPEN):
            return True
        return hmac.compare_digest(self.headers.get(b"authorization", b""), self.gate.key)

    async def _body(self) -> bytes:
        """Read the body, as long as it is within the limits."""
        limit = self.gate.settings.max_body
        length = self.headers.get(b"content-length", b"0")
        if int(length) > limit:  # what is no number does not come this far
            self.closing = True
            raise ProblemError(413, f"the body has {int(length):,} bytes; at most {limit:,} are taken.")
        pieces: list[bytes] = []
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ProblemError(400, "the client left before its request was read.")
            piece = message.get("body", b"")
            self.size += len(piece)
            self.gate.held += len(piece)
            if self.size > limit:
                self.closing = True
                raise ProblemError(413, f"the body has more than {limit:,} bytes, which is what is taken at most.")
            if self.gate.held > _HELD * limit:
                self.closing = True
                raise _busy(f"requests of {self.gate.held:,} bytes wait already")
            pieces.append(piece)
            if not message.get("more_body", False):
                self.complete = True
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _late(self) -> ProblemError:
        seconds = f"{self.gate.settings.timeout:g} s"
        self.closing = True
        if self.complete:
            return ProblemError(503, f"the request took longer than {seconds}; send less at a time.", headers=_SOON)
        return ProblemError(408, f"the body of the request did not arrive within {seconds}.")

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._headers(message["headers"])
        await self.send(message)

    async def _answer(self, response: Response) -> None:
        self.status = response.status_code
        headers = self._headers(response.raw_headers)
        await self.send({"type": "http.response.start", "status": self.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": response.body})

    def _headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        own = [(b"x-request-id", self.id), (b"connection", b"close")]
        return [*given, *(own if self.closing else own[:1])]

    async def _refuse(self, problem: ProblemError) -> None:
        if not self.status:  # an answer that has begun cannot be taken back
            await self._answer(answer(problem))

    def _tell(self, seconds: float) -> None:
        path = self.path if self.path in _NAMED else "other"
        texts, client = self.scope["texts"], self.scope.get("client")
        self.gate.metrics.count(path, self.status, seconds, texts)
        log_request(
            "error" if self.status >= 500 else "warning" if self.status == 429 else "info",
            request_id=self.id.decode(), method=self.scope["method"], path=self.path[:200], status=self.status,
            ms=round(1000 * seconds, 3), texts=texts, bytes=self.size, client=client[0] if client else None,
        )  # fmt: skip


class _Replay:
    """Hands on a body that was read, and then what else the client does."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self.body: bytes | None = body
        self.receive = receive

    async def __call__(self) -> Message:
        if self.body is None:
            return await self.receive()
        message: dict[str, Any] = {"type": "http.request", "body": self.body, "more_body": False}
        self.body = None
        return message


_SOON = {"Retry-After": "1"}


def _busy(why: str) -> ProblemError:
    return ProblemError(429, f"this worker is busy: {why}. Try again in a second.", headers=_SOON)

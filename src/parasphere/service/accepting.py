"""Connections shared evenly among workers.

All workers listen on one socket: what one of them has not accepted, another does, also if it dies. asyncio and uvloop
accept all connections that wait at once, so that the worker that wakes first has most of the load for as long as they
last. Here a worker accepts one at a time, and hesitates the longer the more it has.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from .logs import log_failure

_HESITATION, _LONGEST = 0.0002, 0.005  # seconds per open connection, and at most
_PAUSE = 1.0  # seconds, if there are too many open files to accept one more


def _usual() -> Any:
    """Return the loop that uvicorn would choose."""
    try:
        from uvloop import Loop
    except ImportError:  # on Windows
        return asyncio.SelectorEventLoop
    return Loop


_Usual: Any = _usual()


class FairLoop(_Usual):
    """An event loop whose servers leave connections to workers that have fewer."""

    async def create_server(self, protocol_factory: Callable[[], Any], *_: Any, sock: socket.socket, **__: Any) -> Any:
        """Accept connections on a socket that listens already; protocols call their ``lost`` when they end."""
        return Listener(self, protocol_factory, sock)


class Listener:
    """Accepts the connections of a socket; in place of :class:`asyncio.Server`.

    Parameters
    ----------
    loop : AbstractEventLoop
    protocol_factory : callable
        Makes the protocol of a connection, which calls its attribute ``lost`` when the connection ends.
    listening : socket
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol_factory: Callable[[], Any], listening: socket.socket
    ) -> None:
        self.sockets = (listening,)
        self._loop, self._make, self._socket = loop, protocol_factory, listening
        self._open, self._closed, self._tasks = 0, False, set[asyncio.Task[None]]()
        listening.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Accept no more."""
        self._loop.remove_reader(self._socket)
        self._closed = True

    async def wait_closed(self) -> None:
        """Return: connections are for their protocols to end."""

    def _listen(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._socket, self._hesitate)

    def _hesitate(self) -> None:
        """Somebody connects: leave it to a worker that has fewer connections, if it is not busy."""
        self._loop.remove_reader(self._socket)
        self._loop.call_later(min(_HESITATION * self._open, _LONGEST), self._accept)

    def _accept(self) -> None:
        if self._closed:
            return
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):  # another worker was faster, or the client has left
            self._listen()
            return
        except OSError as error:
            log_failure("accept", error)
            self._loop.call_later(_PAUSE, self._listen)
            return
        connection.setblocking(False)
        self._open += 1
        task = self._loop.create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._listen()

    async def _serve(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()
            self._open -= 1

    def _protocol(self) -> Any:
        protocol = self._make()
        protocol.lost = self._lost
        return protocol

    def _lost(self) -> None:
        self._open -= 1

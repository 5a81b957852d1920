"""Serving the page on a port of this machine."""

import contextlib
import socket
from typing import Any

from ..errors import ParasphereError, import_extra

HOST = "127.0.0.1"


def open_socket(port: int) -> socket.socket:
    """Return a socket that listens on this machine only; port 0 is any free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # from now on connections wait instead of failing
    except OSError as error:
        listening.close()
        raise ParasphereError(
            f"port {port} cannot be used ({error.strerror}); choose another with --port, or 0 for any free one"
        ) from None
    return listening


def serve(app: Any, listening: socket.socket) -> None:
    """Answer requests until the process is interrupted."""
    uvicorn = import_extra("uvicorn", "explore", "the explorer")
    with contextlib.suppress(KeyboardInterrupt):  # stops the server
        uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none")).run(sockets=[listening])

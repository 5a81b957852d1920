"""The command of the service."""

import os
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from . import options
from .common import out

KEY = "PARASPHERE_API_KEY"


def add_serve_command(app: typer.Typer) -> None:
    """Register the command of this module."""
    app.command()(serve)


def serve(
    model: options.Model,
    index: Annotated[
        Path | None, Option(metavar="FOLDER", help="An index for /similar, written by 'parasphere index'.")
    ] = None,
    topics: Annotated[
        Path | None, Option(metavar="FOLDER", help="Topics for /topics, written by 'parasphere topics --out'.")
    ] = None,
    host: Annotated[
        str, Option(help="Address to listen on; 0.0.0.0 lets other machines in, and should come with a key.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 is any that is free.")] = 8000,
    workers: Annotated[int, Option(min=1, help="Number of processes; they share the mapped model.")] = 1,
    api_key_file: Annotated[
        Path | None,
        Option(metavar="FILE", help=f"A file with the key that clients must send. (default: ${KEY}, if it is set)"),
    ] = None,
    max_body: Annotated[float, Option(min=0.001, help="Largest body of a request, in MiB.")] = 8.0,
    max_texts: Annotated[int, Option(min=1, help="Most texts of a request.")] = 2048,
    max_length: Annotated[int, Option(min=1, help="Most characters of a text.")] = 100_000,
    max_waiting: Annotated[int, Option(min=1, help="Requests that a worker holds; it answers further ones 429.")] = 128,
    timeout: Annotated[float, Option(min=0.001, help="Seconds that a request may take.")] = 30.0,
    grace: Annotated[int, Option(min=0, help="Seconds that requests have to finish when the server is stopped.")] = 30,
    vectors: options.LoadVectors = None,
) -> None:
    """Serve a model over HTTP: vectors, search, explanations, topics (extra 'serve').

    Clients of OpenAI's embeddings work with http://HOST:PORT/v1 as their base URL. /docs describes all endpoints.

    \b
    Examples:
        parasphere serve model
        parasphere serve model --index index --topics topics --workers 4
        PARASPHERE_API_KEY=... parasphere serve model --host 0.0.0.0
    """
    from ..errors import ParasphereError, import_extra

    for module in ("fastapi", "httptools", "orjson", "fastapi_offline", "prometheus_client", "uvicorn"):
        import_extra(module, "serve", "the service")
    from ..service.server import serve as run
    from ..service.settings import Settings, read_key

    key = os.environ.get(KEY) if api_key_file is None else read_key(api_key_file)
    if key == "":
        raise ParasphereError(f"{KEY} is empty; set it to the key that clients must send, or unset it.")
    run(
        Settings(
            model, index, topics, vectors, host, port, workers, key, int(max_body * (1 << 20)), max_texts, max_length,
            max_waiting, timeout, grace,
        ),
        lambda url: out.print(f"serving {model} on {url} (Ctrl-C ends it)", soft_wrap=True),
    )  # fmt: skip

"""The command of the service."""

import os
from pathlib import Path

import click

from ..errors import ParasphereError, import_extra
from . import options

KEY = "PARASPHERE_API_KEY"


@click.command()
@options.model
@click.option(
    "--index", metavar="FOLDER", type=options.PATH, help="An index for /search, written by 'parasphere index'."
)
@click.option(
    "--topics", metavar="FOLDER", type=options.PATH, help="Topics for /topics, written by 'parasphere topics --out'."
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on; 0.0.0.0 lets other machines in, and should come with a key and a proxy.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0 is any that is free.")
@click.option("--workers", type=click.IntRange(1), default=1, help="Number of processes; they share the mapped model.")
@click.option(
    "--api-key-file",
    metavar="FILE",
    type=options.PATH,
    help="A file with the key that clients must send.",
    show_default=f"${KEY}, if it is set",
)
@click.option("--max-body", type=click.FloatRange(0.001), default=8.0, help="Largest body of a request, in MiB.")
@click.option("--max-texts", type=click.IntRange(1), default=2048, help="Most texts per request.")
def serve(
    model: Path, index: Path | None, topics: Path | None, host: str, port: int, workers: int,
    api_key_file: Path | None, max_body: float, max_texts: int,
) -> None:  # fmt: skip
    """Serve a model over HTTP (extra 'serve').

    Vectors, search, explanations and topics. Clients of OpenAI's embeddings work with http://HOST:PORT/v1 as their base
    URL. /openapi.json describes all endpoints.

    \b
    Examples:
        parasphere serve model
        parasphere serve model --index index --topics topics --workers 4
        PARASPHERE_API_KEY=... parasphere serve model --host 0.0.0.0
    """
    for module in ("fastapi", "httptools", "prometheus_client", "uvicorn"):
        import_extra(module, "serve", "the service")
    from ..service import Settings
    from ..service import serve as run

    key = os.environ.get(KEY) if api_key_file is None else _read_key(api_key_file)
    if key == "":
        raise ParasphereError(f"{KEY} is empty; set it to the key that clients must send, or unset it.")
    limits = {"max_body": int(max_body * (1 << 20)), "max_texts": max_texts}
    run(Settings(model=model, index=index, topics=topics, api_key=key, **limits), host, port, workers)


def _read_key(path: Path) -> str:
    """Return the API key in a file, without the blanks around it."""
    key = path.read_text(encoding="utf-8").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ParasphereError(f"{path} must hold one API key: printable ASCII characters without blanks between them.")
    return key

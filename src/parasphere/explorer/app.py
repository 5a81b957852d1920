"""The web application behind the page: its files, the arrays of points, and the answers as JSON."""

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime
from importlib import resources
from threading import Lock
from typing import Any

import numpy as np

from ..errors import ParasphereError, import_extra
from .answers import Explorer

# Only the page's own files are run or fetched, whatever a text contains.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
HOSTS = ["localhost", "127.0.0.1"]  # refuses pages of other sites that reach this port by another name (DNS rebinding)
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
MOST_JSON = 200_000  # most bytes of a JSON request
FORMATS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def make_app(explorer: Explorer) -> Any:
    """Return the ASGI application (extra ``explore``)."""
    fastapi = import_extra("fastapi", "explore", "the explorer")
    from fastapi.concurrency import run_in_threadpool
    from fastapi.requests import Request
    from fastapi.responses import JSONResponse, Response
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    app = fastapi.FastAPI(title="parasphere explorer", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)
    files, busy = page_files(), Lock()

    async def answer(work: Callable[..., Any], *arguments: Any) -> Any:
        """Compute in a thread, one request at a time."""

        def alone() -> Any:
            with busy:
                return work(*arguments)

        return await run_in_threadpool(alone)

    async def add_headers(request: Request, go_on: Any) -> Any:
        response = await go_on(request)
        response.headers.update(HEADERS)
        return response

    async def explain(_: Request, error: ParasphereError) -> Any:
        return JSONResponse({"detail": str(error)}, 422)

    async def page(name: str = "index.html") -> Any:
        if name not in files:
            return JSONResponse({"detail": f"there is no file {name!r}"}, 404)
        return Response(files[name], media_type=TYPES[name.rsplit(".", 1)[-1]])

    async def about() -> Any:
        return JSONResponse(await answer(explorer.about))

    async def array(name: str) -> Any:
        numbers = await answer(explorer.array, name)
        little = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        return Response(little.tobytes(), media_type="application/octet-stream")

    async def glance(row: int) -> Any:
        return JSONResponse(await answer(explorer.glance, row))

    async def search(request: Request) -> Any:
        asked = _question(await _body(request, MOST_JSON + 12 * len(explorer.documents)), {"text": str})
        return JSONResponse(await answer(explorer.search, asked["text"], _chosen(asked.get("rows"))))

    async def document(request: Request) -> Any:
        asked = _question(await _body(request, MOST_JSON), {"row": int, "asked": str})
        return JSONResponse(await answer(explorer.document, asked["row"], 12, asked["asked"]))

    async def selection(request: Request) -> Any:
        rows = _rows(await _body(request, 4 * len(explorer.documents)))
        return JSONResponse(await answer(explorer.selection, rows))

    async def export(format: str, request: Request) -> Any:
        if format not in FORMATS:
            raise ParasphereError(f"texts are exported as csv or parquet, not as {format!r}")
        rows = _rows(await _body(request, 4 * len(explorer.documents)))
        content = await answer(lambda: _written(explorer.table(rows), format))
        return Response(content, media_type=FORMATS[format])

    app.middleware("http")(add_headers)
    app.add_exception_handler(ParasphereError, explain)
    for path, method, handler in (
        ("/", "GET", page),
        ("/page/{name}", "GET", page),
        ("/api/about", "GET", about),
        ("/api/arrays/{name}", "GET", array),
        ("/api/glance/{row}", "GET", glance),
        ("/api/search", "POST", search),
        ("/api/document", "POST", document),
        ("/api/selection", "POST", selection),
        ("/api/export/{format}", "POST", export),
    ):
        app.add_api_route(path, handler, methods=[method], response_model=None)
    return app


def page_files() -> dict[str, bytes]:
    """Return the files of the page by name."""
    folder = resources.files(__package__).joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rsplit(".", 1)[-1] in TYPES}


async def _body(request: Any, most: int) -> bytes:
    """Return the body of a request; raise if it has more than ``most`` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise ParasphereError(f"the request is too long; the limit is {most:,} bytes")
    return bytes(body)


def _question(body: bytes, fields: dict[str, type]) -> dict[str, Any]:
    """Return a JSON object that has fields of these types."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or any(type(asked.get(name)) is not kind for name, kind in fields.items()):
        expected = ", ".join(f"{name} ({kind.__name__})" for name, kind in fields.items())
        raise ParasphereError(f"the request is not a JSON object with {expected}")
    return asked


def _rows(body: bytes) -> Any:
    """Return the rows that a body lists, as the page sends them: unsigned, 32 bits, little-endian."""
    if len(body) % 4:
        raise ParasphereError(f"rows must be numbers of 4 bytes each, not {len(body)} bytes")
    return np.frombuffer(body, "<u4").astype(np.int64)


def _chosen(rows: Any) -> Any:
    """Return the rows that a search is limited to; None is all."""
    if rows is None:
        return None
    if not isinstance(rows, list) or any(type(row) is not int or abs(row) >= 1 << 62 for row in rows):
        raise ParasphereError("rows must be a list of whole numbers, or null")
    return np.array(rows, np.int64)


def _written(columns: dict[str, list[Any]], format: str) -> bytes:
    if format == "csv":
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow(map(_cell, columns))
        rows.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
        return text.getvalue().encode()
    parquet = import_extra("pyarrow.parquet", "arrow", "Exporting Parquet")
    file = io.BytesIO()
    parquet.write_table(import_extra("pyarrow", "arrow", "Exporting Parquet").table(columns), file)
    return file.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for CSV, with an apostrophe before what a spreadsheet would take for a formula."""
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value

"""A request as endpoints get it, and their answer in JSON.

Both are Starlette's without what is not needed here: objects for the headers of either, and a stream for a body that
has been read. A request of one text is so short that these would be a good part of it.
"""

from typing import Any, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from .engine import Engine
from .metrics import Metrics
from .settings import Settings
from .work import Work


class Worker(NamedTuple):
    """What the endpoints of a worker share."""

    settings: Settings
    engine: Engine
    work: Work
    metrics: Metrics


class Call(Request):
    """A request that the gate has read.

    Parameters
    ----------
    scope : Scope
    worker : Worker
        What serves it.
    fields : dict of bytes to bytes
        Its headers, by names in lower case.
    content : bytes
        Its body.
    """

    def __init__(self, scope: Scope, worker: Worker, fields: dict[bytes, bytes], content: bytes) -> None:
        self.scope, self.worker, self.fields, self.content = scope, worker, fields, content


class Json(Response):
    """An answer in JSON; arrays are lists of numbers."""

    def __init__(self, content: Any, status: int = 200) -> None:
        self.body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
        self.status_code, self.background = status, None
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]

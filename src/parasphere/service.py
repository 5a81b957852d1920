"""A fitted model behind HTTP (extra ``serve``): FastAPI on uvicorn, started by ``parasphere serve MODEL``.

Each worker maps the files of the model, index and topics, and loads them again when they are replaced.
"""

import asyncio
import hmac
import logging
import os
import signal
import socket
import tempfile
import time
import warnings
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import orjson
import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException as RoutingError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from threadpoolctl import threadpool_limits
from typing_extensions import TypedDict

from . import __version__
from .corpus import without_surrogates
from .errors import CoverageWarning, ParasphereError
from .model import Encoder
from .search import OPERATORS, Index
from .storage import STATIC
from .topics import SphericalTopics

LOGGER = logging.getLogger("uvicorn.error")
INTERVAL = 1.0  # seconds between checks of the files
THREADS = 4  # requests that a worker computes at the same time
SHORT = 16_384  # characters that are encoded without a thread, because handing them over takes about as long
MAX_CONDITIONS = 1000  # values in all conditions of a request
MAX_EXPLAINED = 100_000  # characters of a text whose words are explained, which takes far longer than encoding
MAX_MATCHES = 20_000  # of all queries of a request
MAX_MESSAGE = 1000  # characters of an error; some quote what was sent
GRACE = 30  # seconds that open requests have to finish when the server is stopped
SETTINGS, METRICS = "PARASPHERE_SERVICE", "PROMETHEUS_MULTIPROC_DIR"  # in the environment of workers
OPEN = ("/health", "/ready", "/openapi.json")  # paths that need no key
EXAMPLES = ["Fit a line to data.", "Least squares regression."]

_SECONDS = Histogram("parasphere_request_seconds", "Seconds per request.", ["path", "status"])
_TEXTS = Counter("parasphere_texts", "Texts of requests.", ["path"])
_RELOADS = Counter("parasphere_reloads", "Times that replaced files were loaded, or could not be.", ["result"])


class Settings(BaseModel):
    """The files that are served, the key, and the limits of a request."""

    model: Path
    index: Path | None = None
    topics: Path | None = None
    api_key: str | None = None
    max_body: int = 8 << 20  # bytes
    max_texts: int = 2048

    @cached_property
    def name(self) -> str:
        """The name of the model in answers: that of its file."""
        return self.model.resolve().name.removesuffix(".safetensors")

    def state(self) -> list[tuple[int, int, int] | None]:
        """Return inode, time and size of each file (of its manifest, for a folder), None for one that is not there."""
        return [_state(path) for path in (self.model, self.index, self.topics) if path is not None]


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        state = (path / STATIC if path.is_dir() else path).stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


@dataclass(frozen=True)
class Engine:
    """The encoder of a worker, and its index and topics if it has any."""

    encoder: Encoder
    index: Index | None
    topics: SphericalTopics | None

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Map the files."""
        return cls(
            replace(Encoder.load(settings.model), n_jobs=1),
            None if settings.index is None else Index.load(settings.index),
            None if settings.topics is None else SphericalTopics.load(settings.topics),
        )


async def watch(app: FastAPI, loaded: list[tuple[int, int, int] | None]) -> None:
    """Replace the engine when a file has changed since it was loaded; requests that have begun keep theirs."""
    settings, failure = app.state.settings, ""
    while True:
        await asyncio.sleep(INTERVAL)
        if (state := settings.state()) == loaded:
            continue
        try:
            app.state.engine = await run_in_threadpool(Engine.load, settings)
        except Exception as error:  # tried again: the file may still be being copied
            _RELOADS.labels("failed").inc()
            if str(error) != failure:
                LOGGER.error("a replaced file cannot be loaded; the old one is still served", exc_info=error)
            failure = str(error)
        else:
            _RELOADS.labels("loaded").inc()
            LOGGER.info("loaded the replaced files")
            loaded, failure = state, ""


# Bodies of requests


def _as_texts(sent: Any) -> Any:
    """Return a text, or a list of texts, as a list; raise at the first item that is not a text."""
    texts = [sent] if isinstance(sent, str) else sent
    if not isinstance(texts, list) or not texts:
        raise PydanticCustomError("texts", "must be a text or a list of at least one text")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise PydanticCustomError(
                "texts",
                "must be a text or a list of texts, but item {number} is not a text; token ids are not read "
                "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False) sends texts)",
                {"number": number},
            )
    return texts


def _as_conditions(where: dict[str, Any]) -> dict[str, Any]:
    """Return conditions as :meth:`parasphere.Index.search` takes them: a pair of an operator and a value is a tuple."""
    conditions, count = {}, 0
    for name, sent in where.items():
        several = sent if isinstance(sent, list) and not _is_pair(sent) else [sent]
        read = [tuple(one) if _is_pair(one) else one for one in several]
        if any(isinstance(value, dict | list) for one in read for value in (one if isinstance(one, tuple) else [one])):
            raise PydanticCustomError(
                "where", 'must map columns to a value, a pair such as [">=", 2020], or a list of values or pairs'
            )
        conditions[name] = read if several is sent else read[0]
        count += len(several)
    if count > MAX_CONDITIONS:
        numbers = {"count": f"{count:,}", "limit": f"{MAX_CONDITIONS:,}"}
        raise PydanticCustomError("where", "has {count} conditions; the limit is {limit}", numbers)
    return conditions


def _is_pair(sent: Any) -> bool:
    return isinstance(sent, list) and len(sent) == 2 and isinstance(sent[0], str) and sent[0] in OPERATORS


AnyTexts = str | Annotated[list[str], Field(min_length=1)]
Texts = Annotated[list[str], BeforeValidator(_as_texts, json_schema_input_type=AnyTexts)]
Where = Annotated[dict[str, Any], AfterValidator(_as_conditions)]


class Body(BaseModel):
    """A body without unknown fields and with fields of the right types."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, sent: Any) -> Any:
        unknown = [name for name in sent if name not in cls.model_fields] if isinstance(sent, dict) else []
        if unknown:  # one error, where pydantic would make one per field
            names = {"unknown": repr(unknown[0]), "fields": ", ".join(cls.model_fields)}
            raise PydanticCustomError("body", "the body has no field {unknown}; its fields: {fields}.", names)
        return sent


class EmbeddingsBody(BaseModel):
    """Texts to be turned into vectors, as OpenAI's clients send them; fields that are not listed are ignored."""

    model_config = ConfigDict(strict=True)

    input: Texts = Field(description="A text, or a list of texts.", examples=EXAMPLES[:1])
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, description="If present, it must be the dimension of the model.")


class SearchBody(Body):
    """Queries of the server's index."""

    queries: Texts = Field(description="A text, or a list of texts.", examples=EXAMPLES[:1])
    k: int = Field(10, ge=1, le=1000, description="Number of matches per query.")
    weight: float | None = Field(None, ge=0, le=1, description="Weight of words; null: that of the index.")
    where: Where | None = Field(
        None,
        description='Conditions on columns: each a value, a pair such as [">=", 2020], or a list of values or pairs.',
        examples=[None],
    )


class ExplainBody(Body):
    """A text, or two to be compared."""

    text: str = Field(max_length=MAX_EXPLAINED, examples=EXAMPLES[:1])
    other: str | None = Field(
        None,
        max_length=MAX_EXPLAINED,
        description="A second text; the similarity of both is explained by their words.",
    )


class TopicsBody(Body):
    """Texts whose topics are to be found."""

    texts: Texts = Field(description="A text, or a list of texts.", examples=EXAMPLES[:1])
    k: int = Field(3, ge=1, le=100, description="Number of likely topics per text.")


# Answers, as openapi.json describes them; orjson writes them. Those of /v1 are described by OpenAI.


# ruff: noqa: UP013
MatchAnswer = TypedDict(
    "MatchAnswer",
    {
        "position": int, "similarity": float, "id": str | int | None, "text": str | None, "score": float,
        "words": list[str], "columns": dict[str, Any] | None,
    },
)  # fmt: skip
SearchAnswer = TypedDict("SearchAnswer", {"matches": list[list[MatchAnswer]]})
ExplainAnswer = TypedDict(  # of one text, or of two
    "ExplainAnswer",
    {
        "words": list[list[str | float]], "prior": float, "unknown": list[str], "concentration": float,
        "word_concentration": float, "similarity": float, "words_a": list[list[str | float]],
        "words_b": list[list[str | float]], "common_a": float, "common_b": float,
    },
    total=False,
)  # fmt: skip
TopicAnswer = TypedDict("TopicAnswer", {"topic": int, "name": str, "size": int, "words": list[str], "texts": list[str]})
TopicsAnswer = TypedDict("TopicsAnswer", {"topics": list[TopicAnswer]})
LikelyTopic = TypedDict("LikelyTopic", {"topic": int, "name": str, "probability": float})
TextTopics = TypedDict("TextTopics", {"topic": int | None, "likely": list[LikelyTopic]})
TextTopicsAnswer = TypedDict("TextTopicsAnswer", {"texts": list[TextTopics]})
Problem = TypedDict("Problem", {"message": str, "type": str, "param": str | None, "code": int})
ProblemAnswer = TypedDict("ProblemAnswer", {"error": Problem})

# Endpoints

router = APIRouter(responses={"4XX": {"model": ProblemAnswer}, "500": {"model": ProblemAnswer}})


def _answer(content: Any) -> Response:
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


def _limited(request: Request, texts: list[str], name: str) -> list[str]:
    """Return the texts of a field as the library reads them if there are not too many, and count them."""
    limit = request.app.state.settings.max_texts
    if len(texts) > limit:
        raise HTTPException(413, f"{name!r} has {len(texts):,} texts; the limit is {limit:,}.")
    _TEXTS.labels(request.scope["path"]).inc(len(texts))
    return [without_surrogates(text) for text in texts]


@router.post("/v1/embeddings")
async def embeddings(request: Request, body: EmbeddingsBody) -> Response:
    """Turn texts into unit vectors, for OpenAI's clients; ``usage`` counts words separated by blanks."""
    texts, encoder = _limited(request, body.input, "input"), _engine(request).encoder
    if body.dimensions not in (None, encoder.dim):
        raise HTTPException(422, f"the model has {encoder.dim} dimensions, not {body.dimensions}; omit 'dimensions'.")

    def encoded() -> Response:
        rows: Any = np.ascontiguousarray(encoder.transform(texts), "<f4")
        if body.encoding_format == "base64":
            rows = [b64encode(row).decode() for row in rows]
        words = sum(len(text.split()) for text in texts)
        return _answer(
            {
                "object": "list",
                "data": [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)],
                "model": request.app.state.settings.name,
                "usage": {"prompt_tokens": words, "total_tokens": words},
            }
        )

    return encoded() if sum(map(len, texts)) <= SHORT else await run_in_threadpool(encoded)


@router.get("/v1/models")
async def models(request: Request) -> Response:
    """List the model of this server."""
    model = {"id": request.app.state.settings.name, "object": "model", "created": 0, "owned_by": "parasphere"}
    return _answer({"object": "list", "data": [model]})


@router.post("/search", response_model=SearchAnswer)
def search(request: Request, body: SearchBody) -> Response:
    """Find the documents of the index that match queries best."""
    queries, k, index = _limited(request, body.queries, "queries"), body.k, _engine(request).index
    if index is None:
        raise HTTPException(404, "this server has no index: start it with --index.")
    if len(queries) * k > MAX_MATCHES:
        raise HTTPException(413, f"{len(queries):,} queries with k = {k:,} have more than {MAX_MATCHES:,} matches.")
    rows = index.search(queries, k, where=body.where, weight=body.weight, n_jobs=1)
    return _answer({"matches": [[_plain(match._asdict()) for match in row] for row in rows]})


def _plain(match: dict[str, Any]) -> dict[str, Any]:
    """Return a match whose id is a string if it is beyond the 64 bits that orjson writes."""
    big = isinstance(match["id"], int) and not -(2**63) <= match["id"] < 2**64
    return match | {"id": str(match["id"])} if big else match


@router.post("/explain", response_model=ExplainAnswer)
def explain(request: Request, body: ExplainBody) -> Response:
    """Return what each word contributes to the direction of a text, or to the similarity of two texts."""
    encoder = _engine(request).encoder
    if body.other is None:
        return _answer(encoder.explain(*_limited(request, [body.text], "text")))
    return _answer(encoder.explain_match(*_limited(request, [body.text, body.other], "text"))._asdict())


def _topics(request: Request) -> SphericalTopics:
    topics = _engine(request).topics
    if topics is None:
        raise HTTPException(404, "this server has no topics: start it with --topics.")
    return topics


@router.get("/topics", response_model=TopicsAnswer)
def list_topics(request: Request) -> Response:
    """List the topics of the corpus, with their names, sizes, words and typical texts."""
    topics = _topics(request)
    sizes = topics.texts_per_topic().astype(int).tolist()
    rows = zip(topics.names_, sizes, topics.topic_words(), topics.typical_, strict=True)
    names = ("topic", "name", "size", "words", "texts")
    return _answer({"topics": [dict(zip(names, (t, *row), strict=True)) for t, row in enumerate(rows)]})


@router.post("/topics", response_model=TextTopicsAnswer)
def topics_of_texts(request: Request, body: TopicsBody) -> Response:
    """Return the topic of each text, and its most likely topics with their probabilities."""
    topics, texts = _topics(request), _limited(request, body.texts, "texts")
    shares, labels = topics.transform(texts), topics.predict(texts).tolist()
    best = np.argsort(-shares, axis=1, kind="stable")[:, : body.k].tolist()
    likely = [
        [{"topic": t, "name": topics.names_[t], "probability": float(row[t])} for t in order]
        for row, order in zip(shares, best, strict=True)
    ]
    rows = zip(labels, likely, strict=True)
    return _answer({"texts": [{"topic": label if label >= 0 else None, "likely": row} for label, row in rows]})


@router.get("/health")
async def health(request: Request) -> Response:
    """Return whether the worker is alive."""
    return _answer({"status": "alive", "model": request.app.state.settings.name})


@router.get("/ready")
async def ready(request: Request) -> Response:
    """Return whether the worker is ready, and what it has loaded."""
    engine = _engine(request)
    return _answer({
        "status": "ready",
        "model": request.app.state.settings.name,
        "dim": engine.encoder.dim,
        "documents": None if engine.index is None else len(engine.index),
        "topics": None if engine.topics is None else len(engine.topics.weights_),
    })  # fmt: skip


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics() -> Response:
    """Return the metrics of all workers, for Prometheus."""
    registry = REGISTRY
    if METRICS in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


# Errors


def _problem(
    status: int, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error in the form that OpenAI's clients read."""
    message = without_surrogates(message)
    if len(message) > MAX_MESSAGE:
        message = f"{message[: MAX_MESSAGE // 2]} … {message[-MAX_MESSAGE // 2 :]}"
    kinds = {401: "authentication_error", 404: "not_found_error", 500: "server_error"}
    kind = kinds.get(status, "invalid_request_error")
    return JSONResponse({"error": {"message": message, "type": kind, "param": param, "code": status}}, status, headers)


async def _on_refused(request: Request, error: Any) -> Response:
    message = error.detail
    if error.status_code in (404, 405) and not isinstance(error, HTTPException):  # raised by the router
        message = f"there is no '{request.method} {request.url.path}' here; /openapi.json lists the endpoints."
    return _problem(error.status_code, message, headers=error.headers)


async def _on_invalid_body(_request: Request, error: Any) -> Response:
    first = error.errors()[0]
    field, message = first["loc"][1:2], first["msg"]
    if first["type"] == "json_invalid":
        return _problem(400, f"the body must be JSON: {first['ctx']['error']}, at position {field[0]}.")
    if field:
        return _problem(422, f"'{field[0]}': {message[:1].lower()}{message[1:]}.", field[0])
    is_object = first["type"] == "body"
    sentence = "the body must be a JSON object, sent with 'Content-Type: application/json'."
    return _problem(422, message if is_object else sentence)


async def _on_invalid_value(_request: Request, error: Any) -> Response:
    return _problem(422, str(error))


async def _on_fault(_request: Request, _error: Any) -> Response:
    return _problem(500, "the server failed; its log says why.")


# The application and its processes


class Guard:
    """Middleware: checks the key before a body is read, limits the body, and measures the request."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, limit, size, status = time.perf_counter(), self._settings.max_body, 0, 500

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                sentence = f"the body is too long; the limit is {limit:,} bytes."
                raise HTTPException(413, sentence, headers={"Connection": "close"})
            return message

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if self._admits(scope):
                await self._app(scope, limited, observed)
            else:
                sentence = "send the API key of this server as 'Authorization: Bearer KEY'."
                headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
                await _problem(401, sentence, headers=headers)(scope, receive, observed)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            _SECONDS.labels(path, status).observe(time.perf_counter() - began)

    def _admits(self, scope: Scope) -> bool:
        key = self._settings.api_key
        if key is None or scope["path"] in OPEN:
            return True
        scheme, _, sent = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(sent.strip(), key.encode())


def create_app(settings: Settings) -> FastAPI:
    """Return the application of a worker; the files are loaded when it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", CoverageWarning)  # of few known words, which concern the client
        current_default_thread_limiter().total_tokens = THREADS
        state = settings.state()  # before loading, so that a file replaced meanwhile is loaded again
        app.state.settings, app.state.engine = settings, Engine.load(settings)
        with threadpool_limits(1):  # threads of BLAS would wait for those of the requests
            watching = asyncio.create_task(watch(app, state))
            yield
            watching.cancel()

    app = FastAPI(
        title="parasphere",
        version=__version__,
        description="Texts as unit vectors with a measure of certainty: vectors, search, explanations and topics.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # The middleware checks the key; the dependency describes it in openapi.json.
        dependencies=None if settings.api_key is None else [Depends(HTTPBearer(auto_error=False))],
        exception_handlers={
            RoutingError: _on_refused,
            RequestValidationError: _on_invalid_body,
            ParasphereError: _on_invalid_value,
            Exception: _on_fault,
        },
    )
    app.include_router(router)
    app.add_middleware(Guard, settings=settings)
    return app


def app_factory() -> FastAPI:
    """Return the application of a worker, whose settings are in the environment."""
    return create_app(Settings.model_validate_json(os.environ[SETTINGS]))


def serve(settings: Settings, host: str, port: int, workers: int) -> None:
    """Serve until a signal ends it: requests that have begun are answered first.

    The files are loaded here too, and the address is tried, so that an error is reported before any worker starts.
    """
    Engine.load(settings)
    try:
        host.encode("idna")
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except (OSError, OverflowError, UnicodeError) as error:
        message = f"cannot listen on port {port} of {host} ({error}); choose others with --host and --port."
        raise ParasphereError(message) from None
    # At the end uvicorn raises the signal that stopped it again; as an exception, it is caught there.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ[SETTINGS] = settings.model_dump_json()
    with tempfile.TemporaryDirectory(prefix="parasphere-") as folder:
        if workers > 1:
            os.environ[METRICS] = folder  # where each worker keeps its metrics; one of them adds them up
        uvicorn.run(
            f"{__name__}:app_factory",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            lifespan="on",
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=75,  # seconds: longer than proxies keep connections, so that they close them first
            timeout_graceful_shutdown=GRACE,
            timeout_worker_healthcheck=30,  # seconds; on a busy machine the imports of a worker take long
        )

"""The endpoints: the service's own interface, and that of OpenAI's clients."""

import asyncio
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import numpy as np
import orjson
from fastapi import APIRouter, Request
from numpy.typing import NDArray
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import ValidationError
from starlette.responses import Response

from ..errors import ParasphereError
from ..search import OPERATORS
from . import bodies
from .bodies import Body, EmbedBody, EmbeddingsBody, ExplainBody, SimilarBody, TopicsBody
from .middleware import METRICS_FOLDER
from .problems import ProblemError, of_validation

MAX_ANSWER = 32 << 20  # bytes of all matches of a request
_MAX_MATCHES = 20_000  # of all queries of a request
_MAX_FIELDS = 100  # of a body; each unknown one would add to the error
_SHORT = 16_384  # bytes of a body whose vectors take less than a millisecond, about as long as handing it to a thread
_STATUSES = (400, 401, 404, 408, 413, 415, 422, 429, 500, 503)
_PROBLEMS: dict[int | str, dict[str, Any]] = {status: {"model": bodies.ProblemAnswer} for status in _STATUSES}

router = APIRouter()


class Call:
    """A request, with the settings and the engine that answer it; later requests may have another engine."""

    def __init__(self, request: Request) -> None:
        self._scope = request.scope
        self.settings, self.engine = request.app.state.settings, request.app.state.reloading.engine

    @property
    def topics(self) -> Any:
        """The topics of the server."""
        if self.engine.topics is None:
            raise ProblemError(404, "this server has no topics: start it with --topics.")
        return self.engine.topics

    def texts(self, sent: str | list[str], param: str) -> list[str]:
        """Return a field of texts as a list, if it is within the limits; count them for log and metrics."""
        texts = [sent] if isinstance(sent, str) else sent
        self._scope["texts"] += len(texts)
        most, longest = self.settings.max_texts, max(map(len, texts))
        if len(texts) > most:
            raise ProblemError(413, f"{param!r} has {len(texts):,} texts; the limit is {most:,}.", param)
        if longest > self.settings.max_length:
            message = f"a text of {param!r} has {longest:,} characters; the limit is {self.settings.max_length:,}."
            raise ProblemError(413, message, param)
        return texts

    def vectors(self, texts: list[str], space: Any = None) -> NDArray[np.float32]:
        """Return the vectors of texts, (n_texts, dim)."""
        return np.ascontiguousarray(self.engine.encoder.transform(texts, space=space), np.float32)


def endpoint(method: str, path: str, answer: Any, quick: bool = False) -> Callable[[Any], Any]:
    """Add an endpoint: a function of a call, and of a body if it has an argument of that name.

    The return value is sent as JSON. The function runs in a thread, or directly if it is quick and the body short.
    """

    def add(compute: Callable[..., Any]) -> Callable[..., Any]:
        kind = get_type_hints(compute).get("body")

        async def run(request: Request) -> Response:
            body = {} if kind is None else {"body": await _read(request, kind)}
            call = Call(request)

            def written() -> bytes:
                return orjson.dumps(compute(call, **body), option=orjson.OPT_SERIALIZE_NUMPY)

            try:
                short = quick and len(await request.body()) <= _SHORT
                content = written() if short else await asyncio.to_thread(written)
                return Response(content, media_type="application/json")
            except ParasphereError as error:
                raise ProblemError(422, str(error)) from None

        schema = kind and {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}
        router.add_api_route(
            path, run, methods=[method], name=compute.__name__, description=compute.__doc__, response_model=answer,
            responses=_PROBLEMS, openapi_extra=schema and {"requestBody": schema},
        )  # fmt: skip
        return compute

    return add


async def _read(request: Request, kind: type[Body]) -> Body:
    """Return the checked body of a request."""
    media = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media != "application/json":
        raise ProblemError(415, f"send JSON with 'Content-Type: application/json', not {media[:80]!r}.")
    try:
        content = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise ProblemError(400, f"the body must be JSON in UTF-8: {error}.") from None
    if isinstance(content, dict) and len(content) > _MAX_FIELDS:
        raise ProblemError(422, f"the body has {len(content):,} fields; at most {_MAX_FIELDS} are read.")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise of_validation(error) from None


@endpoint("POST", "/embed", bodies.EmbedAnswer, quick=True)
def embed(call: Call, body: EmbedBody) -> Any:
    """Turn texts into unit vectors (0 for a text whose words have no weight), on request with their certainty."""
    texts = call.texts(body.texts, "texts")
    vectors = call.vectors(texts, "direction" if body.space == "direction" else None)
    content = {"model": call.settings.name, "dim": call.engine.encoder.dim, "vectors": vectors}
    if body.certainty:
        found = call.engine.encoder.posterior(texts)
        names = ("information", "concentration", "known_words")
        rows = np.column_stack([found.information, found.concentration, found.length]).tolist()
        content["certainty"] = [dict(zip(names, row, strict=True)) for row in rows]
    return content


@endpoint("POST", "/similar", bodies.SimilarAnswer)
def similar(call: Call, body: SimilarBody) -> Any:
    """Find the texts that match queries best, in the index of the server or among texts of the request."""
    parts, size = [], 0
    for row in _matches(call, body):
        parts.append(orjson.Fragment(found := orjson.dumps([match._asdict() for match in row])))
        size += len(found)
        if size > MAX_ANSWER:
            message = f"the matches are longer than {MAX_ANSWER:,} bytes; send fewer queries, or a smaller k."
            raise ProblemError(413, message, "k")
    return {"matches": parts}


def _matches(call: Call, body: SimilarBody) -> Iterator[Any]:
    """Yield the matches of each query: not all of them at once, as their texts may be long."""
    queries, k, index = call.texts(body.queries, "queries"), body.k, call.engine.index
    if len(queries) * k > _MAX_MATCHES:
        message = f"{len(queries):,} queries with k = {k:,} have more than {_MAX_MATCHES:,} matches."
        raise ProblemError(413, message, "k")
    if body.among is not None:
        if body.where is not None:
            raise ProblemError(400, "texts that are sent as 'among' have no columns: omit 'where'.", "where")
        yield from call.engine.encoder.similar(queries, call.texts(body.among, "among"), k)
        return
    if index is None:
        raise ProblemError(404, "this server has no index: start it with --index, or send texts to rank as 'among'.")
    where = None if body.where is None else {name: _condition(sent) for name, sent in body.where.items()}
    step = max(1, 1000 // k)
    for begin in range(0, len(queries), step):
        yield from index.search(queries[begin : begin + step], k, where=where, weight=body.weight)


def _condition(sent: Any) -> Any:
    """Return a condition on a column; in JSON a pair of an operator and a value is a list."""
    if not isinstance(sent, list):
        return sent
    if len(sent) == 2 and isinstance(sent[0], str) and sent[0] in OPERATORS:
        return tuple(sent)
    return [_condition(one) for one in sent]


@endpoint("POST", "/explain", bodies.ExplainAnswer)
def explain(call: Call, body: ExplainBody) -> Any:
    """Return what each word contributes to the direction of a text, or to the similarity of two texts."""
    call.texts([body.text] if body.other is None else [body.text, body.other], "text")
    if body.other is None:
        one = call.engine.encoder.explain(body.text)
        return {
            "words": _shares(one.words), "prior": one.prior, "unknown": one.unknown, "concentration": one.concentration,
        }  # fmt: skip
    both = call.engine.encoder.explain_match(body.text, body.other)
    return {
        "words": _shares(both.words_a), "other_words": _shares(both.words_b), "similarity": both.similarity,
        "common": both.common_a, "other_common": both.common_b,
    }  # fmt: skip


def _shares(words: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"word": word, "share": share} for word, share in words]


@endpoint("GET", "/topics", bodies.TopicsAnswer)
def topics(call: Call) -> Any:
    """List the topics of the corpus, with their names, sizes, words and typical texts."""
    topics = call.topics
    sizes = np.bincount(topics.labels_[topics.labels_ >= 0], minlength=len(topics.weights_)).tolist()
    rows = zip(topics.names_, sizes, topics.topic_words(), topics.typical_, strict=True)
    names = ("topic", "name", "size", "words", "texts")
    return {"topics": [dict(zip(names, (t, *row), strict=True)) for t, row in enumerate(rows)]}


@endpoint("POST", "/topics", bodies.TextTopicsAnswer)
def topics_of(call: Call, body: TopicsBody) -> Any:
    """Return the topic of each text, and its most likely topics with their probabilities."""
    texts, names = call.texts(body.texts, "texts"), call.topics.names_
    shares, labels = call.topics.transform(texts), call.topics.predict(texts).tolist()
    best = np.argsort(-shares, axis=1, kind="stable")[:, : body.k].tolist()
    likely = [
        [{"topic": t, "name": names[t], "probability": float(row[t])} for t in order]
        for row, order in zip(shares, best, strict=True)
    ]
    rows = zip(labels, likely, strict=True)
    return {"texts": [{"topic": label if label >= 0 else None, "likely": row} for label, row in rows]}


@endpoint("GET", "/health", bodies.HealthAnswer, quick=True)
def health(call: Call) -> Any:
    """Return whether the worker is alive."""
    return {"status": "alive", "model": call.settings.name}


@endpoint("GET", "/ready", bodies.ReadyAnswer, quick=True)
def ready(call: Call) -> Any:
    """Return whether the worker is ready, and what it has loaded."""
    engine = call.engine
    return {
        "status": "ready",
        "model": call.settings.name,
        "dim": engine.encoder.dim,
        "documents": None if engine.index is None else len(engine.index),
        "topics": None if engine.topics is None else len(engine.topics.weights_),
    }


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:  # noqa: ARG001
    """Return the metrics of all workers, for Prometheus."""
    registry = REGISTRY
    if METRICS_FOLDER in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


@endpoint("POST", "/v1/embeddings", bodies.EmbeddingsAnswer, quick=True)
def embeddings(call: Call, body: EmbeddingsBody) -> Any:
    """Turn texts into unit vectors, for OpenAI's clients; ``usage`` counts words separated by blanks."""
    texts, dim = call.texts(body.input, "input"), call.engine.encoder.dim
    if body.dimensions not in (None, dim):
        message = f"the model has {dim} dimensions, not {body.dimensions}; omit this field."
        raise ProblemError(422, message, "dimensions")
    rows: Any = call.vectors(texts)
    if body.encoding_format == "base64":
        rows = [b64encode(row).decode() for row in rows.astype("<f4", copy=False)]
    words = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)],
        "model": call.settings.name,
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }


@endpoint("GET", "/v1/models", bodies.ModelsAnswer, quick=True)
def models(call: Call) -> Any:
    """List the model of this server."""
    model = {"id": call.settings.name, "object": "model", "created": 0, "owned_by": "parasphere"}
    return {"object": "list", "data": [model]}

"""The endpoints: the service's own interface, and that of OpenAI's clients."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import orjson
from fastapi import APIRouter, Request
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from ..errors import ParasphereError
from ..search import OPERATORS
from . import bodies
from .bodies import PROBLEMS, EmbedBody, EmbeddingsBody, ExplainBody, SimilarBody, TopicsBody, takes
from .engine import Engine
from .problems import ProblemError, of_validation

Kind = TypeVar("Kind", bound=BaseModel)
MAX_ANSWER = 32 << 20  # bytes of the matches of all queries of a request
_MAX_MATCHES = 20_000  # of all queries of a request
_MAX_FIELDS = 100  # of a body: each unknown one would be complained of
_SHORT = 16_384  # characters whose vectors take less than a millisecond, about as long as handing them to a thread
_NO_INDEX = "this server has no index: start it with --index, or send the texts to rank as 'among'."


class Json(Response):
    """An answer in JSON; arrays are lists of numbers."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body of the answer."""
        return content if isinstance(content, bytes) else orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


router = APIRouter()


@router.post("/embed", response_model=bodies.EmbedAnswer, **takes(EmbedBody))
async def embed(request: Request) -> Response:
    """Turn texts into unit vectors (0 for a text without words that count), and say how much each text says."""
    body = await _read(request, EmbedBody)
    engine: Engine = request.app.state.reloading.engine
    texts = _texts(request, body.texts, "texts")

    def answer() -> Json:
        vectors = _vectors(engine, texts, "direction" if body.space == "direction" else None)
        content = {"model": request.app.state.settings.name, "dim": engine.encoder.dim, "vectors": vectors}
        if body.certainty:
            found = engine.encoder.posterior(texts)
            names = ("information", "concentration", "known_words")
            rows = np.column_stack([found.information, found.concentration, found.length]).tolist()
            content["certainty"] = [dict(zip(names, row, strict=True)) for row in rows]
        return Json(content)

    return await _compute(request, answer, texts)


@router.post("/similar", response_model=bodies.SimilarAnswer, **takes(SimilarBody))
async def similar(request: Request) -> Response:
    """Find the texts that answer queries best, in the index of the server or among given texts."""
    body = await _read(request, SimilarBody)
    engine: Engine = request.app.state.reloading.engine
    queries, k = _texts(request, body.queries, "queries"), body.k
    among = None if body.among is None else _texts(request, body.among, "among")
    where = None if body.where is None else {name: _condition(given) for name, given in body.where.items()}
    if among is not None and where is not None:
        raise ProblemError(400, "texts that are sent as 'among' have no columns: omit 'where'.", "where")
    if len(queries) * k > _MAX_MATCHES:
        message = f"{len(queries):,} queries with k = {k:,} have more than {_MAX_MATCHES:,} matches."
        raise ProblemError(413, message, "k")

    def rows() -> Iterator[Any]:
        """Yield the matches of each query: not all of them at once, as their texts may be long."""
        if among is not None:
            yield from engine.encoder.similar(queries, among, k)
            return
        if engine.index is None:
            raise ProblemError(404, _NO_INDEX)
        step = max(1, 1000 // k)
        for begin in range(0, len(queries), step):
            yield from engine.index.search(queries[begin : begin + step], k, where=where, weight=body.weight)

    def answer() -> Json:
        parts, size = [], 0
        for row in rows():
            parts.append(orjson.dumps([match._asdict() for match in row]))
            size += len(parts[-1])
            if size > MAX_ANSWER:
                message = f"the matches are longer than {MAX_ANSWER:,} bytes; send fewer queries, or a smaller k."
                raise ProblemError(413, message, "k")
        return Json(b'{"matches":[' + b",".join(parts) + b"]}")

    return await _compute(request, answer)


@router.post("/explain", response_model=bodies.ExplainAnswer, **takes(ExplainBody))
async def explain(request: Request) -> Response:
    """Say how much each word counts: in a text, or in the similarity of two texts."""
    body = await _read(request, ExplainBody)
    engine: Engine = request.app.state.reloading.engine
    text, other = body.text, body.other
    _texts(request, [text] if other is None else [text, other], "text")

    def answer() -> Json:
        if other is None:
            one = engine.encoder.explain(text)
            shares = {"prior": one.prior, "unknown": one.unknown, "concentration": one.concentration}
            return Json({"words": _shares(one.words), **shares})
        both = engine.encoder.explain_match(text, other)
        common = {"similarity": both.similarity, "common": both.common_a, "other_common": both.common_b}
        return Json({"words": _shares(both.words_a), "other_words": _shares(both.words_b), **common})

    return await _compute(request, answer)


@router.get("/topics", response_model=bodies.TopicsAnswer, responses=PROBLEMS)
async def topics(request: Request) -> Response:
    """List the topics of the corpus, in their own words."""
    engine: Engine = request.app.state.reloading.engine

    def answer() -> Json:
        topics = _topics(engine)
        sizes = np.bincount(topics.labels_[topics.labels_ >= 0], minlength=len(topics.weights_)).tolist()
        found = enumerate(zip(topics.names_, sizes, topics.topic_words(), topics.typical_, strict=True))
        rows = [
            {"topic": t, "name": name, "size": size, "words": words, "texts": texts}
            for t, (name, size, words, texts) in found
        ]
        return Json({"topics": rows})

    return await _compute(request, answer)


@router.post("/topics", response_model=bodies.TextTopicsAnswer, **takes(TopicsBody))
async def topics_of(request: Request) -> Response:
    """Say what topics texts belong to."""
    body = await _read(request, TopicsBody)
    engine: Engine = request.app.state.reloading.engine
    texts = _texts(request, body.texts, "texts")

    def answer() -> Json:
        topics = _topics(engine)
        shares, labels = topics.transform(texts), topics.predict(texts).tolist()
        names = topics.names_
        best = np.argsort(-shares, axis=1, kind="stable")[:, : body.k].tolist()
        likely = [
            [{"topic": t, "name": names[t], "probability": float(row[t])} for t in order]
            for row, order in zip(shares, best, strict=True)
        ]
        rows = zip(labels, likely, strict=True)
        return Json({"texts": [{"topic": label if label >= 0 else None, "likely": row} for label, row in rows]})

    return await _compute(request, answer)


@router.get("/health", response_model=bodies.HealthAnswer)
async def health(request: Request) -> Response:
    """Tell that the worker is alive."""
    return Json({"status": "alive", "model": request.app.state.settings.name})


@router.get("/ready", response_model=bodies.ReadyAnswer)
async def ready(request: Request) -> Response:
    """Tell that the worker computes, and with what."""
    engine: Engine = request.app.state.reloading.engine
    return Json({
        "status": "ready",
        "model": request.app.state.settings.name,
        "dim": engine.encoder.dim,
        "documents": None if engine.index is None else len(engine.index),
        "topics": None if engine.topics is None else len(engine.topics.weights_),
    })  # fmt: skip


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return the numbers of all workers, for Prometheus."""
    page = request.app.state.metrics.page()
    return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/v1/embeddings", response_model=bodies.EmbeddingsAnswer, **takes(EmbeddingsBody))
async def embeddings(request: Request) -> Response:
    """Turn texts into unit vectors, for OpenAI's clients; ``usage`` counts words, as blanks separate them."""
    body = await _read(request, EmbeddingsBody)
    engine: Engine = request.app.state.reloading.engine
    texts, dim = _texts(request, _no_tokens(body.input), "input"), engine.encoder.dim
    if body.dimensions not in (None, dim):
        raise ProblemError(422, f"the model has {dim} dimensions, and cannot give {body.dimensions}.", "dimensions")

    def answer() -> Json:
        rows: Any = _vectors(engine, texts)
        if body.encoding_format == "base64":
            rows = [b64encode(row).decode() for row in rows.astype("<f4", copy=False)]
        words = sum(len(text.split()) for text in texts)
        return Json({
            "object": "list",
            "data": [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)],
            "model": request.app.state.settings.name,
            "usage": {"prompt_tokens": words, "total_tokens": words},
        })  # fmt: skip

    return await _compute(request, answer, texts)


@router.get("/v1/models", response_model=bodies.ModelsAnswer)
async def models(request: Request) -> Response:
    """List the model of this server."""
    name = request.app.state.settings.name
    return Json({"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "parasphere"}]})


async def _read(request: Request, kind: type[Kind]) -> Kind:
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


async def _compute(request: Request, answer: Callable[[], Response], short: list[str] | None = None) -> Response:
    """Return an answer that is computed in a thread, or at once if only the vectors of a few short texts are needed."""
    try:
        if short is not None and sum(map(len, short)) <= _SHORT:
            return answer()
        return await asyncio.get_running_loop().run_in_executor(request.app.state.threads, answer)
    except ParasphereError as error:
        raise ProblemError(422, str(error)) from None


def _texts(request: Request, texts: str | list[str], param: str) -> list[str]:
    """Return a field of texts as a list, if it is within the limits; count them for log and metrics."""
    texts, settings = [texts] if isinstance(texts, str) else texts, request.app.state.settings
    request.scope["texts"] += len(texts)
    if len(texts) > settings.max_texts:
        raise ProblemError(413, f"{param!r} has {len(texts):,} texts; at most {settings.max_texts:,} are taken.", param)
    longest = max(map(len, texts))
    if longest > settings.max_length:
        message = f"a text of {param!r} has {longest:,} characters; at most {settings.max_length:,} are taken."
        raise ProblemError(413, message, param)
    return texts


def _no_tokens(sent: Any) -> str | list[str]:
    if isinstance(sent, str) or isinstance(sent[0], str):
        texts: str | list[str] = sent
        return texts
    raise ProblemError(
        422,
        "'input' must be a text or a list of texts, not token ids, which are those of another model's tokenizer "
        "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False) sends texts).",
        "input",
    )


def _vectors(engine: Engine, texts: list[str], space: Any = None) -> NDArray[np.float32]:
    return np.ascontiguousarray(engine.encoder.transform(texts, space=space), np.float32)


def _shares(words: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"word": word, "share": share} for word, share in words]


def _condition(given: Any) -> Any:
    """Return a condition on a column; in JSON a pair of an operator and a value is a list."""
    if not isinstance(given, list):
        return given
    if len(given) == 2 and isinstance(given[0], str) and given[0] in OPERATORS:
        return tuple(given)
    return [_condition(one) for one in given]


def _topics(engine: Engine) -> Any:
    if engine.topics is None:
        raise ProblemError(404, "this server has no topics: start it with --topics.")
    return engine.topics

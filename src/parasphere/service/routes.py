"""The endpoints of the service's own interface."""

from typing import Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ..errors import ParasphereError
from . import bodies
from .bodies import PROBLEMS, described, read, texts_of
from .engine import AbsentError
from .problems import ProblemError
from .state import State, state_of

router = APIRouter()
_TOGETHER = 64  # queries of one request that are searched for at a time, so that others get their turn
_MOST_MATCHES = 20_000  # of all queries of a request


def as_json(content: Any, status: int = 200) -> Response:
    """Return an answer in JSON; arrays are lists of numbers."""
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), status, media_type="application/json")


@router.post("/embed", response_model=bodies.EmbedAnswer, responses=PROBLEMS, openapi_extra=described(bodies.EmbedBody))
async def embed(request: Request) -> Response:
    """Turn texts into unit vectors, and say how much each text says."""
    state = state_of(request)
    body = await read(request, bodies.EmbedBody)
    texts = texts_of(request, body.texts, state.settings, "texts")
    engine = state.engine
    vectors = await compute(request, engine.directions if body.space == "direction" else engine.vectors, texts)
    content = {"model": state.settings.name, "dim": engine.dim, "vectors": vectors}
    if body.certainty:
        rows = await compute(request, engine.certainty, texts)
        names = list(bodies.Certainty.model_fields)
        content["certainty"] = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    return as_json(content)


@router.post(
    "/similar", response_model=bodies.SimilarAnswer, responses=PROBLEMS, openapi_extra=described(bodies.SimilarBody)
)
async def similar(request: Request) -> Response:
    """Find the texts that answer queries best, in the index of the server or among given texts."""
    state = state_of(request)
    body = await read(request, bodies.SimilarBody)
    queries = texts_of(request, body.queries, state.settings, "queries")
    if len(queries) * body.k > _MOST_MATCHES:
        raise ProblemError(
            413, f"{len(queries):,} queries with k = {body.k:,} have more than {_MOST_MATCHES:,} matches.", "k"
        )
    k, weight, engine = body.k, body.weight, state.engine
    among = None if body.among is None else texts_of(request, body.among, state.settings, "among")
    matches: list[Any] = []
    for begin in range(0, len(queries), _TOGETHER):
        some = queries[begin : begin + _TOGETHER]
        if among is None:
            matches += await compute(request, lambda items: engine.search(items, k, weight), some, "search", k, weight)
        else:
            matches += await compute(request, lambda items: engine.similar(items, among, k), some, None)
    return as_json({"matches": [[match._asdict() for match in found] for found in matches]})


@router.post(
    "/explain", response_model=bodies.ExplainAnswer, responses=PROBLEMS, openapi_extra=described(bodies.ExplainBody)
)
async def explain(request: Request) -> Response:
    """Say how much each word counts: in a text, or in the similarity of two texts."""
    state = state_of(request)
    body = await read(request, bodies.ExplainBody)
    pair = [body.text] if body.other is None else [body.text, body.other]
    texts_of(request, pair, state.settings, "text")
    engine = state.engine
    explainer = engine.explain if body.other is None else engine.explain_match
    found = await compute(request, lambda items: [explainer(*texts) for texts in items], [pair], None)
    return as_json(found[0])


@router.get("/topics", response_model=bodies.TopicsAnswer, responses={404: PROBLEMS[404]})
async def topics(request: Request) -> Response:
    """List the topics of the corpus, in their own words."""
    state = state_of(request)
    found = await compute(request, lambda _: [state.engine.known_topics()], [None], None)
    return as_json({"topics": found[0]})


@router.post(
    "/topics", response_model=bodies.TextTopicsAnswer, responses=PROBLEMS, openapi_extra=described(bodies.TopicsBody)
)
async def topics_of(request: Request) -> Response:
    """Say what topics texts belong to."""
    state = state_of(request)
    body = await read(request, bodies.TopicsBody)
    texts, k = texts_of(request, body.texts, state.settings, "texts"), body.k
    found = await compute(request, lambda items: state.engine.topics_of(items, k), texts, "topics", k)
    return as_json({"texts": found})


@router.get("/health", response_model=bodies.StateAnswer)
async def health(request: Request) -> Response:
    """Tell that the worker is alive."""
    return as_json({"status": "alive", "model": state_of(request).settings.name})


@router.get("/ready", response_model=bodies.StateAnswer, responses={503: PROBLEMS[503]})
async def ready(request: Request) -> Response:
    """Tell whether the worker can compute."""
    state: State = state_of(request)
    if not state.work.alive:
        raise ProblemError(503, "the worker does not compute any more.")
    engine = state.engine
    return as_json({
        "status": "ready",
        "model": state.settings.name,
        "dim": engine.dim,
        "documents": None if engine.index is None else len(engine.index),
        "topics": None if engine.topics is None else len(engine.topics.weights_),
    })  # fmt: skip


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return the numbers of all workers, for Prometheus."""
    return Response(state_of(request).metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def compute(request: Request, function: Any, items: list[Any], *key: Any) -> Any:
    """Return the results of a function of items.

    Parameters
    ----------
    request : Request
        The request that asks for it.
    function : callable
        From a list of items to as many results.
    items : list
    *key
        What the result depends on beside the items: requests of one key are computed together. The function itself if
        nothing is given, and None for a request that is computed alone.
    """
    state = state_of(request)
    joined = (key or (function,)) if key != (None,) else None
    try:
        return await state.work.do(function, items, key=joined, short=not key and state.engine.is_short(items))
    except AbsentError as error:
        raise ProblemError(404, str(error)) from None
    except ParasphereError as error:
        raise ProblemError(422, str(error)) from None

"""The endpoints of the service's own interface."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ..errors import ParasphereError
from . import bodies
from .bodies import PROBLEMS, described, read, texts_of
from .call import Call, Json
from .engine import AbsentError
from .problems import ProblemError

router = APIRouter()
_TOGETHER = 64  # queries of one request that are searched for at a time, so that others get their turn
_MOST_MATCHES = 20_000  # of all queries of a request


@router.post("/embed", response_model=bodies.EmbedAnswer, responses=PROBLEMS, openapi_extra=described(bodies.EmbedBody))
async def embed(call: Call) -> Response:
    """Turn texts into unit vectors, and say how much each text says."""
    worker = call.worker
    body = read(call, bodies.EmbedBody)
    texts = texts_of(call, body.texts, worker.settings, "texts")
    engine = worker.engine
    vectors = await compute(call, engine.directions if body.space == "direction" else engine.vectors, texts)
    content = {"model": worker.settings.name, "dim": engine.dim, "vectors": vectors}
    if body.certainty:
        rows = await compute(call, engine.certainty, texts)
        names = list(bodies.Certainty.model_fields)
        content["certainty"] = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    return Json(content)


@router.post(
    "/similar", response_model=bodies.SimilarAnswer, responses=PROBLEMS, openapi_extra=described(bodies.SimilarBody)
)
async def similar(call: Call) -> Response:
    """Find the texts that answer queries best, in the index of the server or among given texts."""
    worker = call.worker
    body = read(call, bodies.SimilarBody)
    queries = texts_of(call, body.queries, worker.settings, "queries")
    if len(queries) * body.k > _MOST_MATCHES:
        raise ProblemError(
            413, f"{len(queries):,} queries with k = {body.k:,} have more than {_MOST_MATCHES:,} matches.", "k"
        )
    k, weight, engine = body.k, body.weight, worker.engine
    among = None if body.among is None else texts_of(call, body.among, worker.settings, "among")
    matches: list[Any] = []
    for begin in range(0, len(queries), _TOGETHER):
        some = queries[begin : begin + _TOGETHER]
        if among is None:
            matches += await compute(call, lambda items: engine.search(items, k, weight), some, "search", k, weight)
        else:
            matches += await compute(call, lambda items: engine.similar(items, among, k), some, None)
    return Json({"matches": [[match._asdict() for match in found] for found in matches]})


@router.post(
    "/explain", response_model=bodies.ExplainAnswer, responses=PROBLEMS, openapi_extra=described(bodies.ExplainBody)
)
async def explain(call: Call) -> Response:
    """Say how much each word counts: in a text, or in the similarity of two texts."""
    worker = call.worker
    body = read(call, bodies.ExplainBody)
    pair = [body.text] if body.other is None else [body.text, body.other]
    texts_of(call, pair, worker.settings, "text")
    engine = worker.engine
    explainer = engine.explain if body.other is None else engine.explain_match
    found = await compute(call, lambda items: [explainer(*texts) for texts in items], [pair], None)
    return Json(found[0])


@router.get("/topics", response_model=bodies.TopicsAnswer, responses={404: PROBLEMS[404]})
async def topics(call: Call) -> Response:
    """List the topics of the corpus, in their own words."""
    worker = call.worker
    found = await compute(call, lambda _: [worker.engine.known_topics()], [None], None)
    return Json({"topics": found[0]})


@router.post(
    "/topics", response_model=bodies.TextTopicsAnswer, responses=PROBLEMS, openapi_extra=described(bodies.TopicsBody)
)
async def topics_of(call: Call) -> Response:
    """Say what topics texts belong to."""
    worker = call.worker
    body = read(call, bodies.TopicsBody)
    texts, k = texts_of(call, body.texts, worker.settings, "texts"), body.k
    found = await compute(call, lambda items: worker.engine.topics_of(items, k), texts, "topics", k)
    return Json({"texts": found})


@router.get("/health", response_model=bodies.StateAnswer)
async def health(call: Call) -> Response:
    """Tell that the worker is alive."""
    return Json({"status": "alive", "model": call.worker.settings.name})


@router.get("/ready", response_model=bodies.StateAnswer, responses={503: PROBLEMS[503]})
async def ready(call: Call) -> Response:
    """Tell whether the worker can compute."""
    worker = call.worker
    if not worker.work.alive:
        raise ProblemError(503, "the worker does not compute any more.")
    engine = worker.engine
    return Json({
        "status": "ready",
        "model": worker.settings.name,
        "dim": engine.dim,
        "documents": None if engine.index is None else len(engine.index),
        "topics": None if engine.topics is None else len(engine.topics.weights_),
    })  # fmt: skip


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(call: Call) -> Response:
    """Return the numbers of all workers, for Prometheus."""
    return Response(call.worker.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def compute(call: Call, function: Any, items: list[Any], *key: Any) -> Any:
    """Return the results of a function of items.

    Parameters
    ----------
    call : Call
        The request that asks for it.
    function : callable
        From a list of items to as many results.
    items : list
    *key
        What the result depends on beside the items: requests of one key are computed together. The function itself if
        nothing is given, and None for a request that is computed alone.
    """
    worker = call.worker
    joined = (key or (function,)) if key != (None,) else None
    try:
        return await worker.work.do(function, items, key=joined, short=not key and worker.engine.is_short(items))
    except AbsentError as error:
        raise ProblemError(404, str(error)) from None
    except ParasphereError as error:
        raise ProblemError(422, str(error)) from None

"""The application: endpoints behind the gate, with the model that they need."""

import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import __version__
from ..errors import CoverageWarning
from . import openai, routes
from .call import Worker
from .engine import Engine
from .gate import Gate
from .metrics import Metrics
from .problems import ProblemError, answer
from .settings import Settings
from .work import Work

_ABOUT = "Texts as unit vectors with a measure of certainty: vectors, search, explanations and topics of one model."


def create_app(settings: Settings) -> Gate:
    """Return the ASGI application of a worker; the model is loaded when it starts."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", CoverageWarning)  # few known words are for the client to look after
        engine = Engine.load(settings)
        engine.warm()
        with Work() as work:
            app.state.worker = Worker(settings, engine, work, metrics)
            yield

    app = _make()(title="parasphere", version=__version__, description=_ABOUT, lifespan=lifespan)
    # The gate asks for the key; this only tells the OpenAPI pages of it, which then have a field for it.
    told = [] if settings.api_key is None else [Security(HTTPBearer(auto_error=False))]
    for router in (routes.router, openai.router):
        app.include_router(router, dependencies=told)
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(HTTPException, _refused)
    served = [route for router in (routes.router, openai.router) for route in router.routes]
    return Gate(app, [route for route in served if isinstance(route, APIRoute)], settings, metrics)


def _make() -> Callable[..., FastAPI]:
    """Return what makes the application: with OpenAPI pages that load nothing from elsewhere, if they are installed."""
    try:
        from fastapi_offline import FastAPIOffline
    except ImportError:
        return lambda **options: FastAPI(docs_url=None, redoc_url=None, **options)
    made: Callable[..., FastAPI] = FastAPIOffline
    return made


async def _problem(_request: Request, problem: Exception) -> Response:
    assert isinstance(problem, ProblemError)
    return answer(problem)


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what FastAPI refuses: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    messages = {
        404: f"there is nothing at {request.url.path[:200]!r}; /openapi.json lists what there is.",
        405: f"{request.url.path[:200]!r} does not take {request.method[:20]!r}; /openapi.json lists what it takes.",
    }
    return answer(
        ProblemError(error.status_code, messages.get(error.status_code, str(error.detail)), headers=error.headers)
    )

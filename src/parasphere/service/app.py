"""The application of a worker: FastAPI with the endpoints, the middleware, and the model that they need."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.routing import Route

from .. import __version__
from ..errors import CoverageWarning
from .engine import Reloading
from .metrics import Metrics
from .middleware import ServiceMiddleware
from .problems import on_problem
from .routes import router
from .settings import Settings

_ABOUT = "Texts as unit vectors with a measure of certainty: vectors, search, explanations and topics of one model."
_THREADS = 4  # requests that are computed side by side


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application of a worker; the model is loaded when it starts."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", CoverageWarning)  # few known words are for the client to look after
        app.state.reloading = Reloading(settings)
        with ThreadPoolExecutor(_THREADS) as app.state.threads:
            watching = asyncio.create_task(app.state.reloading.watch())
            yield
            watching.cancel()

    about = {"title": "parasphere", "version": __version__, "description": _ABOUT}
    described = [route for route in router.routes if isinstance(route, APIRoute)]
    # Endpoints take requests and return responses, so that Starlette's routes can call them, which takes less time.
    called = [Route(route.path, route.endpoint, methods=list(route.methods or ())) for route in described]
    app: FastAPI = FastAPIOffline(**about, lifespan=lifespan, routes=[*called, *described])
    app.state.settings, app.state.metrics = settings, metrics
    app.add_exception_handler(HTTPException, on_problem)
    paths = {route.path for route in described}
    app.add_middleware(ServiceMiddleware, settings=settings, metrics=metrics, paths=paths)
    if settings.api_key is not None:  # the OpenAPI pages then have a field for it
        schema = app.openapi()
        schema["components"]["securitySchemes"] = {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"HTTPBearer": []}]
    return app

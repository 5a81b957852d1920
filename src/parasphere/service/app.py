"""The application of a worker: FastAPI with the endpoints, the middleware, and the model that they need."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import CoverageWarning
from .engine import Reloading
from .metrics import Metrics
from .middleware import ServiceMiddleware
from .problems import on_problem
from .routes import Worker, router
from .settings import Settings

_ABOUT = "Texts as unit vectors with a measure of certainty: vectors, search, explanations and topics of one model."
_THREADS = 4  # requests that are computed side by side


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application of a worker; the model is loaded when it starts."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", CoverageWarning)  # few known words are for the client to look after
        held = Reloading(settings)
        with ThreadPoolExecutor(_THREADS) as threads:
            app.state.worker = Worker(settings, held, threads, metrics)
            watching = asyncio.create_task(held.watch())
            yield
            watching.cancel()

    about = {"title": "parasphere", "version": __version__, "description": _ABOUT}
    app = _make()(**about, lifespan=lifespan, routes=[*router.routes])  # include_router would match each path twice
    app.add_exception_handler(HTTPException, on_problem)
    paths = {route.path for route in router.routes if isinstance(route, APIRoute)}
    app.add_middleware(ServiceMiddleware, settings=settings, metrics=metrics, paths=paths)
    if settings.api_key is not None:  # the OpenAPI pages then have a field for it
        schema = app.openapi()
        schema["components"]["securitySchemes"] = {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"HTTPBearer": []}]
    return app


def _make() -> Callable[..., FastAPI]:
    """Return what makes the application: with OpenAPI pages that load nothing from elsewhere, if they are installed."""
    try:
        from fastapi_offline import FastAPIOffline
    except ImportError:
        return lambda **options: FastAPI(docs_url=None, redoc_url=None, **options)
    made: Callable[..., FastAPI] = FastAPIOffline
    return made

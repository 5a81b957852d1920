"""What the endpoints of a worker share."""

from typing import NamedTuple

from starlette.requests import Request

from .engine import Engine
from .metrics import Metrics
from .settings import Settings
from .work import Work


class State(NamedTuple):
    """The engine of a worker, its thread, its numbers, and its settings."""

    settings: Settings
    engine: Engine
    work: Work
    metrics: Metrics


def state_of(request: Request) -> State:
    """Return the state of the worker that serves a request."""
    state: State = request.app.state.worker
    return state

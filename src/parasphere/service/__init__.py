"""A fitted model behind HTTP (extra ``serve``): ``parasphere serve MODEL``.

FastAPI on uvicorn: :mod:`~parasphere.service.routes` holds the endpoints, :mod:`~parasphere.service.engine` computes,
:mod:`~parasphere.service.middleware` bounds what a request may cost.
"""

from .engine import Engine, Settings

__all__ = ["Engine", "Settings"]

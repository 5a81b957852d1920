"""A fitted model behind HTTP (extra ``serve``): ``parasphere serve MODEL``.

A worker is a process with one event loop, which reads and writes, and one thread, which computes. Requests that wait
for the same computation are computed together (:mod:`parasphere.service.work`): a text has the same vector, to the last
bit, alone and among others. What a request may cost is bounded before it is read (:mod:`parasphere.service.gate`).
"""

from .engine import Engine
from .settings import Settings

__all__ = ["Engine", "Settings"]

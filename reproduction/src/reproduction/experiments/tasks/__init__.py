"""Tasks that measure similarity, beside the classification of the paper: STS, retrieval and clustering."""

from .run import TASKS, run_tasks
from .systems import SYSTEMS, System

__all__ = ["SYSTEMS", "TASKS", "System", "run_tasks"]

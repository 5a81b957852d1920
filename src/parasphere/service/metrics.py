"""What Prometheus reads: requests, their times, texts, and how many requests wait.

With several workers the numbers of each lie in files of a common folder, which is named by the environment variable
PROMETHEUS_MULTIPROC_DIR before prometheus-client is imported; a worker that answers ``/metrics`` adds them up.
"""

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of a worker."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        to: dict[str, Any] = {"registry": self.registry, "namespace": "parasphere"}
        self.seconds = Histogram("request_seconds", "Seconds per request.", ["path"], buckets=_BUCKETS, **to)
        self.requests = Counter("requests", "Requests that were answered.", ["path", "status"], **to)
        self.texts = Counter("texts", "Texts that were computed.", ["path"], **to)
        self.waiting = Gauge("requests_waiting", "Requests that are being served.", multiprocess_mode="livesum", **to)

    def count(self, path: str, status: int, seconds: float, n_texts: int) -> None:
        """Count a request that was answered."""
        self.seconds.labels(path).observe(seconds)
        self.requests.labels(path, status).inc()
        self.texts.labels(path).inc(n_texts)

    def page(self) -> bytes:
        """Return the numbers of all workers, in the format of Prometheus."""
        folder = os.environ.get(FOLDER)
        if not folder:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)

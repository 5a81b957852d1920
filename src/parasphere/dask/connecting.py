"""The cluster: a client of one that runs, or workers on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import MissingExtraError, ParasphereError


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of a cluster, which is closed at the end.

    Parameters
    ----------
    address : str
        The address of a scheduler, as in "tcp://scheduler:8786"; or "local" for workers on this machine, one process
        per core, or "local:4" for four.

    Examples
    --------
    >>> with connected("local:none"):
    ...     pass
    Traceback (most recent call last):
        ...
    parasphere.errors.ParasphereError: the cluster "local:none" must be the address of a scheduler, or local:N with N
    workers, at least 1
    """
    name, _, count = address.partition(":")
    if name != "local":
        with distributed().Client(address) as client:
            yield client
        return
    if count and not (count.isdecimal() and int(count)):
        raise ParasphereError(
            f'the cluster "{address}" must be the address of a scheduler, or local:N with N workers, at least 1'
        )
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        distributed().LocalCluster(n_workers=int(count) if count else None, **options) as cluster,
        distributed().Client(cluster) as client,
    ):
        yield client


def distributed() -> Any:
    """Return the library ``distributed``."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask", "dask", "a cluster") from None
    return distributed


def current(client: Any) -> Any:
    """Return the client that is given, or the one that was made last in this process."""
    if client is not None:
        return client
    try:
        return distributed().get_client()
    except ValueError:
        raise ParasphereError(
            "there is no cluster: make a client first, as in dask.distributed.Client('scheduler:8786'), or pass client="
        ) from None

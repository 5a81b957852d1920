"""The client of the cluster."""

from typing import Any

from ..errors import MissingExtraError, ParasphereError


def distributed() -> Any:
    """Return the library ``distributed``."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask", "dask", "a cluster") from None
    return distributed


def current(client: Any) -> Any:
    """Return ``client``, or if it is None the last client made in this process."""
    if client is not None:
        return client
    try:
        return distributed().get_client()
    except ValueError:
        raise ParasphereError(
            "there is no Dask client: make one first, as in dask.distributed.Client('scheduler:8786'), or pass client="
        ) from None

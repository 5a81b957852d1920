"""Arrays on a device: to it and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import import_extra
from ..sphere.bessel import Array


def moved(array: Any, device: str | None) -> Array:
    """Return an array on a torch device, or as it is."""
    if device is None:
        return array
    torch = import_extra("torch", "torch", f"device={device!r}")
    array = np.ascontiguousarray(array)
    return torch.asarray(array if array.flags.writeable else array.copy(), device=device)


def on_host(array: Array) -> NDArray[Any]:
    """Return a numpy array or a torch tensor as a numpy array."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()

"""Stand-in while imports move to :mod:`parasphere.storage`."""

from .storage import *  # noqa: F403

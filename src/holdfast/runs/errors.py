"""What can go wrong with a run as a whole."""

from __future__ import annotations

from holdfast.kit.errors import HoldfastError


class OutOfMemory(HoldfastError):
    """There was not enough memory, also for the smallest batches that were tried."""

    exit_status = 1


class TooSlow(HoldfastError):
    """The run would take so long that it was surely not meant."""

    exit_status = 1


class TooLarge(HoldfastError):
    """A network that is far too large to train on this machine."""

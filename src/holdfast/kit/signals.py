"""SIGINT and SIGTERM ask the loop to save and stop; a second one stops at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any


class Stopped(Exception):
    """Raised by long work between iterations that heeds a request to stop; nothing of it is kept."""


class StopRequest:
    """While open, the first signal is only remembered: the loop finishes its iteration, saves and exits.

    In another thread than the main one (a notebook's, a Ray worker's) signals stay with whoever owns the process.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # the only one that Python lets handle signals
            self._before = {number: signal.signal(number, self._handle) for number in self.SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            os.write(sys.stderr.fileno(), b"\nstopped at once; the last checkpoint is whole\n")
            os._exit(128 + number)
        self.received = number
        os.write(sys.stderr.fileno(), b"\nfinishing this iteration, then saving; once more to stop at once\n")

    def heed(self) -> None:
        """For work that lasts longer than an iteration."""
        if self.received is not None:
            raise Stopped

    @property
    def exit_status(self) -> int:
        return 0 if self.received is None else 128 + self.received

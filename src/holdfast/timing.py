"""Where the time goes: every phase of the loop runs inside `with clock("name")`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds per phase, inner phases taken out of outer ones so that the shares add up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.started = time.perf_counter()
        self._inside: list[float] = []  # seconds spent in inner phases, per open phase

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        begun = time.perf_counter()
        self._inside.append(0.0)
        try:
            yield
        finally:
            whole = time.perf_counter() - begun
            self.seconds[phase] = self.seconds.get(phase, 0.0) + whole - self._inside.pop()
            if self._inside:
                self._inside[-1] += whole

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self.started

    def shares(self) -> dict[str, float]:
        """Share of all timed seconds per phase, largest first."""
        total = sum(self.seconds.values()) or 1.0
        return {name: spent / total for name, spent in sorted(self.seconds.items(), key=lambda item: -item[1])}

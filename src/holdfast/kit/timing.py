"""Where the time goes: every phase of the loop runs inside `with clock("name")`."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds per phase, inner phases taken out of outer ones so that the shares add up.

    Another thread may read `phase` and `changed` to see what the loop is doing, and since when.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.started = self.changed = time.perf_counter()
        self.phase = "boot"
        self.observers: dict[str, Callable[[float], None]] = {}  # told how long each visit to a phase took
        self._inside: list[float] = []  # seconds spent in inner phases, per open phase

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        outer = self.phase if self._inside else "loop"
        begun = self.changed = time.perf_counter()
        self.phase = phase  # after `changed`, and before it at the end: a reader never takes an older moment for ours
        self._inside.append(0.0)
        try:
            yield
        finally:
            self.phase = outer
            self.changed = time.perf_counter()
            whole = self.changed - begun
            self.seconds[phase] = self.seconds.get(phase, 0.0) + whole - self._inside.pop()
            if self._inside:
                self._inside[-1] += whole
            if phase in self.observers:
                self.observers[phase](whole)

    def goes_on(self) -> None:
        """A sign of life from within a long phase."""
        self.changed = time.perf_counter()

    def join(self, other: Clock, prefix: str) -> None:
        """Take in the phases of a clock that ran at the same time, under names of their own."""
        for phase, spent in other.seconds.items():
            name = f"{prefix}_{phase}"
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self.started

    def shares(self) -> dict[str, float]:
        """Share of all timed seconds per phase, largest first."""
        total = sum(self.seconds.values()) or 1.0
        return {name: spent / total for name, spent in sorted(self.seconds.items(), key=lambda item: -item[1])}


@contextmanager
def heap_at_rest() -> Iterator[None]:
    """Leave what exists now (libraries, world, networks) out of the garbage collector's rounds. A full one takes
    0.2 s, and they come the more often the more a run writes."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

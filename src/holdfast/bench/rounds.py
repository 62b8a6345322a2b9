"""Contenders take turns, round by round, so that a machine's bad moments hit them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def take_turns(
    contenders: dict[str, Callable[[], int]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Units of work per second of each contender in each round; a contender returns the work it did.

    One round before the first is not counted: it compiles and warms up. A `clock` of the process's own time suits one
    thread on a busy machine.
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, work in contenders.items():
            begun = clock()
            done = work()
            if turn > 0:
                rates[name].append(done / (clock() - begun))
    return rates


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Median of the round-by-round ratios."""
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


def as_table(rates: dict[str, list[float]], unit: str) -> dict[str, Any]:
    return {f"{name}_{unit}": spread(values) for name, values in rates.items()}

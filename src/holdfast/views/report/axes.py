"""What a chart needs from arithmetic: round ticks, short numbers, and fewer points where there are too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

MOST_POINTS = 1000  # that are drawn one by one
STRETCHES = 250  # what more of them are drawn as


class Span(NamedTuple):
    """The part of an axis that is shown."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


def padded_span(values: Sequence[float], from_zero: bool = False) -> Span:
    """A span with a little air around the values; a constant gets room above and below."""
    low, high = min(values), max(values)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        room = abs(low) * 0.1 or 1.0
        return Span(low - room, high + room)
    room = (high - low) * 0.05
    return Span(low if from_zero and low == 0.0 else low - room, high + room)


def ticks(span: Span, most: int, whole: bool = False) -> list[float]:
    """Round values inside the span, steps of 1, 2 or 5 times a power of ten, at most `most` of them."""
    step = 10.0 ** math.floor(math.log10((span.high - span.low) / most))
    if whole:
        step = max(1.0, step)
    for factor in (1, 2, 5, 10, 20, 50):
        first = math.ceil(span.low / (step * factor) - 1e-9)
        last = math.floor(span.high / (step * factor) + 1e-9)
        if last - first + 1 <= most:
            return [index * step * factor for index in range(first, last + 1)]
    raise AssertionError("a step of 50 powers of ten below the span always fits")


def short(value: float) -> str:
    """A number in few signs: 0.9705, 12.5 k, 3.1 M, 2e-05; minus as a minus sign."""
    size = abs(value)
    if size and size < 1e-3:
        text = f"{size:.3g}"
    elif size < 1e4:
        text = f"{size:.4g}"
    elif size < 1e15:
        power = min(4, int(math.log10(size)) // 3)
        text = f"{size / 1000**power:.4g} {'kMGT'[power - 1]}"
    else:
        text = f"{size:.3e}"
    return f"−{text}" if value < 0 else text


class Stretches(NamedTuple):
    """Many points as few: the middle of each stretch with its mean, lowest and highest value."""

    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]


def in_stretches(x: Sequence[float], y: Sequence[float], count: int = STRETCHES) -> Stretches:
    """The points cut into `count` stretches of equally many."""
    edges = [number * len(x) // count for number in range(count + 1)]
    parts = [y[begin:end] for begin, end in pairwise(edges)]
    return Stretches(
        x=[x[(begin + end) // 2] for begin, end in pairwise(edges)],
        mean=[sum(part) / len(part) for part in parts],
        low=[min(part) for part in parts],
        high=[max(part) for part in parts],
    )

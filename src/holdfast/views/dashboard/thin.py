"""Fewer points for a screen, without losing what stands out: of every stretch its lowest and its highest point."""

from __future__ import annotations

import numpy as np


def thinned(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` (at least 4) of the points, in order: the first, the last, and the extremes of equal stretches."""
    count = len(x)
    if count <= most:
        return x, y
    stretches = max(1, (most - 2) // 2)
    edges = np.linspace(0, count, stretches + 1).astype(np.int64)
    widest = int(np.diff(edges).max())
    # each stretch as a row of the same width; the last column repeats within the stretch where it is shorter
    at = np.minimum(edges[:-1, None] + np.arange(widest), edges[1:, None] - 1)
    rows = y[at]
    places = np.arange(stretches)
    lowest, highest = at[places, rows.argmin(1)], at[places, rows.argmax(1)]
    kept = np.unique(np.concatenate([[0, count - 1], lowest, highest]))
    return x[kept], y[kept]


def smoothed(y: np.ndarray, width: int) -> np.ndarray:
    """The mean of up to `width` values around each one; fewer at both ends."""
    width = min(width, len(y))
    if width <= 1:
        return y
    sums = np.concatenate([[0.0], np.cumsum(y)])
    middle = np.arange(len(y))
    begin = np.maximum(0, middle - (width - 1) // 2)
    end = np.minimum(len(y), middle + width // 2 + 1)
    return (sums[end] - sums[begin]) / (end - begin)

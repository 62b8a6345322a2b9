"""Sums behind a mean and a deviation, in one pass over a batch as it lies: torch would write three copies of it."""

from __future__ import annotations

import numpy as np

from holdfast.kit.compiled import kernel


@kernel
def add_distances(seen, chosen, scale, around, sums, squares):  # type: ignore[no-untyped-def]
    """How far the chosen rows [M, D] are from `around`, and the squares of that; `scale` leads back to raw numbers."""
    mean, deviation = scale[0], scale[1]
    for m in range(seen.shape[0]):
        if chosen[m]:
            row = seen[m]
            for j in range(row.shape[0]):
                away = np.float64(row[j] * deviation[j] + mean[j]) - around[j]
                sums[j] += away
                squares[j] += away * away

"""Intervals that go with every rate and mean we print."""

from __future__ import annotations

import math

import numpy as np

from holdfast.rng import numpy_generator

Z_95 = 1.959963984540054
RESAMPLES = 1000


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """95 % interval of a rate (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate, z2 = successes / trials, Z_95**2
    centre = rate + z2 / (2 * trials)
    half = Z_95 * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials**2))
    low, high = (centre - half) / (1 + z2 / trials), (centre + half) / (1 + z2 / trials)
    return max(0.0, low), min(1.0, high)


def bootstrap_mean(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of a mean by resampling episodes; the same values give the same interval."""
    generator = numpy_generator(len(values), "mean")
    draws = generator.integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(1), (2.5, 97.5))
    return float(low), float(high)

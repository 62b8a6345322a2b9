"""Intervals that go with every rate and mean we print."""

from __future__ import annotations

import math

import numpy as np

from holdfast.kit.rng import numpy_generator

Z_95 = 1.959963984540054
RESAMPLES = 1000


def wilson(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Interval of a rate (Wilson 1927), 95 % unless another z is asked for; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate, z2 = successes / trials, z**2
    centre = rate + z2 / (2 * trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials**2))
    low, high = (centre - half) / (1 + z2 / trials), (centre + half) / (1 + z2 / trials)
    return max(0.0, low), min(1.0, high)


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """95 % interval of the difference of two rates, each as (successes, trials) (Newcombe 1998, method 10)."""
    (low_1, high_1), (low_2, high_2) = wilson(*first), wilson(*second)
    rate_1, rate_2 = first[0] / first[1], second[0] / second[1]
    below = math.hypot(rate_1 - low_1, high_2 - rate_2)
    above = math.hypot(high_1 - rate_1, rate_2 - low_2)
    return rate_1 - rate_2 - below, rate_1 - rate_2 + above


def bootstrap_mean(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of a mean by resampling episodes; the same values give the same interval."""
    generator = numpy_generator(len(values), "mean")
    draws = generator.integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(1), (2.5, 97.5))
    return float(low), float(high)

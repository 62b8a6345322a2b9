"""Statistics over seeds: pure functions of arrays, without a file or a clock.

Interquartile means, stratified bootstrap intervals, probability of improvement and performance profiles follow Agarwal
et al. 2021 ("Deep reinforcement learning at the edge of the statistical precipice"). The same values give the same
interval: every resampling draws from its own fixed seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from holdfast.kit.rng import numpy_generator

RESAMPLES = 10_000
LEVEL = 0.95
EXACT_PAIRS = 16  # up to 2^16 patterns of signs are all counted; of more, as many are drawn
AT_ONCE = 2_000_000  # numbers resampled at a time: bounds the memory
RELIABLE = 5  # with fewer seeds an interval says little

Strata = Sequence[np.ndarray]  # the values of each task; resampling stays within a task
Statistic = Callable[[np.ndarray], np.ndarray]  # [..., N] -> [...]


class Estimate(NamedTuple):
    """A statistic and its 95 % interval."""

    value: float
    low: float
    high: float


def mean(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.mean(-1))


def median(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.median(values, -1))


def iqm(values: np.ndarray) -> np.ndarray:
    """Interquartile mean: the mean of what is left without the lowest and the highest quarter (rounded down)."""
    count = values.shape[-1]
    cut = count // 4
    if cut == 0:
        return mean(values)
    ordered = np.partition(values, (cut, count - cut - 1), axis=-1)
    return mean(ordered[..., cut : count - cut])


STATISTICS: dict[str, Statistic] = {"mean": mean, "median": median, "iqm": iqm}


# --- intervals -------------------------------------------------------------------------------------------------------


def estimate(strata: Strata, statistic: Statistic, resamples: int = RESAMPLES) -> Estimate:
    """The statistic over all values, and its interval by resampling the seeds of each task."""
    low, high = interval(resampled(strata, statistic, resamples))
    return Estimate(float(statistic(np.concatenate(list(strata)))), low, high)


def resampled(strata: Strata, statistic: Statistic, resamples: int = RESAMPLES) -> np.ndarray:
    """The statistic of each resample: as many values of every task as it has, drawn with replacement."""
    generator = numpy_generator(sum(map(len, strata)), "strata")
    total = sum(map(len, strata))
    found = []
    for count in _parts(resamples, total):
        drawn = [part[generator.integers(0, len(part), (count, len(part)))] for part in strata]
        found.append(statistic(np.concatenate(drawn, 1)))
    return np.concatenate(found)


def interval(resamples: np.ndarray) -> tuple[float, float]:
    """Percentiles that hold the middle 95 %."""
    low, high = np.percentile(resamples, (50 - 50 * LEVEL, 50 + 50 * LEVEL))
    return float(low), float(high)


def _parts(resamples: int, width: int) -> list[int]:
    """Resamples cut into portions of bounded memory; the cut depends on the width alone."""
    portion = max(1, AT_ONCE // max(1, width))
    return [min(portion, resamples - begun) for begun in range(0, resamples, portion)]


# --- two groups ------------------------------------------------------------------------------------------------------


def probability_of_improvement(ours: Strata, theirs: Strata, resamples: int = RESAMPLES) -> Estimate:
    """P(one of ours > one of theirs), ties half: Mann and Whitney's U / mn, averaged over the tasks."""
    wins = [0.5 * (1.0 + np.sign(a[:, None] - b[None, :])) for a, b in zip(ours, theirs, strict=True)]
    generator = numpy_generator(sum(map(len, ours)) * 65537 + sum(map(len, theirs)), "improve")
    found = np.zeros(resamples)
    for table in wins:
        m, n = table.shape
        begun = 0
        for count in _parts(resamples, m + n):
            a, b = _counts(generator, count, m), _counts(generator, count, n)
            found[begun : begun + count] += ((a @ table) * b).sum(1) / (m * n)
            begun += count
    low, high = interval(found / len(wins))
    return Estimate(float(np.mean([table.mean() for table in wins])), low, high)


def _counts(generator: np.random.Generator, resamples: int, size: int) -> np.ndarray:
    """How often each of `size` values is drawn in each resample."""
    drawn = generator.integers(0, size, (resamples, size)) + size * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * size).reshape(resamples, size).astype(np.float64)


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided p-value of paired differences: the share of sign patterns whose mean is as far from 0 as the observed.

    All 2^n patterns for up to 16 pairs; beyond that 2^16 drawn ones, the observed counted among them.
    """
    count = len(differences)
    if count == 0:
        return 1.0
    observed = abs(differences.sum()) * (1.0 - 1e-12)  # sums of the same numbers in another order round differently
    if count <= EXACT_PAIRS:
        signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return float(np.mean(np.abs(signs @ differences) >= observed))
    generator, drawn = numpy_generator(count, "flips"), 2**EXACT_PAIRS
    reached = 1
    for portion in _parts(drawn, count):
        bits = np.unpackbits(np.frombuffer(generator.bytes(portion * -(-count // 8)), np.uint8).reshape(portion, -1), 1)
        sums = differences.sum() - 2.0 * (bits[:, :count].astype(np.float64) @ differences)
        reached += int(np.count_nonzero(np.abs(sums) >= observed))
    return reached / (drawn + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = largest
    return corrected


# --- power -----------------------------------------------------------------------------------------------------------


def detectable_paired(differences: np.ndarray, power: float = 0.8) -> float | None:
    """The mean difference that so many pairs would show at 5 % with this power; None with fewer than two."""
    count = len(differences)
    if count < 2:
        return None
    return _detectable(count - 1, power) * float(differences.std(ddof=1)) / math.sqrt(count)


def detectable_unpaired(ours: np.ndarray, theirs: np.ndarray, power: float = 0.8) -> float | None:
    """The same for two independent groups, with their pooled deviation."""
    m, n = len(ours), len(theirs)
    if m + n < 4 or min(m, n) < 1:
        return None
    squares = ((ours - ours.mean()) ** 2).sum() + ((theirs - theirs.mean()) ** 2).sum()
    pooled = math.sqrt(squares / (m + n - 2))
    return _detectable(m + n - 2, power) * pooled * math.sqrt(1 / m + 1 / n)


def _detectable(freedom: int, power: float) -> float:
    return student_quantile(0.5 + 0.5 * LEVEL, freedom) + student_quantile(power, freedom)


def student_quantile(share: float, freedom: int) -> float:
    """Quantile of Student's t, by halving the interval in which its distribution reaches the share."""
    if share < 0.5:
        return -student_quantile(1.0 - share, freedom)
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(share))
    while student_share(high, freedom) < share:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if student_share(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def student_share(t: float, freedom: int) -> float:
    """Distribution function of Student's t for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom % 2:
        term, total = cosine, cosine if freedom > 1 else 0.0
        for number in range(3, freedom - 1, 2):
            term *= cosine * cosine * (number - 1) / number
            total += term
        return 0.5 + (angle + sine * total) / math.pi
    term, total = 1.0, 1.0
    for number in range(2, freedom - 1, 2):
        term *= cosine * cosine * (number - 1) / number
        total += term
    return 0.5 + 0.5 * sine * total


# --- profiles, curves, thresholds ------------------------------------------------------------------------------------


class Band(NamedTuple):
    """A curve with its interval at every point."""

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray


def performance_profile(values: np.ndarray, thresholds: np.ndarray, resamples: int = RESAMPLES) -> Band:
    """Share of runs above each threshold."""
    above = (values[:, None] > thresholds[None, :]).astype(np.float64)
    return _band(above, thresholds, resamples)


def learning_curve(curves: np.ndarray, x: np.ndarray, resamples: int = RESAMPLES) -> Band:
    """Mean over runs at each point; `curves` is [runs, points]."""
    return _band(curves, x, resamples)


def _band(rows: np.ndarray, x: np.ndarray, resamples: int) -> Band:
    generator, count = numpy_generator(len(rows), "band"), len(rows)
    drawn = np.concatenate([_counts(generator, part, count) for part in _parts(resamples, count)])
    low, high = np.percentile(drawn @ rows / count, (50 - 50 * LEVEL, 50 + 50 * LEVEL), axis=0)
    return Band(x, rows.mean(0), low, high)


def same_points(curves: Sequence[tuple[np.ndarray, np.ndarray]], points: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Curves of (x, y), each rising in x, brought to shared points: all x that any has, at most so many, up to where
    the shortest ends; between its own points a curve is a straight line."""
    first, last = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    shared = np.unique(np.concatenate([x for x, _ in curves]))
    shared = shared[(shared >= first) & (shared <= last)]
    if len(shared) > points:
        shared = shared[np.linspace(0, len(shared) - 1, points).astype(np.int64)]
    return shared, np.array([np.interp(shared, x, y) for x, y in curves]).reshape(len(curves), len(shared))


class Reached(NamedTuple):
    """When runs reached a threshold; those that ended before are censored."""

    reached: int
    runs: int
    median: float | None  # by Kaplan and Meier 1958; None: fewer than half are known to reach it


def until_threshold(spent: np.ndarray, reached: np.ndarray) -> Reached:
    """`spent`: where each run reached it, or where it ended without."""
    return Reached(int(reached.sum()), len(spent), survival_median(spent, reached))


def survival_median(spent: np.ndarray, reached: np.ndarray) -> float | None:
    """The first moment at which at most half are estimated not to have reached it."""
    share = 1.0
    for moment in np.unique(spent[reached]):
        waiting = np.count_nonzero(spent >= moment)
        share *= 1.0 - np.count_nonzero(reached & (spent == moment)) / waiting
        if share <= 0.5 + 1e-12:
            return float(moment)
    return None


def all_pairs(count: int, most: int) -> list[tuple[int, int]]:
    """Which groups are compared: all with all, or where they are more than `most`, each with the first."""
    if count <= most:
        return list(itertools.combinations(range(count), 2))
    return [(0, other) for other in range(1, count)]

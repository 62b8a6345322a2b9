"""Schedules of a run: learning rate, entropy bonus, and how far replay's bias is corrected.

Everything is counted in iterations, the unit in which it is stepped: an update has one pace from its first gradient
step to its last. Pure functions of the configuration and the iteration's number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from holdfast.config.sections import LearnerConfig

LONGEST_WARMUP = 0.2  # of the run: a longer one would have its best rate when the run is nearly over


class Pace(NamedTuple):
    """Learning rate, entropy bonus and progress of one update; a curriculum that adapts them replaces a field."""

    lr: float
    entropy: float
    progress: float  # share of the run that is over


def pace(config: LearnerConfig, iteration: int, iterations: int, lr_scale: float = 1.0) -> Pace:
    """The pace of an iteration, counted from 0; `lr_scale` is a factor on the learning rate."""
    progress = min(1.0, iteration / iterations)
    lr = config.lr * lr_scale * rate(config.lr_schedule, config.warmup, iteration, iterations, config.lr_restart)
    entropy = between(config.entropy, config.entropy_final, min(1.0, progress / config.entropy_share))
    return Pace(lr, entropy, progress)


def rate(schedule: str, warmup: int, iteration: int, iterations: int, restart: float = 0.0) -> float:
    """Share of the full learning rate: rises over the warm-up, never from 0, then falls over the rest of the run.

    With a restart it falls to 0 once before that last share of the run, then follows the original schedule.
    """
    if iteration < warmup:
        return (iteration + 1) / warmup
    first = iterations - round(restart * iterations)
    end = first if iteration < first else iterations
    over = min(1.0, (iteration - warmup) / max(1, end - warmup))
    if schedule == "linear":
        return 1.0 - over
    if schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * over))
    return 1.0


def rises_again(iterations: int, restart: float) -> bool:
    """Whether a restart lets the rate rise: with too few iterations before or behind it, it only falls otherwise."""
    anew = round(restart * iterations)
    return anew * (iterations - anew) > iterations


def between(start: float, final: float | None, progress: float) -> float:
    """On the straight line from `start` to `final`; always `start` without one."""
    return start if final is None else start + (final - start) * progress

"""What one evaluation of the fish world says: survival, when fish died, and how much of it no policy could avoid.

Pure functions of arrays: E episodes of F fish each. `death_step` is -1 where a fish lived to the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from holdfast.kit.intervals import bootstrap_mean

SECTOR_DEG, SECTORS = 30.0, 12
SPEED_BIN = 0.4
HIGH_SPEED = 1.6
PERCENTILES = (10, 25, 50, 75, 90)


class EvaluatedSchools(NamedTuple):
    """The schools of a finished evaluation."""

    death_step: np.ndarray  # [E, F] int
    step_limit: int
    first_pred_vel: np.ndarray  # [E, 2] the predator's velocity after the first step
    floor_step_one: np.ndarray  # [E] fish that die in the first step whatever they do
    floor: np.ndarray  # [E] fish that die soon whatever they do, as deep as the rules allow


class Cluster(NamedTuple):
    """Step-one deaths under predators of about one heading and speed."""

    heading_deg: float  # lower edge of the sector, as of the bin below
    speed: float
    deaths: int
    share: float  # of all step-one deaths


class SurvivalCurve(NamedTuple):
    """Shares alive after each step from 0 to the limit, over episodes."""

    mean: np.ndarray
    lowest: np.ndarray
    p10: np.ndarray


def final_share(death_step: np.ndarray) -> np.ndarray:
    """[E]"""
    return (death_step < 0).mean(axis=1)


def worst10(final: np.ndarray) -> float:
    """The mean of the worst tenth of the episodes, rounded up."""
    return float(np.sort(final)[: math.ceil(len(final) / 10)].mean())


def lifetimes(evaluated: EvaluatedSchools) -> np.ndarray:
    """[E, F] step of death; the limit for survivors."""
    return np.where(evaluated.death_step < 0, evaluated.step_limit, evaluated.death_step)


def early(death_step: np.ndarray, before: int) -> float:
    """The share of all fish that died before this step."""
    return float(((death_step >= 0) & (death_step < before)).mean())


def death_percentiles(evaluated: EvaluatedSchools) -> dict[str, float]:
    """Over all fish of all episodes; they say nothing once more than that share survives. The last is of each
    episode's first death alone."""
    lived = lifetimes(evaluated)
    found = {f"death_p{p}": float(np.percentile(lived, p)) for p in PERCENTILES}
    return {
        **found,
        "death_mean": float(lived.mean()),
        "first_death_step_p10": float(np.percentile(lived.min(axis=1), 10)),
    }


def step_one_numbers(evaluated: EvaluatedSchools) -> dict[str, float]:
    """Deaths in the first step, those nobody could avoid, and the rest; each as a count and as a share of all fish."""
    counts = {
        "step_one": int((evaluated.death_step == 1).sum()),
        "floor_step_one": int(evaluated.floor_step_one.sum()),
    }
    counts["avoidable_step_one"] = counts["step_one"] - counts["floor_step_one"]
    numbers: dict[str, float] = {}
    for name, count in counts.items():
        numbers |= {name: count, f"{name}_ratio": count / evaluated.death_step.size}
    return numbers


def ceilings(evaluated: EvaluatedSchools) -> dict[str, float]:
    """What a perfect policy could reach on the same starts."""
    share = evaluated.floor / evaluated.death_step.shape[1]
    return {
        "floor": int(evaluated.floor.sum()),
        "floor_ratio": float(share.mean()),
        "ceiling_avg": float(1.0 - share.mean()),
        "ceiling_min": float(1.0 - share.max()),
    }


def step_one_predators(evaluated: EvaluatedSchools) -> tuple[np.ndarray, np.ndarray]:
    """For each step-one death the predator's sector and its speed, after that step."""
    velocity = evaluated.first_pred_vel.astype(np.float64)
    heading = np.degrees(np.arctan2(velocity[:, 1], velocity[:, 0])) % 360.0
    sector = (heading // SECTOR_DEG).astype(int) % SECTORS  # a heading of -1e-15 becomes 360
    deaths = (evaluated.death_step == 1).sum(axis=1)
    return np.repeat(sector, deaths), np.repeat(np.hypot(velocity[:, 0], velocity[:, 1]), deaths)


def step_one_clusters(evaluated: EvaluatedSchools) -> list[Cluster]:
    """Largest first; of equal ones the lower heading, then the lower speed."""
    sector, speed = step_one_predators(evaluated)
    bins = np.stack([sector, (speed / SPEED_BIN).astype(int)], axis=1)
    kinds, counts = np.unique(bins, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [
        Cluster(SECTOR_DEG * kinds[k, 0], SPEED_BIN * kinds[k, 1], int(counts[k]), counts[k] / len(sector))
        for k in order
    ]


def high_speed_share(evaluated: EvaluatedSchools) -> np.ndarray:
    """[12] per 30° sector: the share of step-one deaths under a predator of that heading and of speed 1.6 or more."""
    sector, speed = step_one_predators(evaluated)
    return np.bincount(sector[speed >= HIGH_SPEED], minlength=SECTORS) / max(len(sector), 1)


def survival_curve(evaluated: EvaluatedSchools) -> SurvivalCurve:
    steps = np.arange(evaluated.step_limit + 1)
    death = np.where(evaluated.death_step < 0, evaluated.step_limit + 1, evaluated.death_step)
    alive = np.stack([1.0 - np.searchsorted(np.sort(row), steps, side="right") / len(row) for row in death])  # [E, T]
    return SurvivalCurve(alive.mean(axis=0), alive.min(axis=0), np.percentile(alive, 10, axis=0))


def measure(evaluated: EvaluatedSchools) -> dict[str, float]:
    """Every number of an evaluation by its name. `min_final` sinks with the number of episodes: compare at equal
    `episodes` only."""
    final = final_share(evaluated.death_step)
    low, high = bootstrap_mean(final)
    clusters = step_one_clusters(evaluated)
    fast = high_speed_share(evaluated)
    return {
        "episodes": len(final),
        "fish": evaluated.death_step.shape[1],
        "avg_final": float(final.mean()),
        "avg_final_low": low,
        "avg_final_high": high,
        "min_final": float(final.min()),
        "worst10_final": worst10(final),
        **death_percentiles(evaluated),
        "early_100": early(evaluated.death_step, 100),
        "early_150": early(evaluated.death_step, 150),
        **step_one_numbers(evaluated),
        **ceilings(evaluated),
        "top_share": clusters[0].share if clusters else 0.0,
        "hs_share_090_150": float(fast[3] + fast[4]),
    }

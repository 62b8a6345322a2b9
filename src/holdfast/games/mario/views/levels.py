"""Clear rates level by level: whole held-out episodes of each stage, with Wilson's interval and how they ended."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.intervals import wilson
from holdfast.learner.learner import Learner
from holdfast.views.judge import Kept, held_out, learned_actor
from holdfast.worlds.api import Episodes


class LevelRow(NamedTuple):
    """One stage of an evaluation."""

    stage: str
    episodes: int
    clears: int
    rate: float
    low: float
    high: float
    median_steps: float | None  # of the cleared episodes
    furthest_x: float
    ends: dict[str, int]  # how often by reason


def level_row(stage: str, episodes: Episodes) -> LevelRow:
    from holdfast.games.mario.world.play import REASONS

    cleared = episodes["cleared"] > 0.0
    count, clears = len(episodes), int(cleared.sum())
    low, high = wilson(clears, count)
    steps = float(np.median(episodes["length"][cleared])) if clears else None
    counts = np.bincount(episodes["reason"], minlength=len(REASONS))
    ends = {name: int(counts[place]) for place, name in enumerate(REASONS) if counts[place]}
    return LevelRow(stage, count, clears, clears / count, low, high, steps, float(episodes["max_x"].max()), ends)


def judge_levels(kept: Kept, checkpoint: str, episodes: int, sampled: bool) -> list[LevelRow]:
    """A row for each stage the policy was trained on; none for other worlds."""
    config = kept.config
    from holdfast.games.mario.world.stages import STAGES, read_stages

    learners = kept.load(checkpoint)
    stages = [STAGES[number] for number in read_stages(config.evaluation_world.stages)]
    return [judge_stage(config, learners, stage, episodes, sampled) for stage in stages]


def judge_stage(config: Config, learners: dict[str, Learner], stage: str, episodes: int, sampled: bool) -> LevelRow:
    """Held-out episodes of one stage."""
    settings = dataclasses.replace(config.evaluation_world, stages=stage)
    evaluation = held_out(config, episodes)._replace(settings=settings)
    return level_row(stage, evaluation.play(lambda world: learned_actor(config, learners, sampled)))


def levels_table(rows: list[LevelRow]) -> Any:
    from rich.table import Table

    table = Table("stage", "cleared", "95 % interval", "episodes", "median steps", "furthest x", "ends")
    for row in rows:
        ends = ", ".join(f"{name} {count}" for name, count in row.ends.items())
        steps = "-" if row.median_steps is None else f"{row.median_steps:.0f}"
        interval = f"{row.low:.2f} to {row.high:.2f}"
        table.add_row(row.stage, f"{row.rate:.2f}", interval, str(row.episodes), steps, f"{row.furthest_x:.0f}", ends)
    return table

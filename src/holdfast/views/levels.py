"""Clear rates level by level: whole held-out episodes of each stage, with Wilson's interval and how they ended."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from holdfast.intervals import wilson
from holdfast.runs.folder import Run
from holdfast.runs.reopen import config_of, load_learners
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
    from holdfast.worlds.mario.play import REASONS

    cleared = episodes["cleared"] > 0.0
    count, clears = len(episodes), int(cleared.sum())
    low, high = wilson(clears, count)
    steps = float(np.median(episodes["length"][cleared])) if clears else None
    counts = np.bincount(episodes["reason"], minlength=len(REASONS))
    ends = {name: int(counts[place]) for place, name in enumerate(REASONS) if counts[place]}
    return LevelRow(stage, count, clears, clears / count, low, high, steps, float(episodes["max_x"].max()), ends)


def judge_levels(run: Run, checkpoint: str, episodes: int, sampled: bool) -> list[LevelRow]:
    """A row for each stage the run was trained on; none for other worlds."""
    config = config_of(run)
    if config.world_name != "mario":
        return []
    from holdfast.views.judge import held_out, learned_actor
    from holdfast.worlds.mario.stages import STAGES, read_stages

    learners, _ = load_learners(run, config, checkpoint)
    rows = []
    for number in read_stages(config.evaluation_world.stages):
        settings = dataclasses.replace(config.evaluation_world, stages=STAGES[number])
        evaluation = held_out(config, episodes)._replace(settings=settings)
        rows.append(level_row(STAGES[number], evaluation.play(lambda world: learned_actor(config, learners, sampled))))
    return rows


def levels_table(rows: list[LevelRow]) -> Any:
    from rich.table import Table

    table = Table("stage", "cleared", "95 % interval", "episodes", "median steps", "furthest x", "ends")
    for row in rows:
        ends = ", ".join(f"{name} {count}" for name, count in row.ends.items())
        steps = "-" if row.median_steps is None else f"{row.median_steps:.0f}"
        interval = f"{row.low:.2f} to {row.high:.2f}"
        table.add_row(row.stage, f"{row.rate:.2f}", interval, str(row.episodes), steps, f"{row.furthest_x:.0f}", ends)
    return table

"""The last three published runs of the earlier fish project: their command lines, and the evaluations of v42."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from holdfast.config.preset_text import preset_text
from holdfast.config.reading import from_table
from holdfast.config.sections import Config
from holdfast.curriculum.criteria import Measured
from holdfast.curriculum.deck_queue import QueuePlan, blocks_of, episode_limit
from holdfast.curriculum.deck_spec import parse_stages
from holdfast.curriculum.dry_run import EvaluationPlan, Floor, Reference
from holdfast.curriculum.feasibility import Deck, Question
from holdfast.curriculum.feasibility_reference import FloorSpread
from holdfast.curriculum.schedule import Schedule, schedule_for
from holdfast.games.fish.density import DensitySettings, density_problems
from holdfast.games.fish.fish_command import import_command

DATA = Path(__file__).parent / "data"
FLOORS = (37, 34, 24, 42, 47, 40, 30)  # doomed fish of the seven evaluations, by exhaustive search
WORLD_STEPS = 500


@cache
def imported(version: str) -> Config:
    options = import_command((DATA / f"{version}.txt").read_text()).options
    return from_table(tomllib.loads(preset_text("fish", options, [])), version)[0]


def schedule(version: str = "v42") -> Schedule:
    run = imported(version)
    return schedule_for(run.schedule, run.world.fish, run.run.iterations)


def density(version: str = "v42") -> DensitySettings:
    return imported(version).section(DensitySettings)


def queue(version: str = "v42") -> QueuePlan:
    run = imported(version)
    return QueuePlan(
        blocks=blocks_of(parse_stages(run.deck.stages)),
        schedule=schedule(version),
        rollout_steps=run.rollout.steps,
        episode_steps=episode_limit(WORLD_STEPS, run.deck.force_reset_steps),
        share=run.deck.share,
        phase_reset=run.schedule.phase_reset,
    )


def question(version: str = "v42") -> Question:
    """The feasibility question as it should have been asked before the run."""
    run = imported(version)
    return Question(
        gate=run.gate,
        schedule=schedule(version),
        evaluation=EvaluationPlan(run.evaluation.every, run.evaluation.episodes, 96),
        total_iterations=run.run.iterations,
        deck=Deck(replace(run.deck, min_reinjections="ne:2"), queue(version), WORLD_STEPS),
        misfits=density_problems(density(version), schedule(version)),
        floors=[Floor(count, count, 6) for count in FLOORS],
        floor_spread=FloorSpread(0.0167, 1.6),
        reference=[Reference(500.0, 0.017, 0.938, count) for count in FLOORS],
        reference_name="dodge_shelter",
    )


def v42_evaluations() -> list[Measured]:
    with (DATA / "v42_evaluations.csv").open(newline="") as file:
        return [
            Measured(
                iteration=int(row["iteration"]),
                type=row["type"],
                death_p10=float(row["death_p10"]),
                early_death=float(row["early_100"]),
                min_final=float(row["min_final"]),
                step_one=int(row["step_one"]),
                agents=1920,
                floor=int(row["floor"]),
                metrics={"avg_final": float(row["avg_final"]), "episodes": 20},
            )
            for row in csv.DictReader(file)
        ]

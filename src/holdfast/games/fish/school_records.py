"""What a school's curriculum leaves in the run folder: a line per iteration and per evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.curriculum.contract import Append
from holdfast.curriculum.record import Record
from holdfast.games.fish.course import Conditions
from holdfast.games.fish.world.measure import EvaluatedSchools
from holdfast.worlds.api import Episodes

TRACE, HISTORY, DECISIONS = "schedule_trace.jsonl", "eval_history.jsonl", "gate_debug.jsonl"


def training_numbers(episodes: Episodes | None) -> dict[str, float | int | None]:
    """Of the training episodes that ended in one iteration; None where none did."""
    if episodes is None:
        names = ("survival", "first_death_step_mean", "first_death_step_p10", "step_one_ratio")
        return {"episodes": 0, "step_one": 0, **dict.fromkeys(names)}
    first = episodes["first_death"]
    return {
        "episodes": len(episodes),
        "survival": float(episodes["survival"].mean()),
        "first_death_step_mean": float(first.mean()),
        "first_death_step_p10": float(np.percentile(first, 10)),
        "step_one": int(episodes["step_one"].sum()),
        "step_one_ratio": float(episodes["step_one"].sum() / episodes["n_fish"].sum()),
    }


class SchoolRecords:
    """The lines of a run's curriculum."""

    def __init__(self, append: Append) -> None:
        self.append = append

    def trace(
        self,
        iteration: int,
        conditions: Conditions,
        level: int,
        played: Mapping[str, Any],
        dealt: Mapping[str, Any],
        learner: Mapping[str, float | int],
    ) -> None:
        self.append(
            TRACE,
            {
                "iteration": iteration,
                **conditions._asdict(),
                "gate_level": level,
                "lr": learner.get("learner.fish.lr"),
                "entropy_coef": learner.get("learner.fish.entropy_coef"),
                "training": dict(played),
                "deck": dict(dealt),
            },
        )

    def evaluated(
        self,
        iteration: int,
        episodes: Episodes,
        schools: EvaluatedSchools,
        numbers: Mapping[str, Any],
        record: Record | None,
        kind: str,
    ) -> None:
        self.append(HISTORY, {"iteration": iteration, "type": kind, **numbers, **per_episode(episodes, schools)})
        if record is not None:
            self.append(DECISIONS, record.to_json())


def per_episode(episodes: Episodes, schools: EvaluatedSchools) -> dict[str, Any]:
    return {
        "keys": [str(key) for key in episodes["key"]],  # 64 bits do not fit a JSON number
        "final_alive": (schools.death_step < 0).sum(axis=1).tolist(),
        "floors": schools.floor.tolist(),
        "death_steps": schools.death_step.tolist(),
    }

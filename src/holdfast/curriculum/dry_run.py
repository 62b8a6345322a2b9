"""The gate run through a whole training in advance, with evaluations that are assumed instead of measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.curriculum.criteria import Measured
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.record import Record

EARLY_SHARE = 0.10  # death_p10 leaves the step limit once this share dies early


@dataclass(frozen=True)
class EvaluationPlan:
    """When and how large the evaluations of a run are."""

    interval: int  # iterations; 0 = never
    episodes: int
    fish: int
    steps: int = 500

    @property
    def agents(self) -> int:
        return self.episodes * self.fish

    def iterations(self, total: int) -> tuple[int, ...]:
        """The iterations that end with an evaluation."""
        return tuple(range(self.interval, total + 1, self.interval)) if self.interval else ()


class Moment(NamedTuple):
    """An evaluation to come: when, and which deck type will be in use."""

    iteration: int
    type: str


class Floor(NamedTuple):
    """Deaths in one evaluation that no policy avoids."""

    step_one: int  # in the first step
    early: int  # within the first few steps (searched five steps deep)
    worst_episode: int  # in the episode that has most of them


class Reference(NamedTuple):
    """What a scripted policy reached in one evaluation."""

    death_p10: float
    early_death: float
    min_final: float
    step_one: int


def perfect(plan: EvaluationPlan, moments: Sequence[Moment]) -> list[Measured]:
    """Evaluations in which no fish ever dies."""
    return [Measured(when, kind, float(plan.steps), 0.0, 1.0, 0, plan.agents, 0) for when, kind in moments]


def floor_limited(plan: EvaluationPlan, moments: Sequence[Moment], floors: Sequence[Floor]) -> list[Measured]:
    """Evaluations in which only those fish die that no policy can save."""
    return [
        Measured(
            iteration=moment.iteration,
            type=moment.type,
            death_p10=float(plan.steps) if floor.early / plan.agents < EARLY_SHARE else 1.0,
            early_death=floor.early / plan.agents,
            min_final=1 - floor.worst_episode / plan.fish,
            step_one=floor.step_one,
            agents=plan.agents,
            floor=floor.step_one,
        )
        for moment, floor in zip(moments, floors, strict=True)
    ]


def scripted(
    plan: EvaluationPlan, moments: Sequence[Moment], reference: Sequence[Reference], floors: Sequence[Floor] | None
) -> list[Measured]:
    """Evaluations as a scripted policy plays them."""
    doomed = [floor.step_one for floor in floors] if floors else [None] * len(moments)
    return [
        Measured(
            when, kind, scores.death_p10, scores.early_death, scores.min_final, scores.step_one, plan.agents, floor
        )
        for (when, kind), scores, floor in zip(moments, reference, doomed, strict=True)
    ]


def highest_level(settings: GateSettings, evaluations: Sequence[Measured]) -> int:
    return max((record.level.after for record in run_gate(settings, evaluations)), default=0)


def spelled_events(records: Sequence[Record]) -> str:
    """Runs of equal events in one line: `3 x locked, noop`."""
    parts: list[tuple[str, int]] = []
    for record in records:
        if parts and parts[-1][0] == record.event:
            parts[-1] = record.event, parts[-1][1] + 1
        else:
            parts.append((record.event, 1))
    return ", ".join(event if count == 1 else f"{count} x {event}" for event, count in parts)

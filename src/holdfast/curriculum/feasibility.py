"""Can this gate open at all? Answered before training by arithmetic, by floors and by a reference policy.

Floors and reference scores are measured elsewhere and handed in; where they are missing, the report says which
findings were left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.curriculum.deck_queue import QueuePlan
from holdfast.curriculum.deck_spec import DeckSettings
from holdfast.curriculum.dry_run import EvaluationPlan, Floor, Moment, Reference
from holdfast.curriculum.feasibility_deck import deck_findings
from holdfast.curriculum.feasibility_floor import BestLimit, best_findings, floor_findings
from holdfast.curriculum.feasibility_options import option_findings
from holdfast.curriculum.feasibility_reference import FloorSpread, noise_findings, reference_findings
from holdfast.curriculum.feasibility_shape import learning_rate_findings, shape_findings
from holdfast.curriculum.feasibility_timing import timing_findings
from holdfast.curriculum.findings import Report, repaired_gate
from holdfast.curriculum.gate_check import check_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.schedule import Schedule
from holdfast.kit.errors import ConfigError

Given = TypeVar("Given")


@dataclass(frozen=True)
class Deck:
    """A deck as the check needs it."""

    settings: DeckSettings
    queue: QueuePlan
    world_steps: int  # step limit of a training episode without forced resets


@dataclass(frozen=True)
class Question:
    """Everything the answer depends on. None: not in use, or not measured."""

    gate: GateSettings
    schedule: Schedule
    evaluation: EvaluationPlan
    total_iterations: int
    deck: Deck | None = None
    misfits: Sequence[str] = ()  # lists of the game that do not fit its phases, told in words
    floors: Sequence[Floor] | None = None  # one per evaluation, or one for all
    floor_spread: FloorSpread | None = None
    reference: Sequence[Reference] | None = None  # one per evaluation, or one for all
    reference_name: str = "reference policy"
    learning_rates: Sequence[float] | None = None  # one per iteration
    best_limits: Sequence[BestLimit] = ()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Every evaluation of the run with the deck type that will be in use."""
        return tuple(
            Moment(iteration, self.deck.queue.reading(iteration).type if self.deck else "")
            for iteration in self.evaluation.iterations(self.total_iterations)
        )


def check(question: Question) -> Report:
    """All findings F1 to F12. ConfigError when the options cannot even be read."""
    moments = question.moments
    types = {block.type for block in question.deck.queue.blocks} if question.deck else set()
    check_gate(question.gate, types, len(moments))
    floors = _for_each(question.floors, len(moments), "floors")
    reference = _for_each(question.reference, len(moments), "reference scores")
    gate, plan = question.gate, question.evaluation
    timing = timing_findings(gate, plan, moments, question.total_iterations)
    shut = (item for item in timing if (item.code, item.severity) == ("F1", "infeasible"))
    timed = repaired_gate(gate, next((item.repair for item in shut), None))
    found = [
        *timing,
        *option_findings(gate, plan, moments),
        *floor_findings(gate, timed, plan, moments, floors),
        *reference_findings(gate, timed, plan, moments, reference, floors, question.reference_name),
        *noise_findings(gate, plan, moments, question.floor_spread),
        *best_findings(plan, floors, question.best_limits),
        *shape_findings(question.schedule, question.total_iterations, gate, question.misfits),
        *learning_rate_findings(question.learning_rates),
    ]
    if question.deck:
        deck = question.deck
        found += deck_findings(gate, deck.settings, deck.queue, deck.world_steps, moments)
    found.sort(key=lambda item: int(item.code[1:]))
    return Report(tuple(found), _left_out(question))


def _for_each(given: Sequence[Given] | None, evaluations: int, what: str) -> tuple[Given, ...] | None:
    if given is None:
        return None
    if len(given) == 1:
        return tuple(given) * evaluations
    if len(given) != evaluations:
        raise ConfigError(
            [f"{what}: {len(given)} given for {evaluations} evaluations; give one for each, or one for all"]
        )
    return tuple(given)


def _left_out(question: Question) -> tuple[str, ...]:
    missing = {
        "F7 floor: no floors were given": question.floors is None,
        "F8 reference policy: no scores were given": question.reference is None,
        "F9 noise: the spread of floors was not given": question.floor_spread is None,
        "F10 deck: there is no deck": question.deck is None,
        "F11 learning rate: no rates were given": question.learning_rates is None,
        "F12 best-model rule: no floors were given": bool(question.best_limits) and question.floors is None,
    }
    return tuple(text for text, is_missing in missing.items() if is_missing)

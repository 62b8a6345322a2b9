"""The gate: a state machine over evaluations that advances, holds or rolls back the curriculum.

`decide` is a pure function of recorded values, so that a decision can be replayed under other options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from holdfast.curriculum.criteria import Criterion, Measured, Sample, evaluate_criteria
from holdfast.curriculum.gate_settings import GateSettings, whole_limit
from holdfast.curriculum.record import Change, Event, Record, reason


@dataclass(frozen=True)
class GateState:
    """Everything the gate remembers; part of every checkpoint."""

    level: int = 0
    success_streak: int = 0
    failure_streak: int = 0
    freeze_until: int = 0
    history: tuple[Sample, ...] = ()

    def to_json(self) -> dict[str, Any]:
        numbers = {key: value for key, value in vars(self).items() if key != "history"}
        return {**numbers, "history": [list(sample) for sample in self.history]}

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> GateState:
        return cls(**{**table, "history": tuple(Sample(*sample) for sample in table["history"])})


def phase_limit(settings: GateSettings, level: int) -> int:
    """The last phase that a level allows."""
    return settings.phase_allowance[min(level, settings.max_level)]


class _Verdict(NamedTuple):
    failed: bool
    passed: bool


def decide(state: GateState, settings: GateSettings, measured: Measured) -> tuple[GateState, Record]:
    """The next state, and the record that proves it."""
    history = (*state.history, Sample(measured.type, measured.death_p10, measured.early_death))
    criteria = evaluate_criteria(settings, history, measured)
    verdict = _overall(criteria)
    streak = state.failure_streak + 1 if verdict.failed else 0
    counted = replace(state, failure_streak=streak, history=history)
    event = _event(counted, settings, measured, verdict)
    after = _after(counted, settings, measured.iteration, event)
    return after, _record(state, after, settings, measured, event, criteria)


def _overall(criteria: tuple[Criterion, ...]) -> _Verdict:
    return _Verdict(
        failed=any(test.verdict == "fail" for test in criteria if test.role == "failure"),
        passed=all(test.verdict in ("pass", "off") for test in criteria if test.role == "success"),
    )


def _event(state: GateState, settings: GateSettings, measured: Measured, verdict: _Verdict) -> Event:
    """Exactly one event: the first whose condition holds. `state` already counts this failure."""
    if verdict.failed:
        tolerance = whole_limit(settings, "failure_tolerance", measured.type)
        return "rollback" if state.level > 0 and state.failure_streak >= tolerance else "failure_hold"
    if measured.iteration <= settings.lock_iteration:
        return "locked"
    if measured.iteration < state.freeze_until:
        return "frozen"
    if not verdict.passed:
        return "noop"
    enough = state.success_streak + 1 >= settings.required_successes
    return "advance" if enough and state.level < settings.max_level else "success_progress"


def _after(state: GateState, settings: GateSettings, iteration: int, event: Event) -> GateState:
    freeze = iteration + settings.freeze_iterations
    if event == "rollback":
        return replace(state, level=state.level - 1, success_streak=0, failure_streak=0, freeze_until=freeze)
    if event == "failure_hold":
        return replace(state, success_streak=0, freeze_until=freeze)
    if event == "advance":
        return replace(state, level=state.level + 1, success_streak=0, freeze_until=freeze)
    if event == "success_progress":
        until = max(state.freeze_until, iteration + settings.success_freeze_iterations)
        return replace(state, success_streak=state.success_streak + 1, freeze_until=until)
    return replace(state, success_streak=0)  # locked, frozen, noop


def _record(
    before: GateState,
    after: GateState,
    settings: GateSettings,
    measured: Measured,
    event: Event,
    criteria: tuple[Criterion, ...],
) -> Record:
    return Record(
        measured=measured,
        event=event,
        because=reason(event, criteria, measured, settings, before.success_streak, before.freeze_until),
        level=Change(before.level, after.level),
        success_streak=Change(before.success_streak, after.success_streak),
        failure_streak=Change(before.failure_streak, after.failure_streak),
        freeze_until=Change(before.freeze_until, after.freeze_until),
        lock=settings.lock_iteration,
        phase_limit=phase_limit(settings, after.level),
        criteria=criteria,
    )


def run_gate(
    settings: GateSettings, evaluations: Iterable[Measured], state: GateState | None = None
) -> tuple[Record, ...]:
    """The records of a whole row of evaluations."""
    state = state or GateState()
    records = []
    for measured in evaluations:
        state, record = decide(state, settings, measured)
        records.append(record)
    return tuple(records)

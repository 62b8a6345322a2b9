"""The evidence of one gate decision: one JSON line per evaluation, complete enough to be replayed.

Measurements go into the record whole, so that nothing but the records is needed to ask what another gate had decided.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from holdfast.curriculum.criteria import Criterion, Measured
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.pairs import number_text
from holdfast.kit.errors import RunFolderError

Event = Literal["rollback", "failure_hold", "locked", "frozen", "advance", "success_progress", "noop"]
_IDENTITY = ("iteration", "time", "eval_id", "type", "deck_label")
_CHANGES = ("level", "success_streak", "failure_streak", "freeze_until")


class Change(NamedTuple):
    """A number before and after a decision."""

    before: int
    after: int


@dataclass(frozen=True)
class Record:
    """One decision: what was measured, what happened, and why."""

    measured: Measured
    event: Event
    because: str
    level: Change
    success_streak: Change
    failure_streak: Change
    freeze_until: Change
    lock: int
    phase_limit: int
    criteria: tuple[Criterion, ...]

    def criterion(self, key: str) -> Criterion:
        """A criterion by role and name, such as `success.step_one`."""
        return next(test for test in self.criteria if test.key == key)

    def to_json(self) -> dict[str, Any]:
        measured = {key: value for key, value in asdict(self.measured).items() if key not in (*_IDENTITY, "metrics")}
        return {
            **{key: getattr(self.measured, key) for key in _IDENTITY},
            "event": self.event,
            "because": self.because,
            **{key: getattr(self, key)._asdict() for key in _CHANGES},
            "lock": self.lock,
            "phase_limit": self.phase_limit,
            "criteria": [test._asdict() for test in self.criteria],
            "measured": measured,
            "metrics": dict(self.measured.metrics),
        }

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Record:
        identity = {key: table[key] for key in _IDENTITY}
        return cls(
            measured=Measured(**identity, **table["measured"], metrics=table["metrics"]),
            event=table["event"],
            because=table["because"],
            **{key: Change(**table[key]) for key in _CHANGES},
            lock=table["lock"],
            phase_limit=table["phase_limit"],
            criteria=tuple(Criterion(**test) for test in table["criteria"]),
        )


def read_records(path: Path) -> tuple[Record, ...]:
    """The records of a JSON-lines file; an unreadable line is named by its number."""
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            records.append(Record.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as wrong:
            raise RunFolderError(f"{path}, line {number}: not a gate record ({wrong})") from wrong
    return tuple(records)


def criterion_text(test: Criterion) -> str:
    """`step_one 42 > 18 by 24`, or what keeps the test from being made."""
    if test.verdict == "no_data":
        return f"{test.name} has {test.samples} of {test.window} evaluations"
    if test.value is None or test.threshold is None or test.margin is None:
        return f"{test.name} is off"
    kept = {"<=": ("<=", ">"), ">=": (">=", "<"), "<": (">=", "<")}[test.op][test.verdict == "fail"]
    return f"{test.name} {test.value:.4g} {kept} {number_text(test.threshold)} by {abs(test.margin):.3g}"


def _listed(criteria: tuple[Criterion, ...], role: str, *verdicts: str) -> str:
    return "; ".join(criterion_text(test) for test in criteria if test.role == role and test.verdict in verdicts)


def reason(
    event: Event,
    criteria: tuple[Criterion, ...],
    measured: Measured,
    settings: GateSettings,
    streak: int,
    freeze_until: int,
) -> str:
    """One sentence that names the criteria which decided."""
    if event in ("rollback", "failure_hold"):
        return f"failed: {_listed(criteria, 'failure', 'fail')}"
    if event == "locked":
        return f"iteration {measured.iteration} is inside the lock up to {settings.lock_iteration}"
    if event == "frozen":
        return f"iteration {measured.iteration} is before the end of the freeze at {freeze_until}"
    if event == "noop":
        return f"not passed: {_listed(criteria, 'success', 'fail', 'no_data')}"
    passed = _listed(criteria, "success", "pass")
    return f"success {streak + 1} of {settings.required_successes}: {passed}"

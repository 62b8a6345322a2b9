"""What would another gate have decided on the evaluations that were recorded? No simulation, only the pure gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.curriculum.criteria import Verdict
from holdfast.curriculum.gate import GateState, run_gate
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.record import Record

LETTERS = {
    "failure_hold": "H",
    "locked": "L",
    "noop": "N",
    "success_progress": "P",
    "advance": "A",
    "rollback": "R",
    "frozen": "F",
}


class Difference(NamedTuple):
    """The first evaluation at which two timelines part."""

    iteration: int
    recorded: str  # event and level, as in H0
    replayed: str
    criteria: tuple[str, ...]  # those whose verdict changed
    because: str  # of the replayed decision


@dataclass(frozen=True)
class Timeline:
    """Decisions under the changed options, beside those that were recorded."""

    recorded: tuple[Record, ...]
    replayed: tuple[Record, ...]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(record.event for record in self.replayed)

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(record.level.after for record in self.replayed)

    @property
    def shorthand(self) -> str:
        """Events and levels in one line: `L0 L0 N0 P0 A1`."""
        return " ".join(short(record) for record in self.replayed)

    @property
    def table(self) -> dict[str, tuple[Verdict, ...]]:
        """The verdict of every criterion at every evaluation."""
        keys = [test.key for test in self.replayed[0].criteria] if self.replayed else []
        return {key: tuple(record.criterion(key).verdict for record in self.replayed) for key in keys}

    @property
    def first_difference(self) -> Difference | None:
        for old, new in zip(self.recorded, self.replayed, strict=True):
            if short(old) != short(new):
                return Difference(new.measured.iteration, short(old), short(new), _changed(old, new), new.because)
        return None

    def to_json(self) -> dict[str, Any]:
        difference = self.first_difference
        return {
            "iterations": [record.measured.iteration for record in self.replayed],
            "recorded": [short(record) for record in self.recorded],
            "replayed": [short(record) for record in self.replayed],
            "levels": list(self.levels),
            "table": {key: list(verdicts) for key, verdicts in self.table.items()},
            "first_difference": difference._asdict() if difference else None,
            "records": [record.to_json() for record in self.replayed],
        }


def replay(records: Sequence[Record], settings: GateSettings, state: GateState | None = None) -> Timeline:
    """The recorded evaluations under other options; `state` is the gate's before the first record."""
    return Timeline(tuple(records), run_gate(settings, [record.measured for record in records], state))


def short(record: Record) -> str:
    return f"{LETTERS[record.event]}{record.level.after}"


def _changed(old: Record, new: Record) -> tuple[str, ...]:
    before = {test.key: test.verdict for test in old.criteria}
    return tuple(test.key for test in new.criteria if before.get(test.key) != test.verdict)

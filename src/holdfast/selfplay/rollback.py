"""Where a role goes back to, how far it may go, and what happens when going back does not help.

Every role has a ring of frozen states from before its first step on, so a rollback can always fire. A target is never
found by walking backwards entry by entry, which only repeats the way into the same trouble.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from holdfast.selfplay.settings import HealthConfig

RING = 15  # states of each role kept to go back to
BACK = 3  # how far to go back when none of them was healthy
MOST_PER_TURN = 3  # rollbacks

HEALTHY_LOW, HEALTHY_HIGH = 0.10, 0.90


@dataclass
class Entry:
    """A frozen state of a role."""

    hash: str
    steps: int  # of the role
    rate: float | None  # its share of wins then
    is_turn_start: bool = False

    @property
    def is_healthy(self) -> bool:
        return self.rate is not None and HEALTHY_LOW < self.rate < HEALTHY_HIGH


@dataclass
class Ring:
    """The newest states of a role, oldest first."""

    entries: list[Entry] = field(default_factory=list)

    def push(self, entry: Entry, size: int) -> None:
        if self.entries and self.entries[-1].hash == entry.hash:
            self.entries[-1].is_turn_start |= entry.is_turn_start
            return
        self.entries = [*self.entries, entry][-size:]

    def is_due(self, steps: int, every: int) -> bool:
        return not self.entries or steps - self.entries[-1].steps >= every

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(entry) for entry in self.entries]

    @classmethod
    def from_json(cls, entries: list[dict[str, Any]]) -> Ring:
        return cls([Entry(**entry) for entry in entries])


def target(ring: Ring, settings: HealthConfig, earlier_in_turn: int) -> Entry:
    """The newest healthy state, else some back, else the oldest; from the second time in a turn on its start."""
    entries = ring.entries
    if earlier_in_turn >= 1:
        starts = [entry for entry in entries if entry.is_turn_start]
        if starts:
            return starts[-1]
    healthy = [entry for entry in entries if entry.is_healthy]
    if healthy:
        return healthy[-1]
    return entries[-min(BACK, len(entries))]


@dataclass
class Tally:
    """How often roles went back."""

    in_turn: int = 0
    in_run: int = 0
    since_healthy: int = 0  # since the last evaluation that found both roles well
    halvings: int = 0


class Measure(NamedTuple):
    """What is done about a sick role."""

    rollback: bool
    bilateral: bool
    halve: bool  # turn length and learning rate
    level_down: bool
    stop: bool
    because: str


def escalate(settings: HealthConfig, tally: Tally, steps_since_last: int) -> Measure:
    """The next measure: one role, both, slower, easier, and in the end none: the run is unstable."""
    none = Measure(False, False, False, False, False, "")
    if tally.in_turn > 0 and steps_since_last < settings.cooldown:
        return none._replace(because=f"{steps_since_last} of {settings.cooldown} steps of cooldown are over")
    if tally.in_turn >= MOST_PER_TURN:
        return none._replace(because=f"{tally.in_turn} times in this turn is the most allowed")
    number = tally.since_healthy + 1
    if tally.in_run >= settings.max_per_run or number >= 5:
        return none._replace(stop=True, because=f"unstable: {tally.in_run} rollbacks, {number - 1} without recovery")
    return Measure(
        rollback=True,
        bilateral=settings.bilateral or number >= 2,
        halve=number >= 3,
        level_down=number >= 4,
        stop=False,
        because=f"number {number} since the last healthy evaluation",
    )


def count(tally: Tally, measure: Measure) -> None:
    tally.in_turn += 1
    tally.in_run += 1
    tally.since_healthy += 1
    tally.halvings += measure.halve

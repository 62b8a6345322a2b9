"""What self-play remembers besides arrays: turns, standings, rings, pools. One value that goes to JSON and back."""

from __future__ import annotations

import dataclasses
import math
import types
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.selfplay.health import Pulse
from holdfast.selfplay.league import Pool
from holdfast.selfplay.levels import Standing
from holdfast.selfplay.rollback import Ring, Tally
from holdfast.selfplay.rota import Rota

# what 0.1 also wrote; `old_names.py` refuses the options that gave it a meaning
GONE = frozenset(
    ["challenged_at", "generation", "born_at", "sharpen_at", "partner_steps", "has_chosen", "outside_streak"]
)
GONE_FROM_SIDES = frozenset({"stood"})


@dataclass
class Milestone:
    """A role as it was at an evaluation."""

    hash: str
    steps: int
    iteration: int
    level: int
    rate: float  # its share of wins then


@dataclass
class SideBook:
    """What is remembered of one role."""

    steps: int = 0  # agent-steps it learned from
    turns: int = 0
    cold_steps: int = 0  # of them in the exercise
    pulse: Pulse = field(default_factory=Pulse)
    ring: Ring = field(default_factory=Ring)
    pool: Pool = field(default_factory=lambda: Pool(0))
    milestones: list[Milestone] = field(default_factory=list)
    rollbacks: int = 0
    rolled_back_at: int = 0  # its steps then
    is_stuck: bool = False  # for the rest of the turn it meets players it can beat
    restart_next: bool = True  # its episodes begin anew with its next turn, as after a change of level
    sight: float | None = None  # share of full sight its episodes were last planned with
    collapses: int = 0  # evaluations in a row below health.collapse_threshold
    born_at: int = 0  # its steps when its round anew began
    inherited: int = 0  # agent-steps of challengers whose weights it went on with

    @property
    def own_steps(self) -> int:
        """Agent-steps its weights have learned from."""
        return self.steps - self.born_at + self.inherited


@dataclass
class TurnBook:
    """The turn that goes on."""

    number: int
    roles: list[int]
    reason: str
    stage: str  # exercise, warm or play
    rollouts: int
    left: int
    lr_scale: float
    full_sight: float


@dataclass
class Book:
    """Everything that decisions rest on."""

    sides: list[SideBook] = field(default_factory=lambda: [SideBook(), SideBook()])
    rota: Rota = field(default_factory=Rota)
    standing: Standing = field(default_factory=Standing)
    tally: Tally = field(default_factory=Tally)
    turn: TurnBook | None = None
    turns: int = 0
    played: int = 0  # turns that were neither an exercise nor a warm start
    play_steps: int = 0  # agent-steps that were learned from in them
    gap: float | None = None  # balance gap of the last evaluation
    evaluated_at: int = 0  # iteration
    candidate_streak: int = 0  # evaluations in a row at the top that found a candidate
    tested_at: int = 0  # iteration of the last best-response test
    rounds: int = 0  # further ones that were given to a pair which did not pass
    mended: int = 0  # those in which it learned on, since it began
    shift: int = 0  # iterations by which the run is ahead of its schedules, which rounds repeat
    finish_at: int | None = None  # iteration of the schedules from which the first role learns alone
    has_finished: bool = False  # it won often enough before its time was over
    warm_next: bool = False  # the next turn is a warm start
    outcome: str | None = None  # converged or unstable
    because: str = ""

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Book:
        """Also one that an earlier version wrote, without what it held of mechanisms that are gone."""
        sides = [_without(side, GONE_FROM_SIDES) for side in table["sides"]]
        return revived(cls, {**_without(table, GONE), "sides": sides})

    def hashes(self) -> set[str]:
        """Frozen policies that decisions may still ask for."""
        found: set[str] = set()
        for side in self.sides:
            found |= {entry.hash for entry in side.ring.entries}
            found |= {member.hash for member in side.pool.members}
            found |= {milestone.hash for milestone in side.milestones}
        return found


def _without(table: Any, names: frozenset[str]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise TypeError(f"expected a table, not {table!r}")
    return {name: value for name, value in table.items() if name not in names}


def revived(kind: Any, value: Any) -> Any:
    """A value of this type from what `dataclasses.asdict` and JSON made of it; TypeError or ValueError for others."""
    if get_origin(kind) is types.UnionType:
        if value is None and type(None) in get_args(kind):
            return None
        return revived(next(part for part in get_args(kind) if part is not type(None)), value)
    if get_origin(kind) is list:
        return [revived(get_args(kind)[0], item) for item in _of_type(list, value)]
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: revived(hints[name], item) for name, item in _of_type(dict, value).items()})  # type: ignore[operator]
    if kind is float:
        number = float(_of_type((int, float), value))
        if not math.isfinite(number):
            raise ValueError(f"{number} is no finite number")
        return value
    return _of_type(kind, value) if kind in (int, bool, str) else value


def _of_type(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r:.40} is not of type {kind}")
    return value

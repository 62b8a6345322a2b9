"""What self-play remembers besides arrays: turns, standings, rings, pools. One value that goes to JSON and back."""

from __future__ import annotations

import dataclasses
import types
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.selfplay.health import Pulse
from holdfast.selfplay.league import Pool
from holdfast.selfplay.levels import Standing
from holdfast.selfplay.rollback import Ring, Tally
from holdfast.selfplay.rota import Rota


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
    born_at: int = 0  # its steps when its generation began
    inherited: int = 0  # agent-steps of challengers whose weights it went on with
    stood: str | None = None  # hash of what the other role meets instead of the newest, while both sharpen

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
    gap: float | None = None  # balance gap of the last evaluation
    evaluated_at: int = 0  # iteration
    candidate_streak: int = 0  # evaluations in a row at the top that found a candidate
    outside_streak: int = 0  # evaluations in a row with one role hopeless
    tested_at: int = 0  # iteration of the last best-response test
    rounds: int = 0  # further ones that were given to a pair which did not pass
    mended: int = 0  # those in which it learned on, since it began
    shift: int = 0  # iterations by which the run is ahead of its schedules, which rounds repeat
    challenged_at: int = 0  # iteration of the last challengers
    generation: int = 0
    born_at: int = 0  # iteration of the schedules at which it began, as in the next two lines
    sharpen_at: int | None = None  # from when each role learns against what the other was then
    finish_at: int | None = None  # from when the first role learns alone
    has_finished: bool = False  # it won often enough before its time was over
    partner_steps: int = 0  # agent-steps that partners of the first role learned from
    has_chosen: bool = False  # the first role is the best of its learners, and partners learn no more
    warm_next: bool = False  # the next turn is a warm start
    outcome: str | None = None  # converged or unstable
    because: str = ""

    @property
    def is_ending(self) -> bool:
        """The last generation has had its time; who learns now learns as a challenger does."""
        return self.sharpen_at is not None or self.finish_at is not None

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Book:
        return revived(cls, table)

    def hashes(self) -> set[str]:
        """Frozen policies that decisions may still ask for."""
        found: set[str] = set()
        for side in self.sides:
            found |= {entry.hash for entry in side.ring.entries}
            found |= {member.hash for member in side.pool.members}
            found |= {milestone.hash for milestone in side.milestones}
            found |= {side.stood} if side.stood is not None else set()
        return found


def revived(kind: Any, value: Any) -> Any:
    """A value of this type from what `dataclasses.asdict` and JSON made of it."""
    if value is None:
        return None
    if get_origin(kind) is types.UnionType:
        return revived(next(part for part in get_args(kind) if part is not type(None)), value)
    if get_origin(kind) is list:
        return [revived(get_args(kind)[0], item) for item in value]
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: revived(hints[name], item) for name, item in value.items()})  # type: ignore[operator]
    return value

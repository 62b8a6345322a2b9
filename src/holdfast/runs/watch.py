"""What a running loop tells whoever watches it, and how a run ended. The loop knows no view, only this."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from holdfast.config.sections import Config
from holdfast.kit.timing import Clock
from holdfast.rollout.evaluate import Summary
from holdfast.runs.folder import RunFolder
from holdfast.runs.hints import Hint
from holdfast.state import Counts, State


class RoleProgress(NamedTuple):
    """One role of a self-play run: its wins over the health window, and how it fares."""

    name: str
    learns: bool  # in this turn
    wins: int
    duels: int
    steps: int  # it has learned from
    pool: int  # earlier policies of it that others meet
    rollbacks: int
    condition: str  # as the health monitor last saw it


class DuelProgress(NamedTuple):
    """Where a self-play run stands."""

    turn: int
    stage: str  # exercise, warm or play
    level: str
    roles: tuple[RoleProgress, ...]


@dataclass(frozen=True)
class Progress:
    """One iteration, for whoever watches."""

    counts: Counts
    metrics: dict[str, float | int]
    agent_steps_per_s: float
    clock: Clock
    hints: list[Hint]
    duel: DuelProgress | None = None  # in self-play


@dataclass(frozen=True)
class Result:
    """How a run ended: the policy on held-out episodes beside the policies that need no learning."""

    outcome: str  # finished, solved or interrupted
    counts: Counts
    score_name: str
    scores: dict[str, Summary]  # learned first
    elapsed_s: float  # of all processes that the run went through
    agent_steps_per_s: float
    peak_memory_mb: float
    phases: dict[str, float]  # share of the time
    curriculum: dict[str, object]  # the gate's level at the end, where there is a gate
    exit_status: int
    certificate: dict[str, Any] | None = None  # the best-response test of self-play, if there was one

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "scores": {name: found._asdict() for name, found in self.scores.items()}}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Result:
        """The reverse; KeyError or TypeError if it is none."""
        scores = {name: Summary(**values) for name, values in found["scores"].items()}
        return Result(**{**found, "scores": scores, "counts": Counts(**found["counts"])})


class Watch(Protocol):
    """What a view of a running loop answers to."""

    def started(self, config: Config, run: RunFolder, state: State, notes: list[str]) -> None: ...
    def iteration(self, progress: Progress) -> None: ...
    def evaluated(self, iteration: int, scores: dict[str, Summary]) -> None: ...
    def decided(self, kind: str, iteration: int, facts: Mapping[str, Any]) -> None: ...
    def finished(self, run: RunFolder, result: Result) -> None: ...


def peak_memory_mb() -> float:
    """Of this process, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

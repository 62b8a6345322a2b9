"""What the loop asks of a curriculum: plan the next rollout, observe what came of it, judge an evaluation.

This one asks for nothing: every lane spawns as its world likes, every role follows its schedules. All that a curriculum
remembers goes through `facts` and `arrays` into every checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from holdfast.learner.schedules import Pace, pace
from holdfast.learner.update import Learned
from holdfast.rollout.collect import Deal
from holdfast.rollout.evaluate import Summary
from holdfast.rollout.seat import Seat
from holdfast.worlds.api import Act, Episodes, World

if TYPE_CHECKING:
    from holdfast.run import Run

Numbers = dict[str, float | int]


class Tell(Protocol):
    """How whatever decides or watches tells the run's events."""

    def __call__(self, kind: str, /, **facts: object) -> None: ...


class Append(Protocol):
    """How a curriculum appends a line to one of its streams."""

    def __call__(self, stream: str, line: Mapping[str, Any]) -> None: ...


class Plan(NamedTuple):
    """What the next rollout does."""

    seats: tuple[Seat, ...]  # who collects, in this order
    paces: Mapping[str, Pace]  # how each role learns from it
    deal: Deal | None = None  # puts situations into lanes whose episodes have just begun
    is_strict: bool = True  # a number that is not finite ends the run


class Played(NamedTuple):
    """What a seat did in an iteration."""

    seat: Seat
    episodes: Episodes | None
    learned: dict[str, Learned]  # by role


class Evaluated(NamedTuple):
    """An evaluation of an ordinary run, and what it was played under."""

    episodes: Episodes
    settings: Any
    make_act: Callable[[World], Act]  # the same policy, for further episodes
    policy: str  # a fingerprint of the weights
    row: Mapping[str, float | int] = {}


class Ending(NamedTuple):
    """The last word on a run."""

    outcome: str
    scores: dict[str, Summary]  # learned first
    facts: Mapping[str, Any]  # for the event
    exit_status: int = 0
    certificate: dict[str, Any] | None = None  # the best-response test of self-play, if there was one


class Judge(Protocol):
    """How a run is evaluated."""

    def begin(self, run: Run) -> None:
        """Before the first iteration, or after a resume."""

    def evaluate(self, run: Run) -> Any:
        """Play the policy as it is now, keep the episodes, tell the result; its `row` is logged."""

    def conclude(self, run: Run) -> Ending:
        """The run is over: evaluate it on episodes by which nothing was decided."""

    def score_name(self, run: Run) -> str: ...


class Curriculum:
    """Leaves the world as it is."""

    streams: tuple[str, ...] = ()  # files it appends lines to; cut back when the run resumes
    needs_its_lanes = False  # it cannot go on with fresh ones

    def begin(self, run: Run, is_new: bool) -> list[str]:
        """Before the first plan, with what it remembers restored; notes for the user."""
        return []

    def plan(self, run: Run) -> Plan:
        now = pace(run.config.learner, run.state.counts.iteration, run.config.run.iterations)
        return Plan(tuple(run.state.seats.values()), dict.fromkeys(run.state.learners, now))

    def observe(self, run: Run, played: Sequence[Played], row: Numbers) -> Numbers:
        """After the updates; `row` has the iteration's metrics so far, the result what else should be logged."""
        return {}

    def evaluation_is_due(self, run: Run) -> bool:
        return run.is_due(run.config.evaluation.every)

    def judge(self, run: Run, found: Any) -> Numbers:
        """Decide what follows from an evaluation; what should be logged of it."""
        return {}

    def is_done(self, run: Run) -> bool:
        return run.state.counts.solved or run.state.counts.iteration >= run.config.run.iterations

    def goes_on(self, run: Run) -> bool:
        """When it is done: whether there is another phase, which this begins."""
        return False

    @property
    def improved(self) -> bool:
        """Whether the last evaluation was the best by the curriculum's own measure, and must be kept."""
        return False

    def conclude(self, found: Evaluated) -> None:
        """The run has ended with this final evaluation."""

    def outcome(self) -> dict[str, Any]:
        """What the result of the run should say of it."""
        return {}

    def progress(self, run: Run) -> Any:
        """Where self-play stands, for whoever watches."""
        return None

    # --- what it remembers -------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """By names of its own."""
        return {}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what `facts` and `arrays` gave."""

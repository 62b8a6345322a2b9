"""What the training loop asks of a curriculum. This one asks for nothing: every lane spawns as its world likes.

A curriculum sets levels before an iteration, may put situations into lanes that just reset, and reads evaluations.
All it remembers goes through `facts` into every checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from holdfast.learner.learner import Learner
from holdfast.learner.schedules import Pace
from holdfast.rollout.collect import Deal
from holdfast.worlds.api import Act, Episodes, World

Numbers = dict[str, float | int]


class Tell(Protocol):
    """How whatever decides or watches tells the run's events."""

    def __call__(self, kind: str, /, **facts: object) -> None: ...


class Append(Protocol):
    """How a curriculum appends a line to one of its streams."""

    def __call__(self, stream: str, line: Mapping[str, Any]) -> None: ...


class Curriculum:
    """Leaves the world as it is."""

    deal: Deal | None = None
    streams: tuple[str, ...] = ()  # files it appends lines to; cut back when the run resumes

    def open(self, world: World) -> list[str]:
        """Read what it needs from disk, before the run begins or goes on; notes for the user."""
        return []

    def meet(self, learners: Mapping[str, Learner]) -> None:
        """Who learns in this run, before the first update; it may add to their gradients."""

    def begin(self, world: World) -> None:
        """A new run is about to take its first step; the world has been reset."""

    def prepare(self, world: World, iteration: int) -> np.ndarray:
        """Before the iteration's first step; the lanes that were restarted, whose earlier episodes are truncated."""
        return np.empty(0, np.int64)

    def paced(self, pace: Pace) -> Pace:
        """What the coming update learns with, from what the schedules say."""
        return pace

    def learned(self, iteration: int, episodes: Episodes | None, learner: Mapping[str, float | int]) -> Numbers:
        """After the iteration's update, with its ended episodes and the learner's statistics."""
        return {}

    def evaluation_settings(self, settings: Any) -> Any:
        """The settings the next evaluation is played under."""
        return settings

    def watching(self, act: Act, world: World) -> Act:
        """The policy of an evaluation during the run, wrapped if its episodes are to be written down."""
        return act

    def judge(
        self, iteration: int, episodes: Episodes, settings: Any, make_act: Callable[[World], Act], policy: str
    ) -> Numbers:
        """After an evaluation; what else should be logged of it. `policy` is a fingerprint of the weights."""
        return {}

    @property
    def improved(self) -> bool:
        """Whether the last evaluation was the best by the curriculum's own measure, and must be kept."""
        return False

    @property
    def exhausted(self) -> bool:
        """Whether the run should end because there is nothing left to train on."""
        return False

    def facts(self) -> dict[str, Any]:
        """All it remembers, as JSON."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """What it remembers as arrays, by names of its own."""
        return {}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what `facts` and `arrays` gave."""

    def conclude(self, episodes: Episodes, settings: Any) -> None:
        """The run has ended with this final evaluation."""

    def outcome(self) -> dict[str, Any]:
        """What the result of the run should say of it."""
        return {}

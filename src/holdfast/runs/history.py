"""What hints are judged by: the newest rows of metrics, the first ones, and how fast the run was in its first quarter.

Built row by row during a run, or from the streams of a run that is resumed; both give the same.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.config.sections import Config
from holdfast.worlds.api import WorldSpec
from holdfast.worlds.spaces import Actions, Discrete, MultiDiscrete

NEWEST, FIRST, NEWEST_SPEEDS = 256, 20, 20
WORKING = ("collect", "act", "world", "learn", "wait")  # phases whose speed is compared

Row = Mapping[str, Any]


class Facts(NamedTuple):
    """What was decided before the run."""

    iterations: int
    rollout_steps: int
    base_lr: float
    lr_restart: float  # share of the run, at its end, when the rate has risen again
    max_grad_norm: float
    max_entropy: dict[str, float]  # nats, per role that chooses among a number of actions
    roles: tuple[str, ...]
    score: str

    @staticmethod
    def of(config: Config, spec: WorldSpec) -> Facts:
        limits = {role.name: most_entropy(role.actions) for role in spec.roles}
        return Facts(
            iterations=config.run.iterations,
            rollout_steps=config.rollout.steps,
            base_lr=config.learner.lr,
            lr_restart=config.learner.lr_restart,
            max_grad_norm=config.learner.max_grad_norm,
            max_entropy={name: limit for name, limit in limits.items() if limit is not None},
            roles=tuple(role.name for role in spec.roles),
            score=spec.score,
        )


def most_entropy(actions: Actions) -> float | None:
    """Of a policy that has no idea; there is no such limit for continuous actions."""
    match actions:
        case Discrete(n):
            return math.log(n)
        case MultiDiscrete(counts):
            return sum(math.log(count) for count in counts)
    return None


@dataclass
class History:
    """The rows a hint may look at."""

    facts: Facts
    random_score: float | None = None  # of the random yardstick on the seeds used during the run
    newest: deque[Row] = field(default_factory=lambda: deque(maxlen=NEWEST))
    first: list[Row] = field(default_factory=list)
    speeds: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST_SPEEDS))
    early_steps: float = 0.0
    early_s: float = 0.0
    agent_steps: int = 0

    def add(self, metrics: Row, timing: Row) -> None:
        spent_s = sum(timing.get(f"phase.{name}_s", 0.0) for name in WORKING)
        acted = metrics["agent_steps"] - self.agent_steps
        self.agent_steps = metrics["agent_steps"]
        if spent_s > 0.0:
            self.speeds.append(acted / spent_s)
            if 1 < metrics["iteration"] <= self.facts.iterations / 4:  # the first one compiles
                self.early_steps += acted
                self.early_s += spent_s
        if len(self.first) < FIRST:
            self.first.append(metrics)
        self.newest.append(metrics)

    @property
    def iteration(self) -> int:
        return int(self.newest[-1]["iteration"]) if self.newest else 0

    @property
    def share(self) -> float:
        """Of the run that is over."""
        return self.iteration / self.facts.iterations

    def now(self, name: str) -> float | None:
        """The value in the newest row, if it was measured there."""
        value = self.newest[-1].get(name) if self.newest else None
        return None if value is None else float(value)

    def last(self, name: str) -> float | None:
        """The newest value there is; for what is not measured in every iteration."""
        return next((float(row[name]) for row in reversed(self.newest) if name in row), None)

    def column(self, name: str, rows: int) -> list[float] | None:
        """The last so many values up to the newest row, or nothing unless there are as many."""
        if not self.newest or name not in self.newest[-1]:
            return None
        found: list[float] = []
        for row in reversed(self.newest):
            if name in row:
                found.append(float(row[name]))
                if len(found) == rows:
                    return found[::-1]
        return None

"""Bootstrap: when a run makes no ground at all, lanes are forced forward for a while. Pure: logs in, orders out.

Three rules, each at most once per run: `auto` after a given update without any distance, `adaptive` after so many logs
in a row without any, `secondary` when the furthest point has not moved for a while. That rule never judges by its own
first log: it needs a best mark from before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from holdfast.config.options import MORE_THAN_0, option
from holdfast.kit.errors import ConfigError

SECONDARY = ("bootstrap.secondary_threshold", MORE_THAN_0)
BUNDLE = {  # what `bootstrap.enabled` fills in where nothing else was said
    "world.distance_weight": 0.12,
    "world.scale_start": 0.25,
    "world.scale_final": 0.12,
    "world.scale_anneal": 80_000,
    "world.script": "RIGHT+B:240,RIGHT+A+B:60",
    "world.probe_steps": 24,
    "bootstrap.auto_threshold": 120,
    "bootstrap.auto_steps": 1024,
}


@dataclass(frozen=True)
class BootstrapRules:
    """Lanes are forced forward for a while when a run makes no ground; 0 turns a rule off."""

    expert: ClassVar = True

    enabled: bool = option(
        False,
        "Fill in a script, a probe, larger initial rewards and the rule auto, each unless it is set. For stages "
        "where random play makes no progress.",
    )
    auto_threshold: int = option(
        0,
        "Iteration from which one without any new ground forces all lanes forward, once; 0 disables.",
        low=0,
        unit="iterations",
        example="120",
    )
    auto_steps: int = option(0, "Duration of that forcing.", low=0, unit="steps", example="1024")
    adaptive_logs: int = option(
        0,
        "Number of iterations in a row without new ground that force all lanes forward, once; 0 disables.",
        low=0,
        unit="iterations",
        example="20",
    )
    adaptive_steps: int = option(0, "Duration of that forcing.", low=0, unit="steps", example="512")
    secondary_threshold: int = option(
        0,
        "Iteration from which a furthest point that no longer moves forces some lanes forward, once; 0 disables.",
        low=0,
        unit="iterations",
        example="200",
    )
    secondary_patience: int = option(
        20,
        "Number of iterations that the furthest point must not move.",
        low=1,
        only=SECONDARY,
        unit="iterations",
    )
    secondary_steps: int = option(0, "Duration of that forcing.", low=0, unit="steps", example="512")
    secondary_share: float = option(0.5, "Fraction of the lanes that are forced.", low=0.0, high=1.0, only=SECONDARY)

    @property
    def on(self) -> bool:
        return self.auto_threshold > 0 or self.adaptive_logs > 0 or self.secondary_threshold > 0

    def problems(self) -> list[str]:
        found = []
        for rule in ("auto", "secondary"):
            if (getattr(self, f"{rule}_threshold") > 0) != (getattr(self, f"{rule}_steps") > 0):
                found.append(f"bootstrap.{rule}_threshold and {rule}_steps act only together: set both, or none")
        if (self.adaptive_logs > 0) != (self.adaptive_steps > 0):
            found.append("bootstrap.adaptive_logs and adaptive_steps act only together: set both, or none")
        if not 0.0 < self.secondary_share <= 1.0:
            found.append(f"bootstrap.secondary_share = {self.secondary_share}: a share above 0, at most 1")
        return found


@dataclass(frozen=True)
class Log:
    """What a log of the run says about progress."""

    update: int
    distance_px: float  # new ground of all lanes since the last log
    positive_share: float  # of lanes with new ground
    best_x: int  # furthest point of the run


@dataclass(frozen=True)
class BootstrapState:
    """What the rules remember: part of a run's state."""

    auto_done: bool = False
    adaptive_done: bool = False
    secondary_done: bool = False
    empty_logs: int = 0  # in a row
    best_x: int | None = None
    still_logs: int = 0  # since best_x grew


@dataclass(frozen=True)
class Order:
    """Force this share of the lanes forward for so many steps."""

    rule: str
    steps: int
    share: float


def checked(rules: BootstrapRules) -> BootstrapRules:
    problems = rules.problems()
    if problems:
        raise ConfigError(problems)
    return rules


def after_log(rules: BootstrapRules, state: BootstrapState, log: Log) -> tuple[BootstrapState, list[Order]]:
    """The state after a log, and what it orders."""
    empty = log.distance_px == 0.0 and log.positive_share == 0.0
    further = state.best_x is None or log.best_x > state.best_x
    state = replace(
        state,
        empty_logs=state.empty_logs + 1 if empty else 0,
        best_x=log.best_x if further else state.best_x,
        still_logs=0 if further else state.still_logs + 1,
    )
    orders = []
    if empty and not state.auto_done and 0 < rules.auto_threshold <= log.update:
        orders.append(Order("auto", rules.auto_steps, 1.0))
        state = replace(state, auto_done=True)
    if not state.adaptive_done and 0 < rules.adaptive_logs <= state.empty_logs:
        orders.append(Order("adaptive", rules.adaptive_steps, 1.0))
        state = replace(state, adaptive_done=True)
    patient = state.still_logs >= rules.secondary_patience
    if patient and not state.secondary_done and 0 < rules.secondary_threshold <= log.update:
        orders.append(Order("secondary", rules.secondary_steps, rules.secondary_share))
        state = replace(state, secondary_done=True)
    return state, orders

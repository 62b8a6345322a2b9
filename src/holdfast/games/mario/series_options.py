"""The options of a series of runs, a policy for each stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.config.options import option

SERIES = ("series.enabled", (True,))


@dataclass(frozen=True)
class SeriesConfig:
    """Several runs, one after the other: a policy for each stage of a game."""

    enabled: bool = option(False, "one run for each of world.stages, in their order; done again, it goes on")
    rounds: int = option(2, "runs that a stage may have until one reaches the goal", low=1, high=20, only=SERIES)
    growth: float = option(
        2.0, "length of a stage's next run, as a multiple of its last", low=1.0, high=8.0, only=SERIES
    )
    goal: float = option(0.9, "share of cleared episodes with which a stage is solved", low=0.0, high=1.0, only=SERIES)
    episodes: int = option(100, "held-out episodes that each policy is judged on", low=1, only=SERIES)
    go_on: bool = option(
        True, "a stage's next run begins with its best policy, if that cleared the stage at all", only=SERIES
    )
    results: str = option("", "folder of the table and the weights; empty: beside the runs", only=SERIES)
    stages: dict[str, Any] = option(
        {}, 'options of single stages, as {"8-4": {"world.actions": "complex"}}', only=SERIES
    )

"""The options of a series of runs, a policy for each stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast.config.options import option

SERIES = ("series.enabled", (True,))


@dataclass(frozen=True)
class SeriesConfig:
    """Several runs, one after the other: a policy for each stage of a game."""

    expert: ClassVar = True

    enabled: bool = option(
        False,
        "Train one policy for each of world.stages, one run after the other; the same command resumes the series.",
    )
    rounds: int = option(
        2,
        "Number of runs a stage may have until one reaches series.goal.",
        low=1,
        high=20,
        only=SERIES,
    )
    growth: float = option(
        2.0,
        "Length of a stage's next run as a multiple of its last.",
        low=1.0,
        high=8.0,
        only=SERIES,
    )
    goal: float = option(
        0.9,
        "Fraction of cleared episodes from which a stage counts as solved.",
        low=0.0,
        high=1.0,
        only=SERIES,
    )
    episodes: int = option(100, "Number of held-out episodes that each policy is judged on.", low=1, only=SERIES)
    results: str = option(
        "",
        "Folder of the table and the policies; empty: beside the runs.",
        only=SERIES,
        example="levels",
    )
    stages: dict[str, Any] = option(
        {},
        "Options of single stages.",
        only=SERIES,
        example='{"8-4": {"world.actions": "complex"}}',
    )

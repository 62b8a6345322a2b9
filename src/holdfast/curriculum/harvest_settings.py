"""What is kept of the worst episodes a policy plays, to start later episodes from."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.options import option

HARVEST = ("harvest.enabled", (True,))


@dataclass(frozen=True)
class HarvestSettings:
    """After each evaluation, more episodes on seeds of their own; the worst become situations of a deck."""

    enabled: bool = option(False, "keep the worst situations after each evaluation in the run's decks folder")
    episodes: int = option(20, "episodes played for it", low=1, only=HARVEST)
    worst: int = option(4, "how many of them are looked at", low=1, only=HARVEST)
    before: int = option(20, "steps between the kept moment and the window with most deaths", low=0, only=HARVEST)
    window: int = option(20, "steps of that window", low=1, only=HARVEST)
    least_avoidable: int = option(
        2, "deaths that a better policy could avoid, or the moment is not kept", low=0, only=HARVEST
    )
    per_bin: int = option(
        8, "most situations of one predator heading (30 degrees) and speed (0.4)", low=1, only=HARVEST
    )
    allow_eval: bool = option(False, "harvest the evaluation's own episodes instead; the run is marked", only=HARVEST)

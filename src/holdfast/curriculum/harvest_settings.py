"""What is kept of the worst episodes a policy plays, to start later episodes from."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.options import option


@dataclass(frozen=True)
class HarvestSettings:
    """After each evaluation, more episodes on seeds of their own; the worst become situations of a deck."""

    enabled: bool = option(False, "keep the worst situations after each evaluation in the run's decks folder")
    episodes: int = option(20, "episodes played for it", low=1)
    worst: int = option(4, "how many of them are looked at", low=1)
    before: int = option(20, "steps between the kept moment and the window with most deaths", low=0)
    window: int = option(20, "steps of that window", low=1)
    least_avoidable: int = option(2, "deaths that a better policy could avoid, or the moment is not kept", low=0)
    per_bin: int = option(8, "most situations of one predator heading (30 degrees) and speed (0.4)", low=1)
    allow_eval: bool = option(False, "harvest the evaluation's own episodes instead; the run is marked")

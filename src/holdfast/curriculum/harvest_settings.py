"""What is kept of the worst episodes a policy plays, to start later episodes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.options import option

HARVEST = ("harvest.enabled", (True,))


@dataclass(frozen=True)
class HarvestSettings:
    """After each evaluation, more episodes on seeds of their own; the worst become situations of a deck."""

    expert: ClassVar = True

    enabled: bool = option(
        False,
        "After each evaluation keep the situations before the worst losses in the run's decks folder, for "
        "deck.stages = N:@harvest.",
        expert=False,
    )
    episodes: int = option(20, "Number of episodes that are searched for losses.", low=1, only=HARVEST)
    worst: int = option(4, "Number of worst episodes that situations are taken from.", low=1, only=HARVEST)
    allow_eval: bool = option(
        False,
        "Harvest the evaluation's own episodes instead of others. The run is marked, as its scores are no longer "
        "held out.",
        only=HARVEST,
    )

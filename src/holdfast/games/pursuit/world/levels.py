"""The levels of both curricula as plans: a table of six, or a smooth widening of the distance at the start.

Every distance is cut to what the arena can hold, so one curriculum serves arenas of any size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from holdfast.games.pursuit.world.checks import diagonal
from holdfast.games.pursuit.world.duel import FARTHEST_START
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.worlds.api import Plan

DISCRETE = ((2.0, 5.0, 0), (5.0, 15.0, 0), (2.0, 5.0, 3), (5.0, 8.0, 3), (5.0, 12.0, 3), (2.0, 15.0, 3))
NEAREST_CUT = 0.4  # of the farthest start: what a least distance is cut to in a small arena
NEAR = 2.0  # m, least distance of the smooth levels


class Level(NamedTuple):
    """One level of a curriculum."""

    spawn_min: float
    spawn_max: float
    obstacles: int

    def plan(self) -> Plan:
        return Plan(dict(zip(self._fields, map(float, self), strict=True)))

    def __str__(self) -> str:
        circles = "no circles" if self.obstacles == 0 else f"{self.obstacles} circles"
        return f"{self.spawn_min:g}-{self.spawn_max:g} m, {circles}"


def farthest(settings: PursuitSettings) -> float:
    return FARTHEST_START * diagonal(settings)


def discrete_levels(settings: PursuitSettings) -> list[Level]:
    """From near without circles to anywhere among three."""
    most = farthest(settings)
    return [Level(min(near, NEAREST_CUT * most), min(far, most), circles) for near, far, circles in DISCRETE]


class Widening(NamedTuple):
    """How the smooth levels grow."""

    increment: float = 0.5  # m, of the largest distance from level to level
    start_max: float = 5.0
    final_max: float = 15.0
    obstacles_from: float = 8.0  # m, largest distance from which on there are all circles
    obstacles: int = 3
    obstacles_before: int = 0


def smooth_levels(settings: PursuitSettings, widening: Widening | None = None) -> list[Level]:
    """Level 0 is the nearest; the last one has the largest distance the arena or the widening allows."""
    by = widening or Widening()
    top = min(by.final_max, farthest(settings))
    count = max(math.ceil((top - by.start_max) / by.increment - 1e-9), 0)
    reaches = [min(by.start_max + by.increment * index, top) for index in range(count + 1)]
    return [Level(NEAR, far, by.obstacles if far >= by.obstacles_from else by.obstacles_before) for far in reaches]

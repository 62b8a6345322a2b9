"""The 32 stages: their names, patterns of names, and what the game's RAM must say when one has just begun."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.games.mario.world.errors import StageError
from holdfast.kit.errors import nearest

WORLDS, LEVELS = 8, 4
STAGES = tuple(f"{world}-{level}" for world in range(1, WORLDS + 1) for level in range(1, LEVELS + 1))
NUMBER = {name: number for number, name in enumerate(STAGES)}

WITH_INTRO = (1, 2, 4, 7)  # worlds whose second level begins with a walk into a pipe, an area of its own
LONG_CLOCK = frozenset(
    ["1-1", "1-2", "2-1", "2-2", "3-1", "4-1", "4-2", "4-4", "5-2", "6-1", "6-2", "7-1", "7-2", "7-4", "8-2", "8-4"]
)
WATER, GROUND, UNDERGROUND, CASTLE = range(4)
START_Y = {WATER: 50, UNDERGROUND: 51, CASTLE: 80, GROUND: 176}
START_X = 40
START_LIVES = 2


class Stage(NamedTuple):
    """A stage as numbers, and what holds when the player first has control in it."""

    world: int  # 1 to 8
    level: int  # 1 to 4
    area: int  # the game's index inside the world, from 1: not the level
    clock: int
    area_type: int
    y: int


def stage(number: int) -> Stage:
    world, level = number // LEVELS + 1, number % LEVELS + 1
    area = level + (world in WITH_INTRO and level >= 2)
    kind = area_type(STAGES[number])
    return Stage(world, level, area, 400 if STAGES[number] in LONG_CLOCK else 300, kind, START_Y[kind])


def area_type(name: str) -> int:
    if name in ("2-2", "7-2"):
        return WATER
    if name in ("1-2", "4-2"):
        return UNDERGROUND
    return CASTLE if name.endswith("-4") else GROUND


def read_stages(text: str) -> tuple[int, ...]:
    """Stage numbers 0 to 31 of a list like `1-1,1-3`, with `1-*` for a world, `*-4` for all castles, or `all`."""
    found: dict[int, None] = {}
    for part in text.split(","):
        for number in _matching(part.strip(), text):
            found[number] = None
    return tuple(found)


def _matching(part: str, text: str) -> list[int]:
    if part == "all":
        return list(range(len(STAGES)))
    world, dash, level = part.partition("-")
    numbers = [NUMBER[name] for name in STAGES if dash and _fits(world, name[0]) and _fits(level, name[2])]
    if not numbers:
        raise StageError(
            f"stages = {text!r}: {part!r} is no stage{nearest(part, list(STAGES))}; there are 1-1 to 8-4, 1-* for a "
            "whole world, *-4 for all castles, and all"
        )
    return numbers


def _fits(pattern: str, digit: str) -> bool:
    return pattern in ("*", digit)

"""Worlds on the project's own cartridge, and a bot that knows where its pits and its enemy are."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.own_cartridge import PIT_X
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.worlds.api import Episodes

RUN = BITS["RIGHT"] | BITS["B"]
JUMP = RUN | BITS["A"]
TAKE_OFF = range(PIT_X - 44, PIT_X - 8)


def own_world(lanes: int = 1, seed: int = 1, threads: int = 1, **options: Any) -> Mario:
    chosen = {"rom": "own", "noop_max": 0, "actions": "complex", **options}
    world = Mario(MarioSettings(**chosen), lanes, seed, threads)
    world.reset()
    return world


def press(world: Mario, buttons: int) -> None:
    world.step({"player": np.full((world.lanes, 1), world.buttons.index(buttons), np.int64)})


def bot(row: np.ndarray) -> int:
    """Buttons that bring the player through the level."""
    x, air = int(facts.x(row)), int(facts.air_state(row))
    enemy = int(row[facts.SLOT_X_PAGE]) * 256 + int(row[facts.SLOT_X]) - x
    near = 0 < enemy < 70 and row[facts.SLOT_ACTIVE] and not row[facts.SLOT_STATE] & 0x20
    wants = x % 512 in TAKE_OFF or near
    return JUMP if wants or air == 1 else RUN


def played(world: Mario, most: int = 3000) -> Episodes:
    """Let the bot play lane 0 to its end."""
    for _ in range(most):
        press(world, bot(world.state.console[0]))
        if world.terminated[0] or world.truncated[0]:
            return world.finished()
    raise AssertionError("no end")


def held(world: Mario, buttons: int, most: int = 3000) -> Episodes:
    """Hold the same buttons until lane 0 ends."""
    for _ in range(most):
        press(world, buttons)
        if world.terminated[0] or world.truncated[0]:
            return world.finished()
    raise AssertionError("no end")

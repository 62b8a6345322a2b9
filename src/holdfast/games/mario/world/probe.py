"""Probing: which action moves the player furthest in a few steps from the start, tried on lanes of their own."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import buttons_name, read_actions
from holdfast.games.mario.world.settings import MarioSettings


class Probed(NamedTuple):
    """One action held for some steps."""

    action: int
    buttons: str
    pixels: int  # to the right; 0 if the episode ended on the way


def probe(settings: MarioSettings) -> list[Probed]:
    """Every action from the first stage's start, best first; equal ones in the order of their ids."""
    from holdfast.games.mario.world.mario import Mario

    actions = read_actions(settings.actions, settings.auto_start)
    plain = dataclasses.replace(
        settings, script="", forward_steps=0, probe_steps=0, noop_max=0, sticky=0.0, obs="compact"
    )
    world = Mario(plain, len(actions), seed=0)
    world.reset()
    begin = [int(facts.x(row)) for row in world.state.console]
    going = np.ones(len(actions), bool)
    for _ in range(settings.probe_steps):
        world.step({"player": np.arange(len(actions))[:, None]})
        going &= ~(world.terminated | world.truncated)
    moved = [int(facts.x(row)) - start for row, start in zip(world.state.console, begin, strict=True)]
    found = [
        Probed(action, buttons_name(held), max(0, moved[action]) if going[action] else 0)
        for action, held in enumerate(actions)
    ]
    return sorted(found, key=lambda one: (-one.pixels, one.action))


def best_action(table: list[Probed]) -> int | None:
    """The action that came furthest, if any moved at all."""
    return table[0].action if table and table[0].pixels > 0 else None

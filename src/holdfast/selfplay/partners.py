"""Sparring partners: further learners of the first role, each with first weights of its own.

They learn against what the first role meets, and the second role meets them beside it. A role that knows only one
opponent is open to ways of play that this opponent never came upon; others who look for themselves find some of them
while there is time to learn. Nobody is judged by them, and none is rolled back; in the end the best of them may become
the first role (`choice.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.rng import derive
from holdfast.selfplay.arena import Arena, make_arena
from holdfast.selfplay.rota import FIRST, SECOND
from holdfast.selfplay.side import Side, spare_maker
from holdfast.state import torch_generator
from holdfast.worlds.registry import make_world

PARTNER = 16  # purpose of the generators that draw their first weights; those of generations are 15


class Partner(NamedTuple):
    """One of them, and where it learns."""

    name: str
    side: Side
    arena: Arena


def make_partners(config: Config, rivals: torch.Generator) -> list[Partner]:
    """In worlds whose duels are not those of the roles."""
    found = []
    for number in range(config.duel.partners):
        key = derive(np.uint64(config.run.seed), np.uint64(PARTNER + number))
        threads = config.rollout.threads
        world = make_world(config.world_name, config.world, config.rollout.lanes, int(key >> np.uint64(1)), threads)
        first, second = world.spec.roles[FIRST], world.spec.roles[SECOND]
        side = Side(config, first, FIRST, torch_generator(config.run.seed, PARTNER + 100 * (number + 1)))
        world.reset()
        arena = make_arena(world, side.learner, spare_maker(config, second), config.rollout.steps, rivals)
        found.append(Partner(f"partner-{number + 1}", side, arena))
    return found

"""The world's own exercise, in which a role learns to move before it meets an opponent: same sight, same actions."""

from __future__ import annotations

import dataclasses

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError
from holdfast.kit.rng import derive
from holdfast.worlds.api import World
from holdfast.worlds.registry import make_world

EXERCISE_SEED = 0xC01D


def exercise_world(config: Config, role: str, number: int) -> World:
    """Lanes in which only this role plays, at the world's task of navigation."""
    names = {item.name for item in dataclasses.fields(config.world)}
    if not {"task", "play"} <= names:
        raise ConfigError([f"duel.cold_start = {config.duel.cold_start}: world {config.world_name} has no exercise"])
    settings = dataclasses.replace(config.world, task="navigate", play=role)
    seed = int(derive(np.uint64(config.run.seed), np.uint64(EXERCISE_SEED + number)) >> np.uint64(1))
    return make_world(config.world_name, settings, config.rollout.lanes, seed, config.rollout.threads)

"""Our spaces as Gymnasium's, and the seed of a world changed after its making."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from holdfast.kit.rng import lane_keys
from holdfast.worlds.api import Plan, Role, World
from holdfast.worlds.spaces import Actions, Continuous, Discrete, Grid, MultiDiscrete, Observations


def observation_space(space: Observations) -> gymnasium.spaces.Box:
    dtype: Any = space.dtype.type
    return gymnasium.spaces.Box(space.low, space.high, space.shape, dtype)


def action_space(actions: Actions) -> gymnasium.Space[Any]:
    match actions:
        case Discrete(n):
            return gymnasium.spaces.Discrete(n)
        case MultiDiscrete(counts):
            return gymnasium.spaces.MultiDiscrete(np.asarray(counts))
        case Continuous(low, high) | Grid(low, high, _):
            return gymnasium.spaces.Box(np.asarray(low, np.float32), np.asarray(high, np.float32), dtype=np.float32)


def action_rows(given: Any, role: Role, lanes: int) -> np.ndarray:
    """Actions of other libraries, [rows] or [rows, K], as ours: [N, A] or [N, A, K], clipped to their bounds."""
    if isinstance(role.actions, Discrete):
        return np.asarray(given, np.int64).reshape(lanes, role.agents)
    shape = (lanes, role.agents, len(role.actions))
    if isinstance(role.actions, MultiDiscrete):
        return np.asarray(given, np.int64).reshape(shape)
    low, high = np.asarray(role.actions.low, np.float32), np.asarray(role.actions.high, np.float32)
    return np.clip(np.asarray(given, np.float32).reshape(shape), low, high)


def restart(world: World, seed: int | None, options: Mapping[str, Any] | None) -> None:
    """New episodes in all lanes; with a seed, those of a new world of that seed. `options["level"]` sets the level.

    Other options are left alone: their meaning is between other libraries' wrappers and environments.
    """
    if seed is not None:
        world.clock.lane_key[...] = lane_keys(seed, world.lanes)
        world.clock.episode_index[...] = 0
    level = (options or {}).get("level")
    world.reset(plan=None if level is None else Plan(level))

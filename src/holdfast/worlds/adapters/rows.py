"""A world of one role as rows, one per agent of every lane, for learners that know single agents only.

An agent that dies before its lane ends has one terminated step, then rows of zeros until the lane begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import WorldError
from holdfast.worlds.adapters.spaces import action_rows, restart
from holdfast.worlds.api import Episodes, Role, World


class RowStep(NamedTuple):
    """One step of all rows; every array is a copy, as other libraries keep what they get."""

    obs: np.ndarray  # [rows, ...] where a row ended with its lane: the next episode's first sight
    reward: np.ndarray  # [rows] f32
    terminated: np.ndarray  # [rows] bool
    truncated: np.ndarray  # [rows] bool
    final_obs: np.ndarray  # [rows, ...] of the rows that ended
    alive: np.ndarray  # [rows] bool: will act in the next step
    episodes: Episodes  # of the lanes that ended


class Rows:
    """The view of a world that the single-agent adapters share."""

    def __init__(self, world: World) -> None:
        if len(world.spec.roles) != 1:
            names = ", ".join(role.name for role in world.spec.roles)
            raise WorldError(
                f"{world.spec.name} has the roles {names}: use as_parallel_env, this adapter is for one role"
            )
        self.world = world
        self.role: Role = world.spec.roles[0]
        self.count = world.lanes * self.role.agents

    def _flat(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.count, *array.shape[2:]).copy()

    @property
    def alive(self) -> np.ndarray:
        return self._flat(self.world.roles[self.role.name].alive)

    def reset(self, seed: int | None, options: Mapping[str, Any] | None = None) -> np.ndarray:
        restart(self.world, seed, options)
        return self._flat(self.world.roles[self.role.name].obs)

    def step(self, actions: Any) -> RowStep:
        buffers = self.world.roles[self.role.name]
        acted = buffers.alive.copy()  # [N, A]
        self.world.step({self.role.name: action_rows(actions, self.role, self.world.lanes)})
        cut, over = self.world.truncated[:, None], self.world.terminated[:, None]
        survived = np.where(cut | over, buffers.final_alive, buffers.alive)
        with_lane = (cut | over).reshape(-1, 1, *[1] * len(self.role.observations.shape))
        return RowStep(
            obs=self._flat(buffers.obs),
            reward=self._flat(buffers.reward),
            terminated=self._flat(acted & (over | ~survived)),
            truncated=self._flat(acted & cut & survived),
            final_obs=self._flat(np.where(with_lane, buffers.final_obs, buffers.obs)),
            alive=self.alive,
            episodes=self.world.finished(),
        )

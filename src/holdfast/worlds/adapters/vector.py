"""A world as a Gymnasium vector environment, as Gymnasium 1.x specifies the same-step autoreset mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from holdfast.worlds.adapters.rows import Rows, RowStep
from holdfast.worlds.adapters.spaces import action_space, observation_space
from holdfast.worlds.api import Episodes, World

Infos = dict[str, Any]


class RowsVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Rows are lanes x agents. `infos["alive"]` marks the rows that will act in the next step."""

    def __init__(self, world: World) -> None:
        self.rows = Rows(world)
        self.num_envs = self.rows.count
        self.render_mode = "rgb_array"
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": ["rgb_array"]}
        self.single_observation_space = observation_space(self.rows.role.observations)
        self.single_action_space = action_space(self.rows.role.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Infos]:
        super().reset(seed=seed)
        return self.rows.reset(seed, options), self._alive_info(self.rows.alive)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Infos]:
        step = self.rows.step(actions)
        infos = self._alive_info(step.alive)
        ended = step.terminated | step.truncated
        if ended.any():
            infos |= self._final_infos(step, ended)
        return step.obs, step.reward.astype(np.float64), step.terminated, step.truncated, infos

    def _alive_info(self, alive: np.ndarray) -> Infos:
        return {"alive": alive, "_alive": np.ones(self.num_envs, np.bool_)}

    def _final_infos(self, step: RowStep, ended: np.ndarray) -> Infos:
        """Every key has its mask `_key`; final observations are one object per row that ended."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            final_obs[row] = step.final_obs[row]
        infos: Infos = {"final_obs": final_obs, "_final_obs": ended}
        return infos | {"final_info": self._episode_infos(step.episodes, ended), "_final_info": ended.copy()}

    def _episode_infos(self, episodes: Episodes, ended: np.ndarray) -> Infos:
        """The numbers of the lane's episode, for rows that ended with their lane."""
        lane_of_row = np.arange(self.num_envs) // self.rows.role.agents
        known = ended & np.isin(lane_of_row, episodes["lane"])
        infos: Infos = {}
        for name in self.rows.world.spec.columns:
            by_lane = np.zeros(self.rows.world.lanes)
            by_lane[episodes["lane"]] = episodes[name]
            infos |= {name: np.where(known, by_lane[lane_of_row], 0.0), f"_{name}": known}
        return infos

    def render(self) -> tuple[np.ndarray, ...]:
        """One picture per lane."""
        return tuple(self.rows.world.draw(lane) for lane in range(self.rows.world.lanes))

    def close_extras(self, **kwargs: Any) -> None:
        self.rows.world.close()

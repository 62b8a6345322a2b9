"""A world as a Stable-Baselines3 VecEnv."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from holdfast.worlds.adapters.rows import Rows, RowStep
from holdfast.worlds.adapters.spaces import action_space, observation_space
from holdfast.worlds.api import World

Step = tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]


class RowsVecEnv(VecEnv):
    """Rows are lanes x agents; `infos[row]["alive"]` says whether the row will act in the next step."""

    def __init__(self, world: World) -> None:
        self.rows = Rows(world)
        role = self.rows.role
        super().__init__(self.rows.count, observation_space(role.observations), action_space(role.actions))
        self._actions: Any = None

    def reset(self) -> np.ndarray:
        """The seed of the first row is the world's: its lanes take their keys from one number."""
        obs = self.rows.reset(self._seeds[0], self._options[0])
        self.reset_infos = [{"alive": bool(alive)} for alive in self.rows.alive]
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> Step:
        step = self.rows.step(self._actions)
        return step.obs, step.reward, step.terminated | step.truncated, _infos(step)

    def close(self) -> None:
        self.rows.world.close()

    def get_images(self) -> Sequence[np.ndarray]:
        """One picture per lane."""
        return [self.rows.world.draw(lane) for lane in range(self.rows.world.lanes)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        value = "rgb_array" if attr_name == "render_mode" else getattr(self.rows.world, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"rows of one world have no attributes of their own, so {attr_name} cannot be set")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        raise AttributeError(f"rows of one world have no methods of their own, so {method_name} cannot be called")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def _infos(step: RowStep) -> list[dict[str, Any]]:
    infos: list[dict[str, Any]] = [
        {"TimeLimit.truncated": truncated, "alive": alive}
        for truncated, alive in zip(step.truncated.tolist(), step.alive.tolist(), strict=True)
    ]
    for row in np.flatnonzero(step.terminated | step.truncated):
        infos[row]["terminal_observation"] = step.final_obs[row]
    return infos

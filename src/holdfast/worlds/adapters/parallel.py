"""One lane of a world as a PettingZoo parallel environment, with all its roles."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from holdfast.kit.errors import WorldError
from holdfast.worlds.adapters.spaces import action_rows, action_space, observation_space, restart
from holdfast.worlds.api import Role, World
from holdfast.worlds.spaces import Discrete

Infos = dict[str, dict[str, Any]]


class Seat(NamedTuple):
    """Where an agent sits in the world's arrays."""

    role: Role
    place: int


class LaneParallelEnv(ParallelEnv):
    """Agents are named `<role>_<number>`; `agents` are those that will act in the next step."""

    def __init__(self, world: World) -> None:
        if world.lanes != 1:
            raise WorldError(f"as_parallel_env takes a world of one lane; this {world.spec.name} has {world.lanes}")
        self.world = world
        self.seats = {
            f"{role.name}_{place}": Seat(role, place) for role in world.spec.roles for place in range(role.agents)
        }
        self.possible_agents = list(self.seats)
        self.agents: list[str] = []
        self.render_mode = "rgb_array"
        self.metadata = {"name": f"holdfast_{world.spec.name}_v{world.spec.version}", "render_modes": ["rgb_array"]}
        self.observation_spaces = {name: observation_space(seat.role.observations) for name, seat in self.seats.items()}
        self.action_spaces = {name: action_space(seat.role.actions) for name, seat in self.seats.items()}

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Infos]:
        restart(self.world, seed, options)
        self.agents = [name for name in self.possible_agents if self._read(name, "alive")]
        return {name: self._read(name, "obs") for name in self.agents}, {name: {} for name in self.agents}

    def _read(self, agent: str, buffer: str) -> Any:
        """A copy of one agent's part of a buffer."""
        role, place = self.seats[agent]
        return getattr(self.world.roles[role.name], buffer)[0, place].copy()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        acted = self.agents
        self.world.step({role.name: self._actions_of(role, actions) for role in self.world.spec.roles})
        over, cut = bool(self.world.terminated[0]), bool(self.world.truncated[0])
        obs_buffer, alive_buffer = ("final_obs", "final_alive") if over or cut else ("obs", "alive")
        alive = {name: bool(self._read(name, alive_buffer)) for name in acted}
        terminated = {name: over or not alive[name] for name in acted}
        truncated = {name: cut and alive[name] for name in acted}
        obs = {name: self._read(name, obs_buffer) for name in acted}
        reward = {name: float(self._read(name, "reward")) for name in acted}
        self.agents = [name for name in acted if not (terminated[name] or truncated[name])]
        return obs, reward, terminated, truncated, self._infos(acted)

    def _actions_of(self, role: Role, actions: dict[str, Any]) -> np.ndarray:
        """The role's actions [1, A] or [1, A, K]; seats of dead agents hold zeros, which the world does not read."""
        absent = [name for name in self.agents if name not in actions and self.seats[name].role is role]
        if absent:
            raise WorldError(f"{self.world.spec.name}: no action for {', '.join(absent)}")
        rest = 0 if isinstance(role.actions, Discrete) else np.zeros(len(role.actions))
        rows = [actions.get(f"{role.name}_{place}", rest) for place in range(role.agents)]
        return action_rows(rows, role, 1)

    def _infos(self, acted: list[str]) -> Infos:
        """When the episode is over, every agent's info has its numbers."""
        table = self.world.finished()
        numbers = {column: float(table[column][0]) for column in self.world.spec.columns} if len(table) else {}
        return {name: dict(numbers) for name in acted}

    def render(self) -> np.ndarray:
        return self.world.draw(0)

    def close(self) -> None:
        self.world.close()

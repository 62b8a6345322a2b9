"""Small worlds for golden runs that no game of the package covers: two roles of several agents, continuous actions.

A tree's own sources run them, under the name `golden_world`. Modules that moved are replaced in this text first (the
map's `modules`), so it imports by `from MODULE import NAMES` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from holdfast.options import option

from holdfast.worlds.api import ArrayWorld, Role, WorldSpec
from holdfast.worlds.lanes import next_episode
from holdfast.worlds.spaces import Discrete, Observations


@dataclass(frozen=True)
class CoinSettings:
    """Matching coins."""

    rounds: int = option(6, "rounds per episode", low=1)
    poison: int = option(-1, "the first role's reward is NaN after this many steps of a lane; -1 = never")


class CoinState(NamedTuple):
    totals: np.ndarray  # [N, 2] f64: finder, hiders
    steps_ever: np.ndarray  # [N] i64


class Coins(ArrayWorld):
    """N tables of matching coins, the finder against two hiders; the second hider leaves after three rounds."""

    Settings = CoinSettings
    LEAVES = 3

    def __init__(self, settings: CoinSettings, lanes: int, seed: int, threads: int = 1) -> None:
        seen = Observations((2,), np.dtype(np.float32), -1.0, 1.0)
        spec = WorldSpec(
            name="coins",
            version=1,
            roles=(Role("finder", 1, seen, Discrete(2)), Role("hider", 2, seen, Discrete(2))),
            columns=("length", "return_finder", "return_hider"),
            score="return_finder",
        )
        super().__init__(spec, lanes, seed, threads, CoinState(np.zeros((lanes, 2)), np.zeros(lanes, np.int64)))
        self.settings = settings

    def _begin(self, lanes: np.ndarray) -> None:
        for lane in lanes:
            next_episode(self.clock, lane)
        self.state.totals[lanes] = 0.0
        for buffers in self.roles.values():
            buffers.alive[lanes] = True
            buffers.obs[lanes] = 0.0

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        finder, hider = self.roles["finder"], self.roles["hider"]
        self.clock.t[:] += 1
        self.state.steps_ever[:] += 1
        matched = (actions["finder"] == actions["hider"]) & hider.alive
        finder.reward[:, 0] = matched.sum(1) - (~matched & hider.alive).sum(1)
        hider.reward[:] = np.where(hider.alive, np.where(matched, -1.0, 1.0), 0.0)
        if self.settings.poison >= 0:
            finder.reward[self.state.steps_ever == self.settings.poison] = np.nan
        self.state.totals[:, 0] += finder.reward[:, 0]
        self.state.totals[:, 1] += hider.reward.mean(1)
        hider.alive[self.clock.t >= self.LEAVES, 1] = False
        for buffers in self.roles.values():
            buffers.obs[:, :, 0] = np.where(buffers.alive, (self.clock.t / self.settings.rounds)[:, None], 0.0)
            buffers.obs[:, :, 1] = np.where(buffers.alive, np.tanh(self.state.totals[:, :1]), 0.0)
        self.clock.terminated[:] = self.clock.t >= self.settings.rounds
        self._end(np.flatnonzero(self.clock.terminated))

    def _end(self, ended: np.ndarray) -> None:
        self.clock.ended_key[ended] = self.clock.episode_key[ended]
        self.clock.ended[ended, 0] = self.clock.t[ended]
        self.clock.ended[ended, 1:] = self.state.totals[ended]
        for buffers in self.roles.values():
            buffers.final_obs[ended] = buffers.obs[ended]
            buffers.final_alive[ended] = buffers.alive[ended]
        self._begin(ended)

    def draw(self, lane: int) -> np.ndarray:
        return np.full((8, 8, 3), int(self.clock.t[lane]) * 20, np.uint8)


class Questions(gymnasium.Env):
    """Episodes of eight independent questions."""

    LENGTH = 8

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self.ask(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        reward = self.judge(action)
        return self.ask(), reward, False, self.t >= self.LENGTH, {}

    def ask(self) -> np.ndarray:
        raise NotImplementedError

    def judge(self, action: Any) -> float:
        raise NotImplementedError


class Dials(Questions):
    """Turn two dials to where they are wanted: continuous actions."""

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (2,), np.float32)

    def ask(self) -> np.ndarray:
        self.wanted = self.np_random.uniform(-0.8, 0.8, 2).astype(np.float32)
        return self.wanted

    def judge(self, action: Any) -> float:
        return 1.0 - float(((np.asarray(action) - self.wanted) ** 2).sum())


class Pictures(Questions):
    """Two switches, told by which quarter of a picture is bright: images, and several choices at once."""

    observation_space = Box(0, 255, (12, 12, 1), np.uint8)
    action_space = MultiDiscrete([2, 2])

    def ask(self) -> np.ndarray:
        self.wanted = self.np_random.integers([2, 2])
        picture = self.np_random.integers(0, 60, (12, 12, 1)).astype(np.uint8)
        row, column = self.wanted
        picture[row * 6 : row * 6 + 6, column * 6 : column * 6 + 6] += 150
        return picture

    def judge(self, action: Any) -> float:
        return float((np.asarray(action) == self.wanted).mean())

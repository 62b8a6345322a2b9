"""A test world of two roles: matching pennies over six rounds, the hider with two agents, written without kernels.

The seeker wins a round against each hider whose coin it matches. The hiders see the round; the seeker sees it too. The
second hider leaves the game (dies) after round three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.config.options import option
from holdfast.worlds.api import ArrayWorld, Role, WorldSpec
from holdfast.worlds.bounds import LONGEST, Bounds
from holdfast.worlds.lanes import next_episode
from holdfast.worlds.spaces import Discrete, Observations


@dataclass(frozen=True)
class PennySettings:
    """Matching pennies."""

    rounds: int = option(6, "rounds per episode", low=1)
    poison: int = option(-1, "this step's reward is NaN; -1 = never")


class PennyState(NamedTuple):
    totals: np.ndarray  # [N, 2] f64: seeker, hiders
    steps_ever: np.ndarray  # [N] i64


class Pennies(ArrayWorld):
    """N tables of matching pennies."""

    Settings = PennySettings
    LEAVES = 3

    def __init__(self, settings: PennySettings, lanes: int, seed: int, threads: int = 1) -> None:
        sight = Observations((1,), np.dtype(np.float32), 0.0, 1.0)
        spec = WorldSpec(
            name="pennies",
            version=1,
            roles=(Role("seeker", 1, sight, Discrete(2)), Role("hider", 2, sight, Discrete(2))),
            columns=("length", "return_seeker", "return_hider"),
            score="return_seeker",
        )
        state = PennyState(np.zeros((lanes, 2)), np.zeros(lanes, np.int64))
        super().__init__(spec, lanes, seed, threads, state)
        self.settings = settings

    def bounds(self) -> dict[str, Bounds]:
        return {"steps_ever": (0, LONGEST)}

    def _begin(self, lanes: np.ndarray) -> None:
        for n in lanes:
            next_episode(self.clock, n)
        self.state.totals[lanes] = 0.0
        for buffers in self.roles.values():
            buffers.alive[lanes] = True
            buffers.obs[lanes] = 0.0

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        seeker, hider = self.roles["seeker"], self.roles["hider"]
        self.clock.t[:] += 1
        self.state.steps_ever[:] += 1
        matched = (actions["seeker"] == actions["hider"]) & hider.alive
        seeker.reward[:, 0] = matched.sum(1) - (~matched & hider.alive).sum(1)
        hider.reward[:] = np.where(hider.alive, np.where(matched, -1.0, 1.0), 0.0)
        if self.settings.poison >= 0:
            seeker.reward[self.state.steps_ever == self.settings.poison] = np.nan
        self.state.totals[:, 0] += seeker.reward[:, 0]
        self.state.totals[:, 1] += hider.reward.mean(1)
        hider.alive[self.clock.t >= self.LEAVES, 1] = False
        for buffers in self.roles.values():
            buffers.obs[:] = np.where(buffers.alive, (self.clock.t / self.settings.rounds)[:, None], 0.0)[:, :, None]
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

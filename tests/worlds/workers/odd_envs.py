"""Environments of other ages and habits, for the workers' tests. Each counts to 3 from a start its seed decides."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np


class OldBox:
    """What a space of the old gym looks like: same fields, another class."""

    def __init__(self) -> None:
        self.low, self.high = np.full(2, -1e6, np.float32), np.full(2, 1e6, np.float32)
        self.shape, self.dtype = (2,), np.dtype(np.float32)


class OldDiscrete:
    n = 2


OldBox.__name__, OldDiscrete.__name__ = "Box", "Discrete"


class FourValues:
    """The old form: reset gives only the observation, step four values, seeds go to `seed`; shows its RAM."""

    observation_space, action_space = OldBox(), OldDiscrete()
    ram = np.array([0, 7], np.uint8)

    def seed(self, seed: int) -> None:
        self.start = seed % 1000

    def reset(self) -> Any:
        self.count = 0
        return np.array([0.0, self.start])

    def step(self, action: int) -> Any:
        self.count += 1
        over = self.count == 3
        return np.array([self.count, self.start]), 1.0, over, {"TimeLimit.truncated": over}


class Plain(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def seen(self) -> Any:
        return np.array([self.count, self.start], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count, self.start = 0, 0 if seed is None else seed % 1000
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        return self.seen(), 1.0, self.count == 3, False, {}


class SameStep(Plain):
    """Begins its next episode in the step that ends one; the last observation is in the info."""

    def step(self, action: Any) -> Any:
        seen, reward, over, cut, info = super().step(action)
        if over:
            info = {"final_obs": seen}
            seen, _ = self.reset()
        return seen, reward, over, cut, info


class NextStep(Plain):
    """Begins its next episode in the step after the one that ended one."""

    over = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.over = False
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        if self.over:
            seen, info = self.reset()
            return seen, 0.0, False, False, info
        seen, reward, self.over, cut, info = super().step(action)
        return seen, reward, self.over, cut, info


class Cloudy(Plain):
    """The seed does not decide everything."""

    def step(self, action: Any) -> Any:
        self.count += 1
        return np.array([self.count, int.from_bytes(os.urandom(2))], np.float32), 1.0, False, False, {}


class Needs(Plain):
    def __init__(self) -> None:
        raise gymnasium.error.DependencyNotInstalled("bananas are not installed: pip install bananas")


class Broken(Plain):
    def __init__(self) -> None:
        raise KeyError("cartridge")


class NotOne:
    """Neither an environment nor a world."""

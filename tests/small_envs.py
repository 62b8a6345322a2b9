"""Small Gymnasium environments with known answers, one per kind of sight and action."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete


class OneStep(gymnasium.Env):
    """Episodes of eight independent questions; the best reward for each is 1."""

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


class Lamp(OneStep):
    """A picture with one bright quarter: which one?"""

    observation_space = Box(0, 255, (12, 12, 1), np.uint8)
    action_space = Discrete(4)

    def ask(self) -> np.ndarray:
        self.quarter = int(self.np_random.integers(4))
        picture = self.np_random.integers(0, 60, (12, 12, 1)).astype(np.uint8)
        row, column = divmod(self.quarter, 2)
        picture[row * 6 : row * 6 + 6, column * 6 : column * 6 + 6] += 150
        return picture

    def judge(self, action: Any) -> float:
        return float(action == self.quarter)


class Dial(OneStep):
    """Turn two dials to the shown positions; each is off by its squared distance."""

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (2,), np.float32)

    def ask(self) -> np.ndarray:
        self.wanted = self.np_random.uniform(-0.8, 0.8, 2).astype(np.float32)
        return self.wanted

    def judge(self, action: Any) -> float:
        return 1.0 - float(((np.asarray(action) - self.wanted) ** 2).sum())


class Switches(OneStep):
    """Two switches, of two and three positions, each with its own hint."""

    observation_space = Box(0, 1, (5,), np.float32)
    action_space = MultiDiscrete([2, 3])

    def ask(self) -> np.ndarray:
        self.wanted = self.np_random.integers([2, 3])
        hint = np.zeros(5, np.float32)
        hint[[self.wanted[0], 2 + self.wanted[1]]] = 1.0
        return hint

    def judge(self, action: Any) -> float:
        return float((np.asarray(action) == self.wanted).mean())


class Recall(OneStep):
    """Only the first sight shows the answer: a policy without memory earns half."""

    observation_space = Box(-1, 1, (1,), np.float32)
    action_space = Discrete(2)

    def ask(self) -> np.ndarray:
        if self.t == 0:
            self.answer = int(self.np_random.integers(2))
            return np.array([2.0 * self.answer - 1.0], np.float32)
        return np.zeros(1, np.float32)

    def judge(self, action: Any) -> float:
        return float(action == self.answer)

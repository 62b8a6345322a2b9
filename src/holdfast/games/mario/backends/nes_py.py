"""Super Mario Bros on nes_py, through gym-super-mario-bros: for workers only, since importing it loads the emulator.

The game is constructed directly: `gym.make` of the old gym fails under NumPy 2. Its RAM is shown beside the picture, so
that facts and rewards that are read from RAM work on it as they do on our own console.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gym_super_mario_bros import SuperMarioBrosEnv  # type: ignore[import-untyped]

A, B, LEFT, RIGHT = 1, 2, 64, 128
BUTTONS = (0, RIGHT, RIGHT | A, RIGHT | B, RIGHT | A | B, A, LEFT)
MOST_NOOPS = 30


class SuperMario:
    """A stage from its start; the reward is the package's own, summed over the frames of a step."""

    observation_space = gymnasium.spaces.Box(0, 255, (240, 256, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(len(BUTTONS))

    def __init__(self, stage: str = "1-1", rom_mode: str = "vanilla", frame_skip: int = 4) -> None:
        world, _, level = stage.partition("-")
        self.frame_skip = frame_skip
        self.game: Any = SuperMarioBrosEnv(rom_mode, target=(int(world), int(level)))
        self._rom_path = self.game._rom_path

    def ram(self) -> np.ndarray:
        """A copy: the emulator's own array changes with every frame."""
        return self.game.ram.copy()

    def reset(self, seed: int) -> np.ndarray:
        """The seed decides how many frames pass before the first step; nothing else in the game is random."""
        self.game.reset()
        for _ in range(np.random.default_rng(seed).integers(MOST_NOOPS + 1)):
            self.game.step(0)
        return self.game.screen.copy()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        total, done = 0.0, False
        for _ in range(self.frame_skip):
            _, reward, done, _ = self.game.step(BUTTONS[action])
            total += float(reward)
            if done:
                break
        return self.game.screen.copy(), total, done, {}

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        return self.game.screen.copy()

    def close(self) -> None:
        self.game.close()

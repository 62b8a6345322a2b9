"""A NES in nes_py, one frame at a time: for workers only, since importing it loads the emulator.

Whoever plays it reads the RAM after every frame and may write some bytes of it before the next, as with our own
console; so the same code starts the game, reads its facts and pays for them.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from nes_py import NESEnv  # type: ignore[import-untyped]

RAM_BYTES = 2048
POKES = 4  # bytes that can be written before a frame
NO_POKE = RAM_BYTES  # an address that stands for none
BUTTONS, FRAMES, KEEP, FIRST_POKE = range(4)  # places in an action; then pairs of address and value


class NesPyConsole:
    """An action: buttons, for how many frames, whether to keep the state then, and bytes to write before. What is seen:
    the RAM after each frame. `reset(seed=n)` goes back to the state that was kept after the last `reset(seed=n)`, or to
    power-on."""

    def __init__(self, rom: str, frames: int) -> None:
        self._rom_path = rom
        self.observation_space = gymnasium.spaces.Box(0, 255, (frames, RAM_BYTES, 1), np.uint8)
        counts = [256, frames + 1, 2, *[RAM_BYTES + 1, 256] * POKES]
        self.action_space = gymnasium.spaces.MultiDiscrete(counts)
        self._seen = np.zeros((frames, RAM_BYTES, 1), np.uint8)
        self._consoles: dict[int, Any] = {}  # each keeps one state

    def reset(self, seed: int) -> np.ndarray:
        if seed not in self._consoles:
            self._consoles[seed] = NESEnv(self._rom_path)
        self._console = self._consoles[seed]
        self._console.reset()
        self._seen[0, :, 0] = self._console.ram
        return self._seen

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        console = self._console
        for address, value in action[FIRST_POKE:].reshape(POKES, 2):
            if address != NO_POKE:
                console.ram[address] = value
        for frame in range(action[FRAMES]):
            console._frame_advance(action[BUTTONS])
            self._seen[frame, :, 0] = console.ram
        if action[KEEP]:
            console._backup()
        return self._seen, 0.0, False, False, {}

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        return np.asarray(self._console.screen).copy()

    def close(self) -> None:
        for console in self._consoles.values():
            console.close()

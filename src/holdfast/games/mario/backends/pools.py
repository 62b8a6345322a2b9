"""Pools of the game for `doctor backends`: our console and nes_py in workers, where holding RIGHT must move Mario."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.kit.errors import MissingPackage
from holdfast.worlds.api import World
from holdfast.worlds.workers.trials import Backend, Pool, WorkerPool

X_PAGE, X_PIXEL = 0x006D, 0x0086  # where the game keeps Mario's place in the level
RIGHT_ACTION, RIGHT_BUTTON, START_BUTTON = 1, 128, 8  # the first of the sets of actions
FRAME_SKIP = 4
BOOT_FRAMES, LOADING_FRAMES = 40, 200  # from power-on to the title; from START to control


class NesPyPool(WorkerPool):
    """The Mario world on nes_py, holding RIGHT."""

    frames_per_step = FRAME_SKIP
    action = RIGHT_ACTION

    def make(self, lanes: int, seed: int) -> World:
        from holdfast.games.mario.world.emulated import EmulatedMario
        from holdfast.games.mario.world.settings import MarioSettings

        self.game = EmulatedMario(MarioSettings(backend="nes_py"), lanes, seed, 1, self.supervisor)
        return self.game

    def seen(self) -> np.ndarray:
        return places(self.game.state.console)


class ConsolePool(Pool):
    """Our own console with the same game, started by its START button."""

    frames_per_step = FRAME_SKIP

    def build(self, lanes: int, seed: int, folder: Path) -> None:
        from holdfast.nes.cartridge import load_rom
        from holdfast.nes.console import Console
        from holdfast.nes.rivals import mario_rom

        path = mario_rom()
        if path is None:
            raise MissingPackage("the console's trials need a ROM: pip install gym-super-mario-bros")
        self.console = Console(load_rom(path), lanes)

    def reset(self) -> None:
        self.console.power_on()
        self.console.step(0, BOOT_FRAMES)
        self.console.step(START_BUTTON, 2)
        self.console.step(0, LOADING_FRAMES)

    def step(self) -> None:
        self.console.step(RIGHT_BUTTON, FRAME_SKIP)

    def close(self) -> None:
        del self.console

    def seen(self) -> np.ndarray:
        return places(self.console.ram)


def places(ram: np.ndarray) -> np.ndarray:
    """[N, 1] Mario's x."""
    return 256 * ram[:, X_PAGE, None].astype(np.int64) + ram[:, X_PIXEL, None]


POOLS = {
    "console": Backend("gym_super_mario_bros", lambda settings: ConsolePool()),
    "nes_py": Backend("nes_py", NesPyPool),
}

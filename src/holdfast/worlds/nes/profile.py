"""Execution profiles: how often each address of a program runs per frame, counted by the plain interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.worlds.nes import layout
from holdfast.worlds.nes.cartridge import Cartridge
from holdfast.worlds.nes.console import Console
from holdfast.worlds.nes.frame import count_instructions, run_frame_plainly

# RAM of Super Mario Bros, see the RAM map of gym-super-mario-bros.
MODE, TASK, TIMER = 0x770, 0x772, slice(0x7F8, 0x7FB)
WORLD, STAGE, AREA = 0x75F, 0x75C, 0x760
PLAYING = (1, 3)


def mario_frames(console: Console, world: int, frames: int, seed: int) -> Iterator[int]:
    """Buttons for lane 0, frame by frame: through the title into a world, then running and jumping at random.
    The world is chosen by writing to RAM until the clock runs, as gym-super-mario-bros does."""
    random = np.random.default_rng(seed)
    buttons = 0
    for frame in range(frames):
        ram = console.ram[0]
        if frame % 8 == 0:
            buttons = 0x82 if random.random() < 0.8 else int(random.integers(256)) & 0xC3
            buttons |= int(random.random() < 0.5)
        if not ram[TIMER].any() and frame < 300:
            ram[WORLD], ram[STAGE], ram[AREA] = world, 0, 0
        if ram[MODE] == 0:
            yield 0x08 if frame % 16 == 8 else 0
        else:
            yield buttons


def mario_profile(cartridge: Cartridge, frames: int = 2500) -> NDArray[np.float64]:
    """Executions per frame of play for each address, [65536], over starts in all eight worlds."""
    counts = np.zeros(0x10000, np.int64)
    counted = 0
    for world in range(8):
        console = Console(cartridge)
        row, words = console.state[0], console.words[0]
        for buttons in mario_frames(console, world, frames, seed=world):
            words[layout.BUTTONS1] = buttons
            if (row[MODE], row[TASK]) == PLAYING:
                count_instructions(row, words, console.rom, counts)
                counted += 1
            else:
                run_frame_plainly(row, words, console.rom)
    return counts / max(counted, 1)

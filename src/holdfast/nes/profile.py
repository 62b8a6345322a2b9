"""Execution profiles: how often each address of a program runs per frame, and how often it then jumps.

Counted by the plain interpreter over play on the user's machine. Any program is played with random buttons; for Super
Mario Bros, told by its code, all eight worlds are visited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.compiled import announced, kernel
from holdfast.nes import layout
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.frame import finish_frame, pass_prerender, run_frame_plainly, stay_jammed, taken_interrupt
from holdfast.nes.opcodes import OPCODES
from holdfast.nes.plain import step
from holdfast.nes.start import power_on_row

Array = Any

# RAM of Super Mario Bros, see the RAM map of gym-super-mario-bros.
MODE, TASK, TIMER = 0x770, 0x772, slice(0x7F8, 0x7FB)
WORLD, STAGE, AREA = 0x75F, 0x75C, 0x760
PLAYING = (1, 3)
MARIO_CLOCK = re.compile(rb"\xa9.\x8d\x87\x07", re.DOTALL)  # where the game sets how many frames a clock tick lasts

LENGTHS = np.array([opcode.length for opcode in OPCODES], np.int64)
RANDOM_FRAMES, MARIO_FRAMES = 4000, 2000


class Profile(NamedTuple):
    """Means per frame for each address, [65536]."""

    runs: NDArray[np.float64]
    jumps: NDArray[np.float64]  # how often what ran next was not the instruction behind it


@kernel
def count_frame(row: Array, words: Array, rom: Array, runs: Array, jumps: Array) -> None:
    """`run_frame_plainly` that counts what it executes."""
    while words[layout.DOT] < layout.FRAME_DOTS:
        if words[layout.PICTURE] < 2 and words[layout.DOT] >= layout.PICTURE_DOT:
            pass_prerender(words)
        elif words[layout.JAMMED]:
            stay_jammed(words)
        elif not taken_interrupt(row, words, rom):
            if words[layout.NMI]:
                words[layout.NMI] = 1
            pc = words[layout.PC]
            length = LENGTHS[rom[pc & 0x7FFF]]
            step(row, words, rom)
            runs[pc] += 1
            if words[layout.PC] != pc + length:
                jumps[pc] += 1
    finish_frame(row, words, rom)


class Counter:
    """A console at power-on that counts."""

    def __init__(self, cartridge: Cartridge) -> None:
        self.row = power_on_row(cartridge)
        self.words = self.row.view(np.int64)
        self.rom = np.concatenate([cartridge.program, cartridge.tiles])
        self.runs, self.jumps, self.frames = np.zeros(0x10000), np.zeros(0x10000), 0

    def step(self, buttons: int, counted: bool = True) -> None:
        self.words[layout.BUTTONS1] = buttons
        if counted:
            count_frame(self.row, self.words, self.rom, self.runs, self.jumps)
            self.frames += 1
        else:
            run_frame_plainly(self.row, self.words, self.rom)


def profile_of(counters: list[Counter]) -> Profile:
    frames = max(sum(counter.frames for counter in counters), 1)
    runs = sum((counter.runs for counter in counters), np.zeros(0x10000))
    return Profile(runs / frames, sum((counter.jumps for counter in counters), np.zeros(0x10000)) / frames)


def random_profile(cartridge: Cartridge, frames: int = RANDOM_FRAMES) -> Profile:
    """Play from power-on under random buttons with Start now and then."""
    counter = Counter(cartridge)
    random = np.random.default_rng(0)
    buttons = 0
    for frame in range(frames):
        if frame % 8 == 0:
            buttons = int(random.integers(256)) & 0xF3 | (0x08 if frame % 240 == 64 else 0)
        counter.step(buttons)
    return profile_of([counter])


def mario_frames(ram: NDArray[np.uint8], world: int, frames: int, seed: int) -> Iterator[int]:
    """Buttons frame by frame: through the title into a world, then running and jumping at random. The world is
    chosen by writing to RAM until the clock runs, as gym-super-mario-bros does."""
    random = np.random.default_rng(seed)
    buttons = 0
    for frame in range(frames):
        if frame % 8 == 0:
            buttons = 0x82 if random.random() < 0.8 else int(random.integers(256)) & 0xC3
            buttons |= int(random.random() < 0.5)
        if not ram[TIMER].any() and frame < 300:
            ram[WORLD], ram[STAGE], ram[AREA] = world, 0, 0
        if ram[MODE] == 0:
            yield 0x08 if frame % 16 == 8 else 0
        else:
            yield buttons


def mario_profile(cartridge: Cartridge, frames: int = MARIO_FRAMES) -> Profile:
    """Play, without title and loading, from starts in all eight worlds."""
    counters = [Counter(cartridge) for _ in range(8)]
    for world, counter in enumerate(counters):
        for buttons in mario_frames(counter.row, world, frames, seed=world):
            counter.step(buttons, counted=(counter.row[MODE], counter.row[TASK]) == PLAYING)
    return profile_of(counters)


def play_profile(cartridge: Cartridge) -> Profile:
    """The profile that this program's own machine is made from."""
    with announced("profiler's", __file__):
        if MARIO_CLOCK.search(cartridge.program.tobytes()):
            return mario_profile(cartridge)
        return random_profile(cartridge)

"""Runs this console beside another emulator on the real game and compares RAM and pictures after every frame.

Emulators need a different number of frames to boot (one of them not even the same number each time), so both are first
run to a RAM event: the game's own frame counter at a value that both reach on the title screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.nes.bench import boot
from holdfast.nes.cartridge import load_rom
from holdfast.nes.console import Console
from holdfast.nes.decode import decode_program
from holdfast.nes.layout import PC
from holdfast.nes.profile import AREA, MODE, PLAYING, STAGE, TASK, WORLD
from holdfast.nes.rivals import Rival, start

ROUTINE, IN_CONTROL = 0x0E, 8
SCREEN_OFF, WAIT_TIMER = 0x774, 0x7A0
START = 0x08


@dataclass(frozen=True)
class Comparison:
    """How far two emulators agreed."""

    rival: str
    frames: int
    differing_frames: int
    differing_pictures: int
    first_difference: str


class ColourMap:
    """Palettes differ between emulators: each palette index must keep the colour it had when first seen."""

    def __init__(self) -> None:
        self._colours = np.full(64, -1, np.int64)

    def agrees(self, pixels: NDArray[np.uint8], rgb: NDArray[np.uint8]) -> bool:
        packed = rgb.astype(np.int64) @ np.array([65536, 256, 1])
        for colour in np.unique(pixels):
            if self._colours[colour] < 0:
                values, counts = np.unique(packed[pixels == colour], return_counts=True)
                self._colours[colour] = values[counts.argmax()]
        return bool((self._colours[pixels] == packed).all())


def align(console: Console, rival: Rival) -> None:
    """Step both to the frame in which the game's frame counter first has a certain value."""
    boot(lambda: console.step(0), lambda: console.ram[0])
    boot(lambda: rival.step(0), rival.ram)


def differing(
    ram: NDArray[np.uint8], other: NDArray[np.uint8], before: tuple[NDArray[np.uint8], NDArray[np.uint8]]
) -> NDArray[np.int64]:
    """Addresses that differ, without those that nobody has touched: RAM wakes up in another pattern elsewhere."""
    untouched = (ram == before[0]) & (other == before[1])
    return np.nonzero((ram != other) & ~untouched)[0]


class Player:
    """Starts a stage from the title by writing to RAM, then plays: mostly running right and jumping, with every other
    button now and then. It looks at this console's RAM only; what it writes goes to both machines."""

    def __init__(self, stage: str, seed: int) -> None:
        self.world, self.level = (int(part) - 1 for part in stage.split("-"))
        self.random = np.random.default_rng(seed)
        self.started, self.held = False, 0

    def writes(self, ram: NDArray[np.uint8]) -> list[tuple[int, int]]:
        if ram[MODE] == 0:
            self.started = False
            if self._title_waits(ram):  # in worlds 1, 2, 4 and 7 a walk into a pipe is an area of its own
                area = self.level + int(self.level >= 1 and self.world + 1 in (1, 2, 4, 7))
                return [(WORLD, self.world), (STAGE, self.level), (AREA, area)]
            return []
        self.started |= (ram[MODE], ram[TASK], ram[ROUTINE]) == (*PLAYING, IN_CONTROL)
        return [] if self.started else [(WAIT_TIMER, 0)]

    def buttons(self, ram: NDArray[np.uint8], frame: int) -> int:
        if not self.started:
            return START if self._title_waits(ram) else 0
        if frame % 6 == 0:
            if self.random.random() < 0.7:
                self.held = 0x82 | int(self.random.random() < 0.5)
            else:
                self.held = int(self.random.integers(256)) & (0xFF if self.random.random() < 0.1 else 0xF3)
        return self.held

    def _title_waits(self, ram: NDArray[np.uint8]) -> bool:
        return bool(ram[MODE] == 0 and ram[TASK] == 3 and ram[SCREEN_OFF] == 0)


def compare_game(
    name: str, rom: Path, stage: str, frames: int, seed: int, pictures: bool = True, every: int = 1
) -> Comparison:
    """Play some frames of a stage ("1-1" to "8-4"). Pictures are compared every so many frames.

    cynes ends its frames where this console does, so all of its RAM is compared. FCEUmm (stable-retro) ends them some
    lines apart: frames in which the game is still at work then are left out. nes_py ends its steps after a fixed
    number of cycles, inside the game's interrupt handler, so its RAM is half of one frame and half of the next; there
    only pictures are compared.
    """
    console, rival = Console(load_rom(rom)), start(name, rom)
    align(console, rival)
    before = (console.ram[0].copy(), rival.ram().copy())
    idle = {address for address, one in decode_program(console.cartridge).items() if one.handler == "WAIT_forever"}
    player, colours = Player(stage, seed), ColourMap()
    differing_frames, differing_pictures, first = 0, 0, ""
    for frame in range(frames):
        ram = console.ram[0]
        buttons = player.buttons(ram, frame)
        for address, value in player.writes(ram):
            ram[address] = value
            rival.poke(address, value)
        console.step(buttons)
        rival.step(buttons)
        wrong = differing(ram, rival.ram(), before)
        comparable = name == "cynes" or (name != "nes_py" and int(console.words[0, PC]) in idle)
        if wrong.size and comparable:
            differing_frames += 1
            first = first or f"frame {frame}: RAM ${wrong[0]:04X} and {wrong.size - 1} more"
        if pictures and frame % every == 0 and not colours.agrees(console.pixels()[0], rival.rgb()):
            differing_pictures += 1
            first = first or f"frame {frame}: picture"
    return Comparison(name, frames, differing_frames, differing_pictures, first)

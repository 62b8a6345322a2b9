"""Runs this console beside another emulator on the real game and compares RAM and pictures after every frame.

Emulators need a different number of frames to boot (one of them not even the same number each time), so both are first
run to a RAM event: the game's own frame counter at a value that both reach on the title screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.worlds.nes.bench import boot
from holdfast.worlds.nes.cartridge import load_rom
from holdfast.worlds.nes.console import Console
from holdfast.worlds.nes.decode import decode_program
from holdfast.worlds.nes.layout import PC
from holdfast.worlds.nes.profile import AREA, MODE, STAGE, TIMER, WORLD
from holdfast.worlds.nes.rivals import Rival, start


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


def random_buttons(random: np.random.Generator, ram: NDArray[np.uint8], frame: int, held: int) -> int:
    """Mostly running right and jumping, with every other button now and then; Start while the title waits."""
    if ram[MODE] == 0:
        return 0x08 if frame % 16 == 8 else 0
    if frame % 6:
        return held
    if random.random() < 0.7:
        return 0x82 | int(random.random() < 0.5)
    return int(random.integers(256)) & (0xFF if random.random() < 0.1 else 0xF3)


def compare_game(
    name: str, rom: Path, world: int, frames: int, seed: int, pictures: bool = True, every: int = 1
) -> Comparison:
    """Play one script of random inputs on both machines; pictures are compared every so many frames.

    cynes ends its frames where this console does, so all of its RAM is compared. FCEUmm (stable-retro) ends them some
    lines apart: frames in which the game is still at work then are left out. nes_py ends its steps after a fixed
    number of cycles, inside the game's interrupt handler, so its RAM is half of one frame and half of the next; there
    only pictures are compared.
    """
    console, rival = Console(load_rom(rom)), start(name, rom)
    align(console, rival)
    before = (console.ram[0].copy(), rival.ram().copy())
    idle = {address for address, one in decode_program(console.cartridge).items() if one.handler == "WAIT_forever"}
    random = np.random.default_rng(seed)
    colours = ColourMap()
    differing_frames, differing_pictures, first, buttons = 0, 0, "", 0
    for frame in range(frames):
        ram = console.ram[0]
        if world and not ram[TIMER].any() and frame < 300:
            for address, value in ((WORLD, world), (STAGE, 0), (AREA, 0)):
                ram[address] = value
                rival.poke(address, value)
        buttons = random_buttons(random, ram, frame, buttons)
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

"""Corrections of foreign packages that break under NumPy 2, made in the worker only and proven by calling them.

nes-py 8.2.1 and gym-super-mario-bros 7.4.0 multiply bytes as uint8, which overflows since NumPy 2 (NEP 50). A package
that passes its own self-call is left alone, whatever its version; one that fails it is corrected only if it is
exactly the version the correction was written for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import WorldError


class Correction(NamedTuple):
    """How to see that a package is broken, and how to mend it."""

    module: str
    package: str
    version: str
    works: Callable[[], bool]
    mend: Callable[[], None]


def apply_corrections() -> list[str]:
    """Mend the packages that are imported by now; what was done, one line each."""
    return [_mended(one) for one in CORRECTIONS if one.module in sys.modules and not _works(one)]


def _works(one: Correction) -> bool:
    try:
        with np.errstate(over="raise"):
            return one.works()
    except (OverflowError, FloatingPointError):
        return False


def _mended(one: Correction) -> str:
    from importlib.metadata import version  # slow to import, and rarely needed

    found = version(one.package)
    if found != one.version:
        raise WorldError(
            f"{one.package} {found} does not work with NumPy {np.__version__}, and the correction is for "
            f"{one.version} only: pip install {one.package}=={one.version}"
        )
    one.mend()
    if not _works(one):
        raise WorldError(f"{one.package} {found} does not work with NumPy {np.__version__}, even corrected")
    return f"{one.package} {found}: bytes are multiplied as whole numbers"


# --- nes-py: sizes in the header of a ROM ---


def _header_works() -> bool:
    rom: Any = object.__new__(import_module("nes_py._rom").ROM)
    rom.raw_data = np.zeros(16, np.uint8)
    rom.raw_data[4:9] = 2, 1, 0, 0, 40
    return bool(rom.prg_rom_stop == 16 + 32 * 1024 and rom.chr_rom_stop == 16 + 40 * 1024 and rom.prg_ram_size == 320)


def _mend_header() -> None:
    header = import_module("nes_py._rom").ROM
    header.prg_rom_size = property(lambda rom: 16 * int(rom.header[4]))
    header.chr_rom_size = property(lambda rom: 8 * int(rom.header[5]))
    header.prg_ram_size = property(lambda rom: 8 * max(1, int(rom.header[8])))


# --- gym-super-mario-bros: places in the level ---


def _places_work() -> bool:
    game: Any = object.__new__(import_module("gym_super_mario_bros.smb_env").SuperMarioBrosEnv)
    game.ram = np.zeros(2048, np.uint8)
    game.ram[[0x6D, 0x86, 0x03B8, 0x075F, 0x075C]] = 3, 5, 100, 7, 3
    above = bool(game._y_position == 255 + (255 - 100))  # 0xB5 is 0: above the screen
    return above and bool(game._x_position == 773) and bool(game._level == 31)


def _mend_places() -> None:
    game = import_module("gym_super_mario_bros.smb_env").SuperMarioBrosEnv
    game._x_position = property(lambda self: 256 * int(self.ram[0x6D]) + int(self.ram[0x86]))
    game._y_position = property(_height)
    game._level = property(lambda self: 4 * int(self.ram[0x075F]) + int(self.ram[0x075C]))


def _height(game: Any) -> int:
    """255 at the top of the screen, and more above it."""
    return 255 - int(game.ram[0x03B8]) + (255 if int(game.ram[0x00B5]) < 1 else 0)


CORRECTIONS = (
    Correction("nes_py", "nes-py", "8.2.1", _header_works, _mend_header),
    Correction("gym_super_mario_bros", "gym-super-mario-bros", "7.4.0", _places_work, _mend_places),
)

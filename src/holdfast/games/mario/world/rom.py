"""Finds the game's ROM, refuses what is not it, and reads from its program which of the two families it belongs to.

The files in circulation hold two programmes with different physics under the same RAM addresses. What tells them apart
is one byte: how many frames a tick of the clock lasts, in the only `LDA #nn / STA $0787` of the program.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.games.mario.world.errors import RomNotFound, WrongRom
from holdfast.nes.cartridge import CHR_BANK_BYTES, HEADER_BYTES, PRG_BANK_BYTES, Cartridge, load_rom

VARIABLE = "HOLDFAST_MARIO_ROM"
OWN = "own"  # the project's own cartridge, for tests and machines without the game
WHEEL, WHEEL_FILE = "gym_super_mario_bros", "_roms/super-mario-bros.nes"
NAMES = ("smb.nes", "SuperMarioBros.nes", "super-mario-bros.nes")
FILE_BYTES = HEADER_BYTES + 2 * PRG_BANK_BYTES + CHR_BANK_BYTES
FAMILIES = {20: "A", 24: "B"}  # by frames per tick of the clock

# SHA-1 of program and tiles. Those of the wheel were run through `holdfast doctor mario`.
KNOWN = {
    "0c4992fc08d2278697339d3b48066e7b5f943598": "gym-super-mario-bros vanilla",
    "09e98cc66320c9a4210602008ab1890143237e38": "gym-super-mario-bros downsample",
    "654e0715c470b812a284eeb22b775ce676558bb5": "gym-super-mario-bros pixel",
    "f5a3ce83636b60cd9b4f6972bbb3b35da37e1bd1": "gym-super-mario-bros rectangle",
    "facee9c577a5262dbe33ac4930bb0b58c8c037f7": "cartridge dump known to stable-retro",
}


@dataclass(frozen=True)
class GameRom:
    """A cartridge of the game, and what its program says of itself."""

    path: str
    cartridge: Cartridge = field(repr=False)
    sha1: str  # of program and tiles
    clock_frames: int  # frames per tick of the clock
    family: str  # A or B

    @property
    def name(self) -> str:
        return KNOWN.get(self.sha1, "Holdfast's own cartridge" if self.path == OWN else "unknown")


def find_rom(option: str = "") -> str:
    """The path of the ROM, or OWN: the option, the variable, the installed wheel, then ./roms. A place that is named on
    purpose and holds no file is an error."""
    if option == OWN:
        return OWN
    for named, how in ((option, "world.rom"), (os.environ.get(VARIABLE, ""), VARIABLE)):
        if named:
            if not Path(named).is_file():
                raise RomNotFound(f"{how} = {named}: there is no such file")
            return named
    for place in [*_wheel_file(), *(Path("roms") / name for name in NAMES)]:
        if place.is_file():
            return str(place)
    raise RomNotFound(
        "no ROM of Super Mario Bros was found. Looked at, in this order:\n"
        "  - the option world.rom (not set)\n"
        f"  - the environment variable {VARIABLE} (not set)\n"
        f"  - {WHEEL_FILE} of the package gym-super-mario-bros: pip install 'holdfast[mario]'\n"
        f"  - ./roms/ with one of {', '.join(NAMES)}\n"
        f"--world.rom {OWN} plays the project's own small cartridge instead"
    )


def _wheel_file() -> list[Path]:
    """In the installed package, which is not imported: that would bring the old `gym` with it."""
    spec = importlib.util.find_spec(WHEEL)
    folders = spec.submodule_search_locations if spec is not None else None
    return [Path(folder) / WHEEL_FILE for folder in folders or []]


def open_rom(option: str = "") -> GameRom:
    """The game as `find_rom` finds it, checked."""
    path = find_rom(option)
    if path == OWN:
        from holdfast.games.mario.world.own_cartridge import own_cartridge

        return identify(load_rom(own_cartridge()), OWN)
    cartridge = load_rom(path)
    size = Path(path).stat().st_size
    if size < FILE_BYTES or cartridge.has_chr_ram:
        raise WrongRom(
            f"{path} has {size} bytes; the game is an iNES file with 32 KiB of program and 8 KiB of tiles "
            f"({FILE_BYTES} bytes)"
        )
    return identify(cartridge, path)


def identify(cartridge: Cartridge, path: str) -> GameRom:
    program = cartridge.program.tobytes()
    places = [at for at in range(len(program) - 4) if _is_clock_write(program, at)]
    if len(places) != 1:
        raise WrongRom(
            f"{path} is not Super Mario Bros: its clock's `LDA #nn, STA $0787` appears {len(places)} times, not once"
        )
    clock_frames = program[places[0] + 1]
    if clock_frames not in FAMILIES:
        raise WrongRom(f"{path}: a tick of its clock lasts {clock_frames} frames; 20 and 24 are known")
    sha1 = hashlib.sha1(program + cartridge.tiles.tobytes()).hexdigest()
    return GameRom(path, cartridge, sha1, clock_frames, FAMILIES[clock_frames])


def _is_clock_write(program: bytes, at: int) -> bool:
    return program[at] == 0xA9 and program[at + 2 : at + 5] == b"\x8d\x87\x07"

"""Proofs that the console is right on this machine, as a list of named checks.

Always: determinism, save and load, threads, the plain twin. Where other emulators and the real ROM are installed:
lockstep. With a folder of public test programs (nestest, the instruction, timing, vertical blank, sprite and controller
series): each NROM program is run, and its verdict read from $6000 or from the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.worlds.nes.errors import ConsoleError

if TYPE_CHECKING:
    from holdfast.worlds.nes.console import Console

TEST_FRAMES = 3600  # a minute of the console's time for each test program
RUNNING, NEEDS_RESET = 0x80, 0x81
SIGNATURE = bytes([0xDE, 0xB0, 0x61])  # at $6001 when $6000 holds a status

DEMO = """
reset:  LDA #$80
        STA $2000
        LDA #$1E
        STA $2001
loop:   LDA $10
        ASL A
        ADC $11
        STA $10
        INC $0200,X
        INX
        JMP loop
nmi:    INC $11
        LDA #2
        STA $4014
        LDA $11
        STA $2005
        STA $2005
        RTI
"""


@dataclass(frozen=True)
class Check:
    """One proof."""

    name: str
    passed: bool
    detail: str


def doctor(roms: Path | None = None) -> list[Check]:
    """All checks that can be made here."""
    return [*own_checks(), *rival_checks(), *(test_programs(roms) if roms is not None else [])]


def own_checks() -> list[Check]:
    """What needs nothing but this package."""
    from holdfast.worlds.nes.assembler import assemble, ines_file
    from holdfast.worlds.nes.cartridge import load_rom
    from holdfast.worlds.nes.console import Console
    from holdfast.worlds.nes.frame import run_frame_plainly

    cartridge = load_rom(ines_file(assemble(DEMO)[0]))

    def played(lanes: int, threads: int) -> Console:
        console = Console(cartridge, lanes, threads)
        for frame in range(60):
            console.step((np.arange(lanes) * 37 + frame) % 256)
        return console

    first, again, threaded = played(8, 1), played(8, 1), played(8, 2)
    saved = first.save()
    futures = []
    for _ in range(2):
        first.load(None, saved)
        first.step(0, frames=60)
        futures.append(first.save())
    twin = Console(cartridge)
    fast = Console(cartridge)
    for _ in range(60):
        fast.step(0)
        run_frame_plainly(twin.state[0], twin.words[0], twin.rom)
    return [
        Check("same inputs give the same bytes", bool((saved == again.state).all()), "8 lanes, 60 frames"),
        Check("one thread equals two", bool((saved == threaded.state).all()), "8 lanes, 60 frames"),
        Check("save and load give the same future", bool((futures[0] == futures[1]).all()), "8 lanes, 60 frames"),
        Check("the fast machine equals the plain one", bool((fast.state == twin.state).all()), "60 frames, every byte"),
    ]


def rival_checks(frames: int = 600) -> list[Check]:
    """Lockstep with the other emulators that are installed, on the real game if it is."""
    from holdfast.worlds.nes import rivals
    from holdfast.worlds.nes.lockstep import compare_game

    rom = rivals.mario_rom()
    checks = []
    for name in ("cynes", "stable-retro"):  # nes_py ends its frames elsewhere, see lockstep.py
        if name not in rivals.installed() or rom is None:
            missing = name if name not in rivals.installed() else "gym-super-mario-bros (the ROM)"
            checks.append(Check(f"lockstep with {name}", True, f"not made: {missing} is not installed"))
            continue
        result = compare_game(name, rom, 0, frames, seed=0, pictures=name == "cynes")
        agreed = result.differing_frames == 0 and result.differing_pictures == 0
        checks.append(Check(f"lockstep with {name}", agreed, result.first_difference or f"{frames} frames agree"))
    return checks


def test_programs(folder: Path) -> list[Check]:
    """Run every ROM of a folder and read its verdict."""
    if not folder.is_dir():
        raise ConsoleError(f"{folder} is not a folder of ROMs")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".nes")
    if not paths:
        raise ConsoleError(f"{folder} has no .nes files")
    return [run_test_program(path, str(path.relative_to(folder))) for path in paths]


def run_test_program(path: Path, name: str) -> Check:
    """Follow the convention of the public test programs: a status byte at $6000 with a signature behind it and a text
    from $6004 on; older ones only write their result on the screen."""
    from holdfast.worlds.nes.cartridge import load_rom, make_cartridge
    from holdfast.worlds.nes.console import Console
    from holdfast.worlds.nes.layout import PRG_RAM_AT

    try:
        plain = load_rom(path)
    except ConsoleError as error:
        return Check(name, False, f"not run: {error}")
    tiles = plain.tiles[:0] if plain.has_chr_ram else plain.tiles
    console = Console(make_cartridge(plain.program, tiles, plain.vertical_mirroring, has_prg_ram=True))
    start = int(console.words[0, PRG_RAM_AT])
    reset_in = 0
    for _ in range(TEST_FRAMES // 10):
        console.step(0, frames=10)
        memory = console.state[0, start : start + 8192]
        if console.jammed[0]:
            return Check(name, False, "the program jammed the CPU")
        if memory[1:4].tobytes() != SIGNATURE:
            continue
        if memory[0] == NEEDS_RESET:
            reset_in += 1
            if reset_in == 2:
                console.reset()
                reset_in = 0
        elif memory[0] < RUNNING:
            text = memory[4:].tobytes().split(b"\0")[0].decode("ascii", "replace")
            return Check(name, memory[0] == 0, " ".join(text.split())[-120:])
    return _screen_verdict(console, name)


def screen_text(console: Console) -> str:
    """The first screen as characters: these programs use tiles in ASCII order."""
    from holdfast.worlds.nes.layout import SCREENS

    names: NDArray[np.uint8] = console.state[0, SCREENS : SCREENS + 960]
    characters = [chr(code) if 32 <= code < 127 else " " for code in names.tolist()]
    return " ".join("".join(characters).split())


def _screen_verdict(console: Console, name: str) -> Check:
    text = screen_text(console)
    words = text.upper().replace("#", " ").replace(".", " ").split()
    passed = "PASSED" in words or "PASS" in words or "$01" in words or words[-1:] == ["1"]
    failed = "FAILED" in words or "FAIL" in words or "ERROR" in words
    return Check(name, passed and not failed, f"on the screen: {text[-120:]!r}" if text else "no verdict in a minute")

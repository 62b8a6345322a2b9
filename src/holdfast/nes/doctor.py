"""Proofs that the console is right on this machine, as a list of named checks.

Always: determinism, save and load, threads, the plain twin. Where other emulators and the real ROM are installed:
lockstep. With a folder of public test programs (nestest, the instruction, timing, vertical blank, sprite and controller
series): each NROM program is run, and its verdict read from $6000 or from the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
    return [*own_checks(), *rival_checks(), *(program_checks(roms) if roms is not None else [])]


def own_checks() -> list[Check]:
    """What needs nothing but this package."""
    from holdfast.nes.assembler import assemble, ines_file
    from holdfast.nes.cartridge import load_rom
    from holdfast.nes.console import Console
    from holdfast.nes.frame import run_frame_plainly

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
    from holdfast.nes import rivals
    from holdfast.nes.lockstep import compare_game

    rom = rivals.mario_rom()
    checks = []
    for name in ("cynes", "stable-retro"):  # nes_py ends its frames elsewhere, see lockstep.py
        if name not in rivals.installed() or rom is None:
            missing = name if name not in rivals.installed() else "gym-super-mario-bros (the ROM)"
            checks.append(Check(f"lockstep with {name}", True, f"not made: {missing} is not installed"))
            continue
        result = compare_game(name, rom, "1-1", frames, seed=0, pictures=name == "cynes")
        agreed = result.differing_frames == 0 and result.differing_pictures == 0
        checks.append(Check(f"lockstep with {name}", agreed, result.first_difference or f"{frames} frames agree"))
    return checks


def program_checks(folder: Path) -> list[Check]:
    """Public test programs; one without a verdict (judged by eye or ear, or for another board) does not fail."""
    from holdfast.nes.programs import FAILED, run_programs

    verdicts = run_programs(folder)
    return [Check(f"program {one.program}", one.verdict != FAILED, f"{one.verdict}: {one.detail}") for one in verdicts]

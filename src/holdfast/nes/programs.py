"""Runs public test programs for the NES and reads their verdicts.

Newer programs put a status byte at $6000 with a signature behind it and a text from $6004 on (NESdev wiki, "Emulator
tests"); older ones write PASSED, FAILED or a code on the screen, where $01 means passed. nestest has a mode without a
screen: it starts at $C000 and leaves its two error codes at $02 and $03. Programs to be judged by eye or ear, and those
for other boards, get no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.nes.errors import ConsoleError

if TYPE_CHECKING:
    from holdfast.nes.cartridge import Cartridge
    from holdfast.nes.console import Console

TEST_FRAMES = 3600  # a minute of the console's time for each program
EVERY = 10  # frames between two looks
RUNNING, NEEDS_RESET = 0x80, 0x81
SIGNATURE = bytes([0xDE, 0xB0, 0x61])  # at $6001 when $6000 holds a status
CODES = {f"${code:02X}" for code in range(2, 32)}

PASSED, FAILED, NO_VERDICT = "passed", "FAILED", "no verdict"

NESTEST = "nestest"
NESTEST_START, NESTEST_CODES = 0xC000, slice(2, 4)
STOP = 0x07F0  # in RAM: a jump to itself, where nestest returns to


@dataclass(frozen=True)
class Verdict:
    """What one program says of the console."""

    program: str
    verdict: str
    detail: str


def run_programs(folder: Path) -> list[Verdict]:
    """Every ROM of a folder, in order."""
    if not folder.is_dir():
        raise ConsoleError(f"{folder} is not a folder of ROMs")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".nes")
    if not paths:
        raise ConsoleError(f"{folder} has no .nes files")
    return [run_program(path, str(path.relative_to(folder))) for path in paths]


def run_program(path: Path, name: str) -> Verdict:
    from holdfast.nes.cartridge import load_rom, make_cartridge
    from holdfast.nes.console import Console

    try:
        plain = load_rom(path)
    except ConsoleError as error:
        return Verdict(name, NO_VERDICT, f"not run: {str(error).removeprefix(f'{path} ')}")
    if path.stem.lower() == NESTEST:
        return _run_nestest(plain, name)
    tiles = plain.tiles[:0] if plain.has_chr_ram else plain.tiles
    console = Console(make_cartridge(plain.program, tiles, plain.vertical_mirroring, has_prg_ram=True))
    return _status_verdict(console, name) or _screen_verdict(console, name)


def _run_nestest(cartridge: Cartridge, name: str) -> Verdict:
    """From its second entry, with a return address that leads to a place where it stays."""
    from holdfast.nes import layout
    from holdfast.nes.console import Console

    console = Console(cartridge)
    console.ram[0, STOP : STOP + 3] = 0x4C, STOP & 0xFF, STOP >> 8
    console.ram[0, 0x1FE:0x200] = (STOP - 1) & 0xFF, (STOP - 1) >> 8
    console.words[0, layout.SP], console.words[0, layout.PC] = 0xFD, NESTEST_START
    console.step(0, frames=10)
    official, unofficial = (int(code) for code in console.ram[0, NESTEST_CODES])
    ended = STOP <= int(console.words[0, layout.PC]) <= STOP + 2
    detail = f"error codes {official:02X} and {unofficial:02X}" + ("" if ended else "; it did not come to its end")
    return Verdict(name, PASSED if ended and official == unofficial == 0 else FAILED, detail)


def _status_verdict(console: Console, name: str) -> Verdict | None:
    """Follow $6000 to its end; None when the program never shows the signature."""
    from holdfast.nes.layout import PRG_RAM_AT

    start = int(console.words[0, PRG_RAM_AT])
    waited = 0
    for _ in range(TEST_FRAMES // EVERY):
        console.step(0, frames=EVERY)
        memory = console.state[0, start : start + 8192]
        if console.jammed[0]:
            return Verdict(name, FAILED, "the program jammed the CPU")
        if memory[1:4].tobytes() != SIGNATURE:
            continue
        waited = waited + 1 if memory[0] == NEEDS_RESET else 0
        if waited == 2:  # the programs ask for at least 100 ms before the reset
            console.reset()
        elif memory[0] < RUNNING:
            text = memory[4:].tobytes().split(b"\0")[0].decode("ascii", "replace")
            return Verdict(name, PASSED if memory[0] == 0 else FAILED, last_words(text))
    return None


def last_words(text: str) -> str:
    """The end of a report, without colour codes."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[-120:]


def screen_text(console: Console) -> str:
    """The first screen as characters: these programs use tiles in ASCII order."""
    from holdfast.nes.layout import SCREENS

    names = console.state[0, SCREENS : SCREENS + 960].tolist()
    return " ".join("".join(chr(code) if 32 <= code < 127 else " " for code in names).split())


def _screen_verdict(console: Console, name: str) -> Verdict:
    text = screen_text(console)
    words = text.upper().replace("#", " ").replace(".", " ").replace(":", " ").split()
    verdict = NO_VERDICT
    if {"FAILED", "FAIL", "ERROR"} & set(words) or (len(words) == 1 and words[0] in CODES):
        verdict = FAILED
    elif {"PASSED", "PASS"} & set(words) or words == ["$01"]:
        verdict = PASSED
    return Verdict(name, verdict, f"on the screen: {text[-120:]!r}" if text else "nothing that can be read in a minute")

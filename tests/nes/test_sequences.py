"""Joined handlers against single steps: every sequence, stopped at every moment, across pages and within them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nes.test_twin import differing_fields, scramble

from holdfast.kit.compiled import kernel
from holdfast.nes import Console, load_rom
from holdfast.nes import layout as L
from holdfast.nes.assembler import ines_file
from holdfast.nes.decode import JOIN, LONGEST_SEQUENCE, decode_program
from holdfast.nes.handlers import longest_dots
from holdfast.nes.native import run_machine
from holdfast.nes.opcodes import BRANCHES, OPCODES
from holdfast.nes.plain import step
from holdfast.nes.sequences import learn
from holdfast.nes.weights import SEQUENCES

CODES = {(one.mnemonic, one.mode): one.code for one in OPCODES if one.official}
HIGH = {"ram": 0x03, "rom": 0x90, "bus": 0x40}
EACH = 64  # bytes of the program for each sequence; the rest of them is NOP
FIRST = 0x8000


@kernel
def run_until(row, words, rom, code, stop):  # type: ignore[no-untyped-def]
    run_machine(row, words, rom, code, stop)


def written(handler: str) -> bytes:
    """Machine code that decodes to this handler; operands near the end of a page."""
    name, _, way = handler.partition("_")
    if name in BRANCHES:
        return bytes([CODES[name, "rel"], 4])
    if handler in ("JMP", "JSR"):
        return bytes([CODES[name, "abs"], 0x00, 0xF0])
    if handler == "JMP_ind":
        return bytes([CODES[name, "ind"], 0xF4, HIGH["ram"]])
    mode, _, where = (way or "imp").partition("_")
    code = CODES[name, mode]
    if mode in ("imp", "acc"):
        return bytes([code])
    return bytes([code, 0x16 if where == "bus" else 0xF4, HIGH[where]]) if where else bytes([code, 0xF4])


def test_every_sequence_stops_where_single_steps_do() -> None:
    program = np.full(32768, 0xEA, np.uint8)
    for number, joined in enumerate(SEQUENCES):
        code = b"".join(written(handler) for handler in joined.split(JOIN))
        program[number * EACH : number * EACH + len(code)] = np.frombuffer(code, np.uint8)
    cartridge = load_rom(ines_file(program.tobytes(), bytes(8192)))
    decoded = decode_program(cartridge, SEQUENCES)
    console, plain = Console(cartridge), Console(cartridge)
    for number, joined in enumerate(SEQUENCES):
        assert decoded[FIRST + number * EACH].handler == joined
        longest = sum(map(longest_dots, joined.split(JOIN)[:-1]))
        for seed in range(6):
            console.power_on()
            scramble(console, seed)
            console.words[0, L.DOT], console.words[0, L.PC] = 30_000, FIRST + number * EACH
            console.words[0, L.INTERRUPT_DISABLE] = 1
            begun = console.save()
            for time in range(1, longest + 12, 3):
                console.load([0], begun)
                plain.load([0], begun)
                run_until(console.state[0], console.words[0], console.rom, console.code, 30_000 + time)
                while plain.words[0, L.DOT] < 30_000 + time:
                    step(plain.state[0], plain.words[0], plain.rom)
                for one in (console, plain):  # flags have several spellings within a frame
                    one.words[0, L.ZERO_VALUE] = one.words[0, L.ZERO_VALUE] != 0
                    one.words[0, L.NEGATIVE_VALUE] &= 0x80
                assert not differing_fields(console.words[0], plain.words[0]), (joined, seed, time)


@pytest.mark.parametrize(("merges", "left"), [(1, 11), (24, 2)])
def test_what_is_learned_pays_and_can_be_joined(merges: int, left: int) -> None:
    alone = ("INX", "CLC", "INY", "SEC", "DEX", "TAX", "DEY", "TYA", "INY")
    loop = [bytes([0xA5, 0x10]), bytes([0x85, 0x11]), bytes([0xD0, 0xF1])]  # LDA, STA, BNE: twelve in all
    parts = [*(bytes([CODES[name, "imp"]]) for name in alone), *loop]
    program = np.full(32768, 0xEA, np.uint8)
    program[: len(b"".join(parts))] = np.frombuffer(b"".join(parts), np.uint8)
    cartridge = load_rom(ines_file(program.tobytes(), bytes(8192)))
    runs = np.zeros(0x10000)
    runs[[FIRST + len(b"".join(parts[:count])) for count in range(len(parts))]] = 100.0
    sequences, weights = learn(cartridge, runs, merges)
    assert len(sequences) in (1, 2) and all(weights[name] == 100.0 for name in sequences)
    assert sum(weights.values()) == 100.0 * left
    assert max(len(name.split(JOIN)) for name in sequences) <= LONGEST_SEQUENCE

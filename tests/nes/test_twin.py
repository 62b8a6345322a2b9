"""The fast machine against the plain interpreter: random programs, random state, whole rows compared byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.nes import Console, load_rom
from holdfast.nes import layout as L
from holdfast.nes.assembler import ines_file
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.decode import decode_program
from holdfast.nes.draw_plainly import paint_plainly
from holdfast.nes.frame import run_frame_plainly
from holdfast.nes.machine import SEQUENCES
from holdfast.nes.opcodes import OPCODES
from holdfast.nes.weights import WEIGHTS

OFFICIAL = np.array([opcode.code for opcode in OPCODES if opcode.official and opcode.mnemonic != "BRK"], np.uint8)
NOT_JAM = np.array([opcode.code for opcode in OPCODES if opcode.mnemonic != "JAM"], np.uint8)


LENGTHS = np.array([opcode.length for opcode in OPCODES])
IS_BRANCH = np.array([opcode.mode == "rel" for opcode in OPCODES])


def random_program(random: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    """32 KB of instructions. Operands favour RAM, ROM, the registers and the edges of pages."""
    chosen = random.choice(codes, 16384)
    starts = np.concatenate([[0], np.cumsum(LENGTHS[chosen])[:-1]])
    chosen, starts = chosen[starts < 32760], starts[starts < 32760]
    count = len(chosen)
    high = random.choice([0x00, 0x01, 0x02, 0x07, 0x1E, 0x1F, 0x20, 0x40, 0x60, 0x80, 0x9F, 0xC0, 0xFF], count)
    edges, anything = random.choice([0x00, 0x7F, 0xFE, 0xFF], count), random.integers(256, size=count)
    low = np.where(random.random(count) < 0.3, edges, anything)
    low = np.where((LENGTHS[chosen] == 3) & (high == 0x40), low & 0x1F, low)
    low = np.where(IS_BRANCH[chosen], random.choice([2, 5, 20, 0xF0, 0xC0, 0x7F, 0x80], count), low)
    program = np.zeros(32768, np.uint8)
    program[starts] = chosen
    program[starts[LENGTHS[chosen] > 1] + 1] = low[LENGTHS[chosen] > 1]
    program[starts[LENGTHS[chosen] > 2] + 2] = high[LENGTHS[chosen] > 2]
    vectors = random.integers(0x8000, 0xFFF0, 3)
    program[0x7FFA:] = np.frombuffer(vectors.astype("<u2").tobytes(), np.uint8)
    return program


def random_cartridge(seed: int, codes: np.ndarray) -> Cartridge:
    random = np.random.default_rng(seed)
    tiles = random.integers(0, 256, 8192, dtype=np.uint8).tobytes() if seed % 3 else b""
    file = ines_file(
        random_program(random, codes).tobytes(), tiles, vertical_mirroring=bool(seed % 2), prg_ram=bool(seed % 5 == 0)
    )
    return load_rom(file)


def scramble(console: Console, seed: int) -> None:
    """Random memory and registers, within what the machine can hold."""
    random = np.random.default_rng(seed + 1)
    console.state[:, : L.PALETTE] = random.integers(0, 256, L.PALETTE, dtype=np.uint8)
    console.state[:, L.PALETTE : L.PALETTE + 32] = random.integers(0, 64, 32, dtype=np.uint8)
    for field in (L.A, L.X, L.Y, L.SP, L.CONTROL, L.MASK, L.OAM_ADDRESS):
        console.words[:, field] = random.integers(256)
    for field in (L.CARRY, L.OVERFLOW, L.DECIMAL, L.INTERRUPT_DISABLE):
        console.words[:, field] = random.integers(2)
    console.words[:, L.T] = random.integers(0x8000)
    console.words[:, L.V] = random.integers(0x8000)


def differing_fields(first: np.ndarray, second: np.ndarray) -> dict[str, tuple[int, int]]:
    names = {number: name for name, number in vars(L).items() if name.isupper() and isinstance(number, int)}
    return {
        f"{names.get(int(word), '')} word {word}": (int(first[word]), int(second[word]))
        for word in np.nonzero(first != second)[0][:8]
    }


def check_twins(seed: int, codes: np.ndarray, frames: int) -> None:
    console = Console(random_cartridge(seed, codes), 2)
    scramble(console, seed)
    plain_row, plain_words = console.state[1], console.words[1]
    pixels = np.empty(240 * 256, np.uint8)
    for frame in range(frames):
        buttons = (seed * 37 + frame * 11) % 256
        plain = plain_row.copy()
        console.step(buttons)
        plain_row[:] = plain
        plain_words[L.BUTTONS1], plain_words[L.BUTTONS2] = buttons, 0
        run_frame_plainly(plain_row, plain_words, console.rom)
        assert not differing_fields(console.words[0], plain_words), (seed, frame)
        if not console.notes[0] & L.NOTE_SPLITS_LOST:
            paint_plainly(plain_row, plain_words, console.rom, pixels)
            wrong = np.nonzero(console.pixels([0])[0].reshape(-1) != pixels)[0]
            assert not wrong.size, (seed, frame, wrong[:5])


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31))
@example(seed=225119)  # a PLP that masks interrupts, and one that comes due after it
def test_random_programs_of_official_opcodes_run_alike(seed: int) -> None:
    check_twins(seed, OFFICIAL, frames=3)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_random_programs_of_all_opcodes_run_alike(seed: int) -> None:
    check_twins(seed, NOT_JAM, frames=2)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_random_bytes_run_alike_and_stay_in_bounds(seed: int) -> None:
    check_twins(seed, np.arange(256, dtype=np.uint8), frames=2)


def test_the_real_game_runs_alike(mario: Cartridge) -> None:
    from holdfast.nes.bench import mario_inputs

    console, twin = Console(mario), Console(mario)
    for frame, buttons in enumerate(mario_inputs(600)):
        console.step(buttons)
        twin.words[0, L.BUTTONS1] = buttons
        run_frame_plainly(twin.state[0], twin.words[0], twin.rom)
        assert not differing_fields(console.words[0], twin.words[0]), frame


def test_joined_handlers_are_met_by_some_program(mario: Cartridge) -> None:
    used = {decoded.handler for decoded in decode_program(mario, SEQUENCES).values()}
    assert set(SEQUENCES) <= used
    assert set(WEIGHTS) <= used | set(WEIGHTS)


@pytest.mark.parametrize("vertical", [False, True])
def test_mirroring_decides_where_the_second_screen_lies(vertical: bool) -> None:
    cartridge = load_rom(ines_file(bytes(32768), vertical_mirroring=vertical))
    assert cartridge.vertical_mirroring is vertical

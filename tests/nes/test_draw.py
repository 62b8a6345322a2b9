"""Pictures painted one after the other with a kept background, against pixels worked out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.nes import Cartridge, Console, load_rom
from holdfast.nes import layout as L
from holdfast.nes.assembler import ines_file
from holdfast.nes.backgrounds import KEPT_WORDS
from holdfast.nes.draw import paint, paint_picture
from holdfast.nes.draw_plainly import paint_plainly
from holdfast.nes.start import power_on_row

TILES = np.random.default_rng(7).integers(0, 256, 8192, dtype=np.uint8).tobytes()
BOARDS = [
    load_rom(ines_file(bytes(32768), tiles, vertical_mirroring=vertical))
    for tiles, vertical in ((TILES, True), (TILES, False), (b"", True))
]
KEPT = [
    np.zeros(KEPT_WORDS, np.uint64) for _ in BOARDS
]  # never cleared: what earlier examples left in them must do no harm


def random_row(cartridge: Cartridge, random: np.random.Generator) -> np.ndarray:
    """Few different tiles, as in games, so that neighbours are often alike."""
    row = power_on_row(cartridge)
    row[L.SCREENS : L.OAM] = random.choice(random.integers(0, 256, random.integers(1, 6)), 2048)
    row[L.OAM : L.PALETTE] = random.integers(0, 256, 256)
    row[L.PALETTE : L.PALETTE + 32] = random.integers(0, 64, 32)
    if cartridge.has_chr_ram:
        row[row.view(np.int64)[L.CHR_AT] :][:8192] = random.integers(0, 256, 8192)
    return row


def change(row: np.ndarray, cartridge: Cartridge, random: np.random.Generator) -> None:
    """What may happen between two pictures: memory, colours, scrolling, settings in any combination."""
    words = row.view(np.int64)
    for _ in range(random.integers(0, 4)):
        row[L.SCREENS + random.integers(0, 2048)] = random.integers(256)
    if random.random() < 0.3:
        row[L.PALETTE + random.integers(0, 32)] = random.integers(64)
    if cartridge.has_chr_ram:
        row[words[L.CHR_AT] + random.integers(0, 8192)] ^= 255
    lines = [0, *np.unique(random.integers(1, 240, random.integers(0, 4))).tolist()]
    for index, line in enumerate(lines):
        words[L.LOG + index] = line | int(random.integers(1 << 49)) << 8
        words[L.LOG + index] |= 0x18 << 49 if random.random() < 0.7 else 0
    words[L.SPLITS] = len(lines)


def wrong_pixels(row: np.ndarray, rom: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Where the two fast ways to paint differ from the plain one."""
    words, pixels = row.view(np.int64), np.empty((3, 240 * 256), np.uint8)
    paint_picture(row, words, rom, pixels[0].view(np.uint64), kept, True)
    paint(row, words, rom, pixels[1].view(np.uint64))
    paint_plainly(row, words, rom, pixels[2])
    return np.nonzero((pixels[:2] != pixels[2]).any(axis=0))[0]


@pytest.mark.parametrize("board", range(len(BOARDS)))
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31))
def test_pictures_one_after_the_other_equal_single_pixels(board: int, seed: int) -> None:
    random, cartridge = np.random.default_rng(seed), BOARDS[board]
    rom = np.concatenate([cartridge.program, cartridge.tiles])
    row = random_row(cartridge, random)
    for picture in range(5):
        change(row, cartridge, random)
        wrong = wrong_pixels(row, rom, KEPT[board])
        assert not wrong.size, (seed, picture, divmod(int(wrong[0]), 256), wrong.size)


def test_the_kept_background_is_used(mario: Cartridge) -> None:
    """Spoiled on purpose, it shows; so a picture is not painted anew each time."""
    console = Console(mario)
    console.step(0, frames=60)
    row, kept = console.state[0], np.zeros(KEPT_WORDS, np.uint64)
    assert not wrong_pixels(row, console.rom, kept).size
    kept.reshape(32, -1)[10, -768:] ^= np.uint64(1)
    assert wrong_pixels(row, console.rom, kept).size

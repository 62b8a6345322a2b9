"""Rows of background tiles in colours: painted once, or kept from picture to picture and mended where they changed.

A pattern byte becomes a mask of eight bytes through a table, and the four colours of a palette are mixed with two such
masks: c0 ^ (m1 & d1) ^ (m2 & d2) ^ (m1 & m2 & d3). A kept row holds 64 tiles (both screens side by side) and, for every
eight of them, what they were painted from: tile numbers, palettes, pattern table and colours. These are compared with
the console's memory before each picture. So nobody has to mark what he writes, a loaded state needs no care, and the
same memory may serve one lane after the other, as long as they have the same cartridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.nes.inner import inner, inner_inlined
from holdfast.nes.layout import PALETTE, SCREENS, VERTICAL

int64: Any = np.int64
Array = Any

OPAQUE = 0x40  # mark of a background pixel that is not the backdrop
BACKDROP = 12  # its place behind the colour differences of four palettes

ROWS, GROUPS = 32, 8  # rows 30 and 31 show attributes as tiles, when a program scrolls there
NAMES, LOOK, LOW_COLOURS, HIGH_COLOURS, KEYS = 0, 1, 2, 3, 4  # what a group of eight tiles was painted from
PIXELS = GROUPS * KEYS
LINE_WORDS = 96  # 64 tiles and the first 32 again, so that a window of 33 is never cut in two
ROW_WORDS = PIXELS + 8 * LINE_WORDS
KEPT_WORDS = ROWS * ROW_WORDS
SHOWN_GROUPS = 5  # that a window of 33 tiles can touch

# Memory of a picture that is painted once: eight lines of 33 tiles, then eight words for each tile in each palette.
BAND_WORDS = 40
MIXED = 8 * BAND_WORDS
ONCE_WORDS = MIXED + 4 * 256 * 8

MIXED_TILES = 4 * 256  # for each tile in each palette: whether, or where, it has been mixed for this picture


def _expanded(byte: int) -> int:
    """Eight bytes, 0xFF where the pattern has a bit; the leftmost pixel (bit 7) is the lowest byte."""
    return sum(0xFF << (8 * pixel) for pixel in range(8) if byte >> (7 - pixel) & 1)


EXPANDED = np.array([_expanded(byte) for byte in range(256)], np.uint64)
FLIPPED = np.array([_expanded(int(f"{byte:08b}"[::-1], 2)) for byte in range(256)], np.uint64)
REPEATED = np.array([byte * 0x0101010101010101 for byte in range(256)], np.uint64)


@inner
def forget(kept: Array) -> None:
    """Nothing in this memory is worth keeping."""
    keys = kept.view(np.int64)
    for row in range(ROWS):
        for group in range(GROUPS):
            keys[row * ROW_WORDS + group * KEYS + LOOK] = 0  # no look is 0: pattern tables lie behind the program


@inner
def colour_differences(row: Array, colours: Array) -> None:
    """[13]: for each background palette, what two mask bits change in the backdrop's colour; then the backdrop."""
    backdrop = int64(row[PALETTE])
    for palette in range(4):
        first = int64(row[PALETTE + palette * 4 + 1]) | OPAQUE
        second = int64(row[PALETTE + palette * 4 + 2]) | OPAQUE
        third = int64(row[PALETTE + palette * 4 + 3]) | OPAQUE
        colours[palette * 3] = REPEATED[backdrop ^ first]
        colours[palette * 3 + 1] = REPEATED[backdrop ^ second]
        colours[palette * 3 + 2] = REPEATED[backdrop ^ first ^ second ^ third]
    colours[BACKDROP] = REPEATED[backdrop]


@inner_inlined
def pack_colours(row: Array, palette: int) -> int:
    """The backdrop and the colours of two palettes in one word."""
    at = PALETTE + palette * 4
    first = int64(row[at + 1]) << 8 | int64(row[at + 2]) << 16 | int64(row[at + 3]) << 24
    second = int64(row[at + 5]) << 32 | int64(row[at + 6]) << 40 | int64(row[at + 7]) << 48
    return int64(row[PALETTE]) | first | second


@inner_inlined
def changed_palettes(low: int, high: int) -> int:
    """A bit for each palette, from the differences of packed colours; the backdrop shows in all of them."""
    if (low | high) & 0xFF:
        return 15
    changed = 1 if low & 0xFFFFFF00 else 0
    changed |= 2 if low >> 32 else 0
    changed |= 4 if high & 0xFFFFFF00 else 0
    return changed | (8 if high >> 32 else 0)


@inner
def mix_anew(mixed: Array) -> None:
    """Nothing has been mixed with these patterns. A loop, because a slice assignment is not turned into vector code."""
    for tile in range(MIXED_TILES):
        mixed[tile] = 0


@inner_inlined
def mix_tile(tiles: Array, at: int, palette: int, colours: Array, out: Array, place: int, stride: int) -> None:
    """Eight lines of a tile in the colours of a palette, each one uint64."""
    first, second, third = colours[palette * 3], colours[palette * 3 + 1], colours[palette * 3 + 2]
    backdrop = colours[BACKDROP]
    for line in range(8):
        mask1, mask2 = EXPANDED[tiles[at + line]], EXPANDED[tiles[at + line + 8]]
        out[place + line * stride] = backdrop ^ (mask1 & first) ^ (mask2 & second) ^ (mask1 & mask2 & third)


@inner
def paint_row(
    row: Array, words: Array, tiles: Array, patterns: int, v: int, lines: int, colours: Array, mixed: Array, band: Array
) -> None:
    """Some lines of the 33 tiles on V's row of tiles, once; a tile is mixed when it is first met."""
    row_of_tiles, fine_y = (v >> 5) & 31, (v >> 12) & 7
    for index in range(33):
        x = (v & 31) + index
        column = x & 31
        screen = ((v >> 10) & 3) ^ (x >> 5)  # bit 0: right half, bit 1: lower half
        start = SCREENS + ((screen & 1) if words[VERTICAL] else (screen >> 1)) * 1024
        tile = int64(row[start + row_of_tiles * 32 + column])
        attributes = int64(row[start + 960 + (row_of_tiles >> 2) * 8 + (column >> 2)])
        palette = (attributes >> ((row_of_tiles & 2) << 1 | (column & 2))) & 3
        place = MIXED + ((palette << 8 | tile) << 3)
        if mixed[palette << 8 | tile] == 0:
            mixed[palette << 8 | tile] = 1
            mix_tile(tiles, patterns + tile * 16, palette, colours, band, place, 1)
        if lines == 8:
            for line in range(8):
                band[line * BAND_WORDS + index] = band[place + line]
        else:
            for line in range(lines):
                band[line * BAND_WORDS + index] = band[place + fine_y + line]


@inner
def mix_group(
    tiles: Array, patterns: int, names: int, attributes: int, before: tuple[int, int, int], colours: Array,
    kept: Array, place: int, again: int,
) -> None:  # fmt: skip
    """Those of eight tiles that changed. `before` holds their numbers, their attributes and which palettes changed."""
    old_names, old_attributes, changed = before
    for index in range(8):
        tile, shift = (names >> (8 * index)) & 0xFF, (index >> 2) * 8 + (index & 2)
        palette = (attributes >> shift) & 3
        moved = tile != (old_names >> (8 * index)) & 0xFF or palette != (old_attributes >> shift) & 3
        if moved or (changed >> palette) & 1:
            mix_tile(tiles, patterns + tile * 16, palette, colours, kept, place + index, LINE_WORDS)
            if again:
                for line in range(8):
                    kept[place + index + again + line * LINE_WORDS] = kept[place + index + line * LINE_WORDS]


@inner
def keep_row(
    words: Array, tiles: Array, patterns: int, v: int, packed: tuple[int, int], colours: Array, kept: Array
) -> None:
    """Bring the kept row up to date as far as V's window of 33 tiles sees it. `packed` are all colours in two words."""
    keys = kept.view(np.int64)
    low, high = packed
    tile_row, below = (v >> 5) & 31, (v >> 11) & 1
    first_group = (v & 31) >> 3 | (v >> 8) & 4
    for step in range(SHOWN_GROUPS):
        group = (first_group + step) & 7
        side, quarter = group >> 2, group & 3
        screen = (SCREENS + 1024 * (side if words[VERTICAL] else below)) >> 3
        names = words[screen + tile_row * 4 + quarter]
        attributes = words[screen + 120 + (tile_row >> 2)] >> (((tile_row & 2) << 1) + quarter * 16) & 0x0F0F
        look = attributes | patterns << 16
        key = tile_row * ROW_WORDS + group * KEYS
        low_difference, high_difference = low ^ keys[key + LOW_COLOURS], high ^ keys[key + HIGH_COLOURS]
        if names == keys[key + NAMES] and look == keys[key + LOOK] and low_difference | high_difference == 0:
            continue
        changed = changed_palettes(low_difference, high_difference)
        if keys[key + LOOK] >> 16 != patterns:
            changed = 15
        place = tile_row * ROW_WORDS + PIXELS + group * 8
        before = (keys[key + NAMES], keys[key + LOOK] & 0xFFFF, changed)
        mix_group(tiles, patterns, names, attributes, before, colours, kept, place, 0 if side else 64)
        keys[key + NAMES], keys[key + LOOK] = names, look
        keys[key + LOW_COLOURS], keys[key + HIGH_COLOURS] = low, high

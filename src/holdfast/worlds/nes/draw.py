"""Paints a finished frame from a console's row: 240 x 256 palette indexes, only when somebody looks.

Eight pixels travel in one uint64. A pattern byte becomes a mask of eight bytes through a table, and the four colours of
a palette are mixed with two such masks: c0 ^ (m1 & d1) ^ (m2 & d2) ^ (m1 & m2 & d3). While a line is being painted,
bit 6 marks an opaque background and bit 7 a pixel that a sprite has claimed. `paint_plainly` is the twin: pixel by
pixel, straight from the description of the hardware. Sources: NESdev wiki, "PPU rendering", "PPU sprite priority".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.compiled import kernel
from holdfast.worlds.nes.layout import CHR_AT, LOG, OAM, PALETTE, SCREENS, SPLITS, TILES_IN_ROM, VERTICAL
from holdfast.worlds.nes.ppu import lines_down, palette_offset, read_tile, screen_offset

int64: Any = np.int64
uint64: Any = np.uint64
Array = Any

LINES, COLUMNS = 240, 256
WORDS_PER_LINE = COLUMNS // 8
OPAQUE = 0x40
CLAIMED = 0x80


def _expanded(byte: int) -> int:
    """Eight bytes, 0xFF where the pattern has a bit; the leftmost pixel (bit 7) is the lowest byte."""
    return sum(0xFF << (8 * pixel) for pixel in range(8) if byte >> (7 - pixel) & 1)


EXPANDED = np.array([_expanded(byte) for byte in range(256)], np.uint64)
REPEATED = np.array([byte * 0x0101010101010101 for byte in range(256)], np.uint64)


@kernel
def split_settings(entry: int) -> tuple[int, int, int]:
    """Fine X, control and mask of a log entry."""
    settings = entry >> 38
    return settings & 7, (settings >> 3) & 0xFF, (settings >> 11) & 0xFF


@kernel
def colour_differences(row: Array, differences: Array) -> None:
    """[12]: for each background palette, what two mask bits change in the backdrop's colour."""
    backdrop = int64(row[PALETTE])
    for palette in range(4):
        first = int64(row[PALETTE + palette * 4 + 1]) | OPAQUE
        second = int64(row[PALETTE + palette * 4 + 2]) | OPAQUE
        third = int64(row[PALETTE + palette * 4 + 3]) | OPAQUE
        differences[palette * 3] = REPEATED[backdrop ^ first]
        differences[palette * 3 + 1] = REPEATED[backdrop ^ second]
        differences[palette * 3 + 2] = REPEATED[backdrop ^ first ^ second ^ third]


@kernel
def fetch_names(row: Array, words: Array, v: int, table: int, places: Array) -> None:
    """Pattern address and palette of the 33 tiles on V's row of tiles: `places` [66]."""
    vertical = words[VERTICAL]
    row_of_tiles = (v >> 5) & 31
    for index in range(33):
        x = (v & 31) + index
        column = x & 31
        screen = ((v >> 10) & 3) ^ (x >> 5)  # bit 0: right half, bit 1: lower half
        start = SCREENS + ((screen & 1) if vertical else (screen >> 1)) * 1024
        tile = int64(row[start + row_of_tiles * 32 + column])
        attributes = int64(row[start + 960 + (row_of_tiles >> 2) * 8 + (column >> 2)])
        shift = (row_of_tiles & 2) << 1 | (column & 2)
        places[index] = table + tile * 16
        places[33 + index] = ((attributes >> shift) & 3) * 3


@kernel
def paint_background_line(
    tiles: Array, start: int, places: Array, fine_y: int, fine_x: int, backdrop: Any, differences: Array, line: Array
) -> None:
    """33 tiles into `line` [34], then shifted left by fine X."""
    for index in range(33):
        at = (start + places[index] + fine_y) & 0xFFFF
        mask1, mask2 = EXPANDED[tiles[at]], EXPANDED[tiles[at + 8]]
        palette = places[33 + index] & 15
        mixed = (mask1 & differences[palette]) ^ (mask2 & differences[palette + 1])
        line[index] = backdrop ^ mixed ^ (mask1 & mask2 & differences[palette + 2])
    if fine_x:
        right, left = uint64(8 * fine_x), uint64(64 - 8 * fine_x)
        for index in range(32):
            line[index] = (line[index] >> right) | (line[index + 1] << left)


@kernel
def list_sprites(row: Array, height: int, counts: Array, listed: Array) -> None:
    """The first eight sprites of each line, in the order of sprite memory; [240] and [240 * 8]."""
    counts[:] = 0
    for sprite in range(64):
        top = int64(row[OAM + sprite * 4]) + 1
        for line in range(top, min(top + height, LINES)):
            count = counts[line]
            if count < 8:
                listed[line * 8 + count] = sprite
                counts[line] = count + 1


@kernel
def paint_sprite_line(
    row: Array, tiles: Array, start: int, sprite: int, line: int, control: int, clip: int, pixels: Array
) -> None:
    """One line of one sprite over `pixels`, whose bytes carry the marks described above."""
    top, tile = int64(row[OAM + sprite * 4]) + 1, int64(row[OAM + sprite * 4 + 1])
    attributes, left = int64(row[OAM + sprite * 4 + 2]), int64(row[OAM + sprite * 4 + 3])
    tall = control & 0x20
    offset = line - top
    if attributes & 0x80:
        offset = (15 if tall else 7) - offset
    if tall:
        at = (tile & 1) << 12 | (tile & 0xFE) << 4 | (offset & 8) << 1
    else:
        at = (control & 0x08) << 9 | tile << 4
    low = int64(tiles[start + at + (offset & 7)])
    high = int64(tiles[start + at + (offset & 7) + 8])
    if low | high == 0:
        return
    palette = PALETTE + 16 + (attributes & 3) * 4
    for pixel in range(8):
        shift = pixel if attributes & 0x40 else 7 - pixel
        colour = (low >> shift) & 1 | ((high >> shift) & 1) << 1
        x = left + pixel
        if colour and x < COLUMNS and x >= clip:
            place = line * COLUMNS + x
            below = int64(pixels[place])
            if below & CLAIMED == 0:
                if attributes & 0x20 and below & OPAQUE:
                    pixels[place] = below | CLAIMED
                else:
                    pixels[place] = int64(row[palette + colour]) | CLAIMED


@kernel
def paint(row: Array, words: Array, rom: Array, pixels: Array, groups: Array) -> None:
    """The last finished picture into `pixels` uint8 [61440]; `groups` is the same memory as uint64 [7680]."""
    places, line_words = np.empty(66, np.int64), np.empty(34, np.uint64)
    counts, listed = np.empty(LINES, np.int64), np.empty(LINES * 8, np.int64)
    differences = np.empty(12, np.uint64)
    colour_differences(row, differences)
    tiles, start = (row, words[CHR_AT]) if words[CHR_AT] else (rom, int64(TILES_IN_ROM))
    backdrop = REPEATED[int64(row[PALETTE])]
    height = 16 if (words[LOG] >> 38 >> 3) & 0x20 else 8
    list_sprites(row, height, counts, listed)
    splits = words[SPLITS]
    for split in range(splits):
        entry = words[LOG + split]
        first_line = entry & 0xFF
        last_line = words[LOG + split + 1] & 0xFF if split + 1 < splits else LINES
        v, t = (entry >> 8) & 0x7FFF, (entry >> 23) & 0x7FFF
        fine_x, control, mask = split_settings(entry)
        shown = REPEATED[0x30] if mask & 1 else REPEATED[0x3F]
        clip = 0 if mask & 0x04 else 8
        fetched = -1
        for line in range(first_line, last_line):
            base = (line & 0xFF) * WORDS_PER_LINE
            if mask & 0x08:
                if v & 0x0FFF != fetched:
                    fetch_names(row, words, v, (control & 0x10) << 8, places)
                    fetched = v & 0x0FFF
                paint_background_line(tiles, start, places, (v >> 12) & 7, fine_x, backdrop, differences, line_words)
                if mask & 0x02 == 0:
                    line_words[0] = backdrop
            else:
                line_words[:] = backdrop
            if mask & 0x10 and counts[line]:
                for index in range(WORDS_PER_LINE):
                    groups[base + index] = line_words[index]
                for order in range(counts[line]):
                    paint_sprite_line(row, tiles, start, listed[line * 8 + order], line, control, clip, pixels)
                for index in range(WORDS_PER_LINE):
                    groups[base + index] &= shown
            else:
                for index in range(WORDS_PER_LINE):
                    groups[base + index] = line_words[index] & shown
            if mask & 0x18:
                v = lines_down(v, t, 1)


@kernel
def line_emphasis(words: Array, emphasis: Array) -> None:
    """The three colour emphasis bits of each line, [240]; they choose among the RGB tables."""
    for split in range(words[SPLITS]):
        entry = words[LOG + split]
        emphasis[entry & 0xFF :] = split_settings(entry)[2] >> 5


@kernel
def background_pixel(row: Array, words: Array, rom: Array, v: int, fine_x: int, control: int, x: int) -> int:
    """Palette entry (0-15, 0 when transparent) of a background pixel on V's line."""
    column = (v & 31) * 8 + fine_x + x
    name = (v & 0x0C00) ^ (0x0400 if column & 0x100 else 0)
    tile_x, tile_y = (column >> 3) & 31, (v >> 5) & 31
    screen = SCREENS + screen_offset(words, 0x2000 | name)
    tile = int64(row[screen + tile_y * 32 + tile_x])
    attributes = int64(row[screen + 960 + tile_y // 4 * 8 + tile_x // 4])
    at = ((control & 0x10) << 8) + tile * 16 + (v >> 12)
    bit = 7 - (column & 7)
    colour = (read_tile(row, words, rom, at) >> bit & 1) + 2 * (read_tile(row, words, rom, at + 8) >> bit & 1)
    quarter = tile_y // 2 % 2 * 2 + tile_x // 2 % 2
    return colour + 4 * (attributes >> (2 * quarter) & 3) if colour else 0


@kernel
def sprite_pixel(row: Array, words: Array, rom: Array, control: int, line: int, x: int) -> int:
    """Palette entry (16-31) of the foremost sprite pixel, plus 32 if it lies behind the background; 0 for none."""
    height = 16 if control & 0x20 else 8
    found = 0
    for sprite in range(64):
        offset = line - int64(row[OAM + sprite * 4]) - 1
        if offset < 0 or offset >= height:
            continue
        found += 1
        if found > 8:
            break
        tile, attributes = int64(row[OAM + sprite * 4 + 1]), int64(row[OAM + sprite * 4 + 2])
        column = x - int64(row[OAM + sprite * 4 + 3])
        if column < 0 or column > 7:
            continue
        if attributes & 0x80:
            offset = height - 1 - offset
        if height == 16:
            at = (tile & 1) * 4096 + (tile - tile % 2 + offset // 8) * 16 + offset % 8
        else:
            at = (4096 if control & 8 else 0) + tile * 16 + offset
        bit = column if attributes & 0x40 else 7 - column
        colour = (read_tile(row, words, rom, at) >> bit & 1) + 2 * (read_tile(row, words, rom, at + 8) >> bit & 1)
        if colour:
            return 16 + 4 * (attributes & 3) + colour + (attributes & 0x20)
    return 0


@kernel
def paint_plainly(row: Array, words: Array, rom: Array, pixels: Array) -> None:
    """The twin of `paint`: each pixel on its own."""
    for line in range(LINES):
        split = 0
        for later in range(1, words[SPLITS]):
            if words[LOG + later] & 0xFF <= line:
                split = later
        entry = words[LOG + split]
        fine_x, control, mask = split_settings(entry)
        v = (entry >> 8) & 0x7FFF
        if mask & 0x18 and line > entry & 0xFF:
            v = lines_down(v, (entry >> 23) & 0x7FFF, line - (entry & 0xFF))
        for x in range(COLUMNS):
            behind = 0
            if mask & 0x08 and (x >= 8 or mask & 0x02):
                behind = background_pixel(row, words, rom, v, fine_x, control, x)
            front = 0
            if mask & 0x10 and (x >= 8 or mask & 0x04):
                front = sprite_pixel(row, words, rom, control, line, x)
            chosen = behind
            if front and (behind == 0 or not front & 32):
                chosen = front & 31
            colour = int64(row[PALETTE + palette_offset(chosen)])
            pixels[line * COLUMNS + x] = colour & 0x30 if mask & 1 else colour

"""The twin of draw.py: each pixel on its own, straight from the description of the hardware.

Sources: NESdev wiki, "PPU rendering", "PPU sprite priority".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.kit.compiled import kernel
from holdfast.nes.draw import COLUMNS, LINES, split_settings
from holdfast.nes.inner import inner
from holdfast.nes.layout import LOG, OAM, PALETTE, SCREENS, SPLITS
from holdfast.nes.ppu import lines_down, palette_offset, read_tile, screen_offset

int64: Any = np.int64
Array = Any


@inner
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


@inner
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

"""The screen as tiles: which tile of the cartridge each cell of 8 x 8 pixels shows, for worlds that need no pixels.

A kernel for one lane, to be called where a world reads RAM. It follows scrolling and splits like the painter; a cell
shows what lies under its middle. Tiles are numbered 0-511, the second half being those of the second pattern table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.kit.compiled import kernel
from holdfast.nes.draw import split_settings
from holdfast.nes.layout import LOG, OAM, SCREENS, SPLITS
from holdfast.nes.ppu import lines_down, screen_offset

int64: Any = np.int64
Array = Any

GRID_ROWS, GRID_COLUMNS = 30, 32
NOTHING = -1  # no sprite there, or no background shown
BACKGROUND, SPRITES = 0, 1


@kernel
def split_of_line(words: Array, line: int) -> int:
    """The entry of the split log that holds on a line."""
    split = 0
    while split + 1 < words[SPLITS] and words[LOG + split + 1] & 0xFF <= line:
        split += 1
    return words[LOG + split]


@kernel
def read_background(row: Array, words: Array, grid: Array) -> None:
    for cell_y in range(GRID_ROWS):
        line = cell_y * 8 + 4
        entry = split_of_line(words, line)
        fine_x, control, mask = split_settings(entry)
        if mask & 0x08 == 0:
            grid[cell_y, :] = NOTHING
            continue
        v = (entry >> 8) & 0x7FFF
        if line > entry & 0xFF:
            v = lines_down(v, (entry >> 23) & 0x7FFF, line - (entry & 0xFF))
        for cell_x in range(GRID_COLUMNS):
            x = (v & 31) * 8 + fine_x + cell_x * 8 + 4
            name = 0x2000 | ((v & 0x0C00) ^ ((x & 0x100) << 2)) | (v & 0x03E0) | ((x >> 3) & 31)
            grid[cell_y, cell_x] = int64(row[SCREENS + screen_offset(words, name)]) | (control & 0x10) << 4


@kernel
def read_sprites(row: Array, words: Array, grid: Array) -> None:
    """The foremost sprite whose middle lies in a cell; a tall sprite is two of them."""
    grid[:, :] = NOTHING
    for sprite in range(63, -1, -1):
        top, tile = int64(row[OAM + sprite * 4]) + 1, int64(row[OAM + sprite * 4 + 1])
        flipped, cell_x = int64(row[OAM + sprite * 4 + 2]) >> 7, (int64(row[OAM + sprite * 4 + 3]) + 4) >> 3
        if top >= GRID_ROWS * 8 or cell_x >= GRID_COLUMNS:
            continue
        _, control, mask = split_settings(split_of_line(words, top))
        tall = control & 0x20
        for half in range(2 if tall else 1):
            cell_y = (top + 8 * half + 4) >> 3
            if mask & 0x10 and cell_y < GRID_ROWS:
                if tall:
                    grid[cell_y, cell_x] = (tile & 1) << 8 | (tile & 0xFE) | (half ^ flipped)
                else:
                    grid[cell_y, cell_x] = tile | (control & 0x08) << 5


@kernel
def read_grid(row: Array, words: Array, grid: Array) -> None:
    """The last finished picture into `grid` int16 [2, 30, 32]: background, sprites; NOTHING where there is none."""
    read_background(row, words, grid[BACKGROUND])
    read_sprites(row, words, grid[SPRITES])

"""Paints a finished frame from a console's row: 240 x 256 palette indexes, only when somebody looks.

Eight pixels travel in one uint64. A pattern byte becomes a mask of eight bytes through a table, and the four colours of
a palette are mixed with two such masks: c0 ^ (m1 & d1) ^ (m2 & d2) ^ (m1 & m2 & d3). While a line is being painted,
bit 6 marks an opaque background and bit 7 a pixel that a sprite has claimed. `paint_plainly` is the twin: pixel by
pixel, straight from the description of the hardware. Sources: NESdev wiki, "PPU rendering", "PPU sprite priority".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.compiled import inlined, kernel
from holdfast.worlds.nes.layout import CHR_AT, LOG, OAM, PALETTE, SCREENS, SPLITS, TILES_IN_ROM, VERTICAL
from holdfast.worlds.nes.ppu import lines_down, palette_offset, read_tile, screen_offset

int64: Any = np.int64
uint64: Any = np.uint64
Array = Any

LINES, COLUMNS = 240, 256
WORDS_PER_LINE = COLUMNS // 8
# Places in the scratch memory of a picture, in uint64 words.
BACKDROP = 12  # after the colour differences of four palettes
BAND, BAND_WORDS = 16, 40  # up to eight lines of 33 tiles
MIXED = BAND + 8 * BAND_WORDS  # eight words for each of 256 tiles in four palettes
SCRATCH_WORDS = MIXED + 4 * 256 * 8

OPAQUE = 0x40


def _expanded(byte: int) -> int:
    """Eight bytes, 0xFF where the pattern has a bit; the leftmost pixel (bit 7) is the lowest byte."""
    return sum(0xFF << (8 * pixel) for pixel in range(8) if byte >> (7 - pixel) & 1)


EXPANDED = np.array([_expanded(byte) for byte in range(256)], np.uint64)
FLIPPED = np.array([_expanded(int(f"{byte:08b}"[::-1], 2)) for byte in range(256)], np.uint64)
REPEATED = np.array([byte * 0x0101010101010101 for byte in range(256)], np.uint64)


ONES, WHOLE, ALL_CLAIMED = np.uint64(0x0101010101010101), np.uint64(0xFF), np.uint64(0x8080808080808080)
SIX, SEVEN = np.uint64(6), np.uint64(7)


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


@inlined
def mix_tile(tiles: Array, at: int, differences: Array, palette: int, backdrop: Any, mixed: Array, place: int) -> None:
    """Eight lines of a tile in the colours of a palette, each one uint64, into `mixed` from `place` on."""
    first, second, third = differences[palette * 3], differences[palette * 3 + 1], differences[palette * 3 + 2]
    for line in range(8):
        mask1, mask2 = EXPANDED[tiles[at + line]], EXPANDED[tiles[at + line + 8]]
        mixed[place + line] = backdrop ^ (mask1 & first) ^ (mask2 & second) ^ (mask1 & mask2 & third)


@kernel
def paint_tiles(
    row: Array, words: Array, tiles: Array, patterns: int, v: int, lines: int, scratch: Array, known: Array
) -> None:
    """Some lines of the 33 tiles on V's row of tiles into the band of `scratch`. A tile is mixed once per picture."""
    vertical = words[VERTICAL]
    row_of_tiles, fine_y = (v >> 5) & 31, (v >> 12) & 7
    for index in range(33):
        x = (v & 31) + index
        column = x & 31
        screen = ((v >> 10) & 3) ^ (x >> 5)  # bit 0: right half, bit 1: lower half
        start = SCREENS + ((screen & 1) if vertical else (screen >> 1)) * 1024
        tile = int64(row[start + row_of_tiles * 32 + column])
        attributes = int64(row[start + 960 + (row_of_tiles >> 2) * 8 + (column >> 2)])
        palette = (attributes >> ((row_of_tiles & 2) << 1 | (column & 2))) & 3
        place = MIXED + ((palette << 8 | tile) << 3)
        if known[palette << 8 | tile] == 0:
            known[palette << 8 | tile] = 1
            mix_tile(tiles, patterns + tile * 16, scratch, palette, scratch[BACKDROP], scratch, place)
        if lines == 8:
            for line in range(8):
                scratch[BAND + line * BAND_WORDS + index] = scratch[place + line]
        else:
            for line in range(lines):
                scratch[BAND + line * BAND_WORDS + index] = scratch[place + fine_y + line]


@kernel
def list_sprites(row: Array, words: Array, counts: Array, listed: Array) -> None:
    """The first eight sprites of each line, in the order of sprite memory; [240], zeros before, and [240 * 8]."""
    splits = words[SPLITS]
    split = 0
    while split < splits:
        tall = (words[LOG + split] >> 41) & 0x20
        first_line, last_line = words[LOG + split] & 0xFF, LINES
        split += 1
        while split < splits and (words[LOG + split] >> 41) & 0x20 == tall:
            split += 1
        if split < splits:
            last_line = words[LOG + split] & 0xFF
        for sprite in range(64):
            top = int64(row[OAM + sprite * 4]) + 1
            for line in range(max(top, first_line), min(top + (16 if tall else 8), last_line)):
                count = counts[line]
                if count < 8:
                    listed[line * 8 + count] = sprite
                    counts[line] = count + 1


@inlined
def lay_over(groups: Array, place: int, colours: Any, solid: Any, behind: int) -> None:
    """Eight pixels of a sprite over eight of the picture, whose bytes carry the marks described above."""
    below = groups[place]
    free = solid & ~(((below >> SEVEN) & ONES) * WHOLE)
    shown = free
    if behind:
        shown = free & ~(((below >> SIX) & ONES) * WHOLE)
    groups[place] = (below & ~shown) | (colours & shown) | (free & ALL_CLAIMED)


@kernel
def paint_sprites(
    row: Array, words: Array, tiles: Array, start: int, counts: Array, listed: Array, groups: Array
) -> None:
    """All sprites, line by line, foremost first: mixed like tiles, moved to their column, where they may touch two
    groups. Then the marks of the line go."""
    splits = words[SPLITS]
    for split in range(splits):
        _, control, mask = split_settings(words[LOG + split])
        first_line = words[LOG + split] & 0xFF
        last_line = words[LOG + split + 1] & 0xFF if split + 1 < splits else LINES
        if mask & 0x10 == 0:
            continue
        shown = REPEATED[0x30] if mask & 1 else REPEATED[0x3F]
        clip = 0 if mask & 0x04 else 1
        tall = control & 0x20
        for line in range(first_line, last_line):
            if counts[line] == 0:
                continue
            base = (line & 0xFF) * WORDS_PER_LINE
            for order in range(counts[line]):
                entry = OAM + listed[line * 8 + order] * 4
                offset, tile = line - int64(row[entry]) - 1, int64(row[entry + 1])
                attributes, left = int64(row[entry + 2]), int64(row[entry + 3])
                if attributes & 0x80:
                    offset = (15 if tall else 7) - offset
                if tall:
                    at = start + ((tile & 1) << 12 | (tile & 0xFE) << 4 | (offset & 8) << 1) + (offset & 7)
                else:
                    at = start + ((control & 0x08) << 9 | tile << 4) + (offset & 7)
                if attributes & 0x40:
                    mask1, mask2 = FLIPPED[tiles[at]], FLIPPED[tiles[at + 8]]
                else:
                    mask1, mask2 = EXPANDED[tiles[at]], EXPANDED[tiles[at + 8]]
                palette = PALETTE + 16 + (attributes & 3) * 4
                first, second = REPEATED[row[palette + 1]], REPEATED[row[palette + 2]]
                both = mask1 & mask2
                colours = (mask1 & ~both & first) | (mask2 & ~both & second) | (both & REPEATED[row[palette + 3]])
                solid = mask1 | mask2
                group, shift = left >> 3, uint64((left & 7) * 8)
                if group >= clip:
                    lay_over(groups, base + group, colours << shift, solid << shift, attributes & 0x20)
                if left & 7 and group < WORDS_PER_LINE - 1:
                    back = uint64(64 - (left & 7) * 8)
                    lay_over(groups, base + group + 1, colours >> back, solid >> back, attributes & 0x20)
            for index in range(WORDS_PER_LINE):
                groups[base + index] &= shown


@kernel
def finish_lines(
    scratch: Array, fine_x: int, mask: int, counts: Array, groups: Array, first_line: int, lines: int
) -> None:
    """Shift lines of the band by fine X into the picture; where no sprite follows, the marks go at once."""
    right, left = uint64(8 * fine_x), uint64(64 - 8 * fine_x)
    for offset in range(lines):
        line = (first_line + offset) & 0xFF  # known not to be negative, so that the loops below become vector code
        base, band = line * WORDS_PER_LINE, BAND + offset * BAND_WORDS
        shown = REPEATED[0x30] if mask & 1 else REPEATED[0x3F]
        if mask & 0x10 and counts[line]:
            shown = REPEATED[0xFF]
        backdrop = scratch[BACKDROP] & shown
        if mask & 0x08 == 0:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = backdrop
        elif fine_x:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = ((scratch[band + index] >> right) | (scratch[band + index + 1] << left)) & shown
        else:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = scratch[band + index] & shown
        if mask & 0x02 == 0:
            groups[base] = backdrop


@kernel
def paint(row: Array, words: Array, rom: Array, groups: Array) -> None:
    """The last finished picture into `groups` uint64 [7680], which is 240 x 256 bytes seen eight at a time."""
    scratch, known = np.empty(SCRATCH_WORDS, np.uint64), np.zeros(1024, np.uint8)
    counts, listed = np.zeros(LINES, np.int64), np.empty(LINES * 8, np.int64)
    colour_differences(row, scratch)
    scratch[BACKDROP] = REPEATED[int64(row[PALETTE])]
    tiles, start = (row, words[CHR_AT]) if words[CHR_AT] else (rom, int64(TILES_IN_ROM))
    list_sprites(row, words, counts, listed)
    splits = words[SPLITS]
    mixed_table = -1
    for split in range(splits):
        entry = words[LOG + split]
        line = entry & 0xFF
        last_line = words[LOG + split + 1] & 0xFF if split + 1 < splits else LINES
        v, t = (entry >> 8) & 0x7FFF, (entry >> 23) & 0x7FFF
        fine_x, control, mask = split_settings(entry)
        table = (control & 0x10) << 8
        if table != mixed_table:
            known[:] = 0
            mixed_table = table
        while line < last_line:
            lines = min(8 - ((v >> 12) & 7), last_line - line)
            if (v ^ t) & 0x041F:  # X comes back from T after one line
                lines = 1
            if mask & 0x08:
                paint_tiles(row, words, tiles, start + table, v, lines, scratch, known)
            finish_lines(scratch, fine_x, mask, counts, groups, line, lines)
            line += lines
            if mask & 0x18:
                v = lines_down(v, t, lines)
    paint_sprites(row, words, tiles, start, counts, listed, groups)


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

"""Paints a finished frame from a console's row: 240 x 256 palette indexes, only when somebody looks.

Eight pixels travel in one uint64. Rows of background tiles come ready from backgrounds.py and are shifted into the
picture; sprites are mixed the same way and laid over it. While a line is being painted, bit 6 marks an opaque
background and bit 7 a pixel that a sprite has claimed. `draw_plainly.paint_plainly` is the twin: pixel by pixel,
straight from the description of the hardware. Sources: NESdev wiki, "PPU rendering", "PPU sprite priority".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.kit.compiled import kernel
from holdfast.nes.backgrounds import (
    BACKDROP,
    BAND_WORDS,
    EXPANDED,
    FLIPPED,
    LINE_WORDS,
    MIXED_TILES,
    ONCE_WORDS,
    PIXELS,
    REPEATED,
    ROW_WORDS,
    colour_differences,
    forget,
    keep_row,
    mix_anew,
    pack_colours,
    paint_row,
)
from holdfast.nes.inner import inner, inner_inlined
from holdfast.nes.layout import CHR_AT, LOG, OAM, PALETTE, SPLITS, TILES_IN_ROM
from holdfast.nes.ppu import lines_down

int64: Any = np.int64
uint64: Any = np.uint64
Array = Any

LINES, COLUMNS = 240, 256
WORDS_PER_LINE = COLUMNS // 8

ONES, WHOLE, ALL_CLAIMED = np.uint64(0x0101010101010101), np.uint64(0xFF), np.uint64(0x8080808080808080)
SIX, SEVEN = np.uint64(6), np.uint64(7)


@kernel
def split_settings(entry: int) -> tuple[int, int, int]:
    """Fine X, control and mask of a log entry."""
    settings = entry >> 38
    return settings & 7, (settings >> 3) & 0xFF, (settings >> 11) & 0xFF


@inner
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


@inner_inlined
def lay_over(groups: Array, place: int, colours: Any, solid: Any, behind: int) -> None:
    """Eight pixels of a sprite over eight of the picture, whose bytes carry the marks described above."""
    below = groups[place]
    free = solid & ~(((below >> SEVEN) & ONES) * WHOLE)
    shown = free
    if behind:
        shown = free & ~(((below >> SIX) & ONES) * WHOLE)
    groups[place] = (below & ~shown) | (colours & shown) | (free & ALL_CLAIMED)


@inner
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


@inner
def finish_lines(
    memory: Array, place: int, stride: int, backdrop: Any, split: tuple[int, int], counts: Array, groups: Array,
    first: int, lines: int,
) -> None:  # fmt: skip
    """Shift lines of a row of tiles, from `place` on, by fine X into the picture; where no sprite follows, the marks go
    at once."""
    fine_x, mask = split
    right, left = uint64(8 * fine_x), uint64(64 - 8 * fine_x)
    for offset in range(lines):
        # Masked, hence known not to be negative, so that the loops below become vector code.
        line, start = (first + offset) & 0xFF, (place + offset * stride) & 0x7FFF
        base = line * WORDS_PER_LINE
        shown = REPEATED[0x30] if mask & 1 else REPEATED[0x3F]
        if mask & 0x10 and counts[line]:
            shown = REPEATED[0xFF]
        if mask & 0x08 == 0:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = backdrop & shown
        elif fine_x:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = ((memory[start + index] >> right) | (memory[start + index + 1] << left)) & shown
        else:
            for index in range(WORDS_PER_LINE):
                groups[base + index] = memory[start + index] & shown
        if mask & 0x02 == 0:
            groups[base] = backdrop & shown


@kernel
def paint_picture(row: Array, words: Array, rom: Array, groups: Array, memory: Array, keeps: bool) -> None:
    """The last finished picture into `groups` uint64 [7680], which is 240 x 256 bytes seen eight at a time.

    With `keeps`, `memory` [KEPT_WORDS] is what earlier pictures left (zeros at first); else it is [ONCE_WORDS].
    """
    colours, mixed = np.empty(BACKDROP + 1, np.uint64), np.empty(MIXED_TILES, np.int16)
    counts, listed = np.zeros(LINES, np.int64), np.empty(LINES * 8, np.int64)
    colour_differences(row, colours)
    packed = (pack_colours(row, 0), pack_colours(row, 2))
    tiles, start = (row, words[CHR_AT]) if words[CHR_AT] else (rom, int64(TILES_IN_ROM))
    if keeps and words[CHR_AT]:  # tiles may have changed
        forget(memory)
    list_sprites(row, words, counts, listed)
    splits, mixed_patterns = words[SPLITS], -1
    for split in range(splits):
        entry = words[LOG + split]
        line = entry & 0xFF
        last_line = words[LOG + split + 1] & 0xFF if split + 1 < splits else LINES
        v, t = (entry >> 8) & 0x7FFF, (entry >> 23) & 0x7FFF
        fine_x, control, mask = split_settings(entry)
        patterns = start + ((control & 0x10) << 8)
        if patterns != mixed_patterns:
            mix_anew(mixed)
            mixed_patterns = patterns
        while line < last_line:
            fine_y = (v >> 12) & 7
            lines = min(8 - fine_y, last_line - line)
            if (v ^ t) & 0x041F:  # X comes back from T after one line
                lines = 1
            place, stride = 0, BAND_WORDS
            if keeps:
                place = ((v >> 5) & 31) * ROW_WORDS + PIXELS + fine_y * LINE_WORDS + ((v & 31) | ((v >> 5) & 32))
                stride = LINE_WORDS
            if mask & 0x08:
                if keeps:
                    keep_row(words, tiles, patterns, v, packed, colours, memory)
                else:
                    paint_row(row, words, tiles, patterns, v, lines, colours, mixed, memory)
            finish_lines(memory, place, stride, colours[BACKDROP], (fine_x, mask), counts, groups, line, lines)
            line += lines
            if mask & 0x18:
                v = lines_down(v, t, lines)
    paint_sprites(row, words, tiles, start, counts, listed, groups)


@kernel
def paint(row: Array, words: Array, rom: Array, groups: Array) -> None:
    """A single picture, for those who do not keep anything."""
    paint_picture(row, words, rom, groups, np.empty(ONCE_WORDS, np.uint64), False)


@kernel
def line_emphasis(words: Array, emphasis: Array) -> None:
    """The three colour emphasis bits of each line, [240]; they choose among the RGB tables."""
    for split in range(words[SPLITS]):
        entry = words[LOG + split]
        emphasis[entry & 0xFF :] = split_settings(entry)[2] >> 5

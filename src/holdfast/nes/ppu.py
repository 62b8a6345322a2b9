"""The picture unit as a program sees it: registers, scrolling, the vertical blank and sprite 0, without a per-dot loop.

Time is the number of dots since the vertical blank began (scanline 241, dot 1). What a register shows is worked out
when it is read; what a write changes is put into a log of splits, from which draw.py paints the picture when asked.
Sources: NESdev wiki, "PPU registers", "PPU scrolling", "PPU rendering", "PPU OAM".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.nes.inner import inner, inner_inlined
from holdfast.nes.layout import (
    CHR_AT,
    CONTROL,
    FINE_X,
    FLAGS_CLEAR_DOT,
    FRAME_DOTS,
    LATE_OFF,
    LATE_ON,
    LOG,
    LOG_ENTRIES,
    MASK,
    NEVER,
    NMI,
    NMI_LATE,
    NOTE_MID_LINE,
    NOTE_PICTURE_MEMORY,
    NOTE_SPLITS_LOST,
    NOTES,
    OAM,
    OAM_ADDRESS,
    PALETTE,
    PICTURE,
    PICTURE_DOT,
    PPU_BUS,
    RACE_FLAG_READ,
    RACE_FLAG_READ_NO_NMI,
    RACE_NO_FLAG,
    READ_BUFFER,
    SCREENS,
    SPLITS,
    SPRITE0_AT,
    SPRITE0_BEFORE,
    SPRITE0_FROM,
    TILES_IN_ROM,
    UNKNOWN,
    V_LINE,
    VBLANK,
    VBLANK_RACE,
    VERTICAL,
    WRITE_TOGGLE,
    T,
    V,
)

int64: Any = np.int64
Array = Any  # NumPy arrays inside kernels: uint8 rows, int64 words


@inner_inlined
def screen_offset(words: Array, address: int) -> int:
    """Where a nametable address ($2000-$2FFF, any mirror) lies among the two screens of a row."""
    if words[VERTICAL]:
        return address & 0x7FF
    return ((address >> 1) & 0x400) | (address & 0x3FF)


@inner_inlined
def palette_offset(address: int) -> int:
    """$3F10, $3F14, $3F18 and $3F1C are the same cells as $3F00, $3F04, $3F08 and $3F0C."""
    return address & 0x0F if address & 3 == 0 else address & 0x1F


@inner_inlined
def read_tile(row: Array, words: Array, rom: Array, address: int) -> int:
    at = words[CHR_AT]
    if at:
        return int64(row[at + (address & 0x1FFF)])
    return int64(rom[TILES_IN_ROM + (address & 0x1FFF)])


@inner
def lines_down(v: int, t: int, lines: int) -> int:
    """V after this many line ends of a rendered picture: Y moves on, X comes back from T."""
    y = ((v >> 5) & 31) * 8 + ((v >> 12) & 7)
    screen = (v >> 11) & 1
    if y >= 240:  # rows 30 and 31 hold attributes; they wrap at 256 and stay on their screen
        to_wrap = 256 - y
        if lines < to_wrap:
            y, lines = y + lines, 0
        else:
            y, lines = 0, lines - to_wrap
    if y < 240:
        total = y + lines
        screen ^= (total // 240) & 1
        y = total % 240
    return (y & 7) << 12 | screen << 11 | (y >> 3) << 5 | (t & 0x041F)


@inner
def sync_scroll(words: Array, dot: int) -> None:
    """Bring V to this moment of the picture."""
    line = (dot + 1) // 341 - 21
    done = line if (dot + 1) % 341 >= 257 else line - 1
    done = min(done, 239)
    if done > words[V_LINE]:
        if words[MASK] & 0x18:
            words[V] = lines_down(words[V], words[T], done - words[V_LINE])
        words[V_LINE] = done


@inner
def pack_split(line: int, v: int, words: Array) -> int:
    settings = words[FINE_X] | (words[CONTROL] & 0xFF) << 3 | (words[MASK] & 0xFF) << 11
    return line | v << 8 | (words[T] & 0x7FFF) << 23 | settings << 38


@inner
def record_split(words: Array, dot: int) -> None:
    """Log the present scroll and settings from the next line on that they can change (sync_scroll has been called)."""
    line, column = (dot + 1) // 341 - 21, (dot + 1) % 341
    if line < 0 or line >= 240:
        return
    last = words[LOG + words[SPLITS] - 1]
    if words[MASK] & 0x18 == 0 and (last >> 49) & 0x18 == 0:  # a dark picture stays dark wherever V points
        return
    v = words[V]
    if column < 257:
        if column < 128:
            start = line
        else:  # too late for this line
            start = line + 1
            if words[MASK] & 0x18:
                v = lines_down(v, words[T], 1)
    else:
        start = line + 1
    if start >= 240:
        return
    count = words[SPLITS]
    if last & 0xFF != start:
        if count == LOG_ENTRIES:
            words[NOTES] |= NOTE_SPLITS_LOST
            return
        count += 1
    words[SPLITS] = count
    words[LOG + count - 1] = pack_split(start, v, words)


@inner
def begin_picture(words: Array) -> None:
    """The end of the pre-render line: flags are clear, the scroll is taken from T, a new log begins."""
    words[PICTURE] = 1
    words[VBLANK] = 0
    words[SPRITE0_AT] = UNKNOWN
    words[SPRITE0_FROM] = 0
    words[V_LINE] = -1
    if words[MASK] & 0x18:
        words[V] = words[T]
        words[OAM_ADDRESS] = 0
    words[SPLITS] = 1
    words[LOG] = pack_split(0, words[V], words)


@inner
def background_opaque(row: Array, words: Array, rom: Array, v: int, screen_x: int) -> int:
    """Is the background's pixel at this column of the line that V points to anything but the backdrop?"""
    x = (v & 31) * 8 + words[FINE_X] + screen_x
    column = (x >> 3) & 31
    name = 0x2000 | (((v & 0x0C00) ^ ((x & 0x100) << 2)) & 0x0C00) | (v & 0x03E0) | column
    tile = int64(row[SCREENS + screen_offset(words, name)])
    address = ((words[CONTROL] & 0x10) << 8) + tile * 16 + ((v >> 12) & 7)
    bits = read_tile(row, words, rom, address) | read_tile(row, words, rom, address + 8)
    return (bits >> (7 - (x & 7))) & 1


@inner
def find_sprite0(row: Array, words: Array, rom: Array) -> int:
    """The dot of the first opaque pixel of sprite 0 over an opaque background, with the present settings."""
    if words[MASK] & 0x18 != 0x18:
        return NEVER
    height = 16 if words[CONTROL] & 0x20 else 8
    top, tile, attributes, left = int64(row[OAM]) + 1, int64(row[OAM + 1]), int64(row[OAM + 2]), int64(row[OAM + 3])
    if height == 16:
        base = (tile & 1) << 12 | (tile & 0xFE) << 4
    else:
        base = (words[CONTROL] & 0x08) << 9 | tile << 4
    clipped = words[MASK] & 0x06 != 0x06
    first_line = words[V_LINE] + 1
    for offset in range(height):
        line = top + offset
        if line < first_line:
            continue
        if line > 239:
            break
        tile_row = height - 1 - offset if attributes & 0x80 else offset
        address = base + (tile_row & 7) + ((tile_row & 8) << 1)
        bits = read_tile(row, words, rom, address) | read_tile(row, words, rom, address + 8)
        if bits == 0:
            continue
        v = words[V] if line == first_line else lines_down(words[V], words[T], line - first_line)
        for pixel in range(8):
            shift = pixel if attributes & 0x40 else 7 - pixel
            x = left + pixel
            if (bits >> shift) & 1 and x < 255 and not (clipped and x < 8):
                at = (line + 21) * 341 + x
                if at >= words[SPRITE0_FROM] and background_opaque(row, words, rom, v, x):
                    return at
    return NEVER


@inner_inlined
def sprite0_dot(row: Array, words: Array, rom: Array) -> int:
    if words[SPRITE0_AT] == UNKNOWN:
        words[SPRITE0_AT] = find_sprite0(row, words, rom)
    return words[SPRITE0_AT]


@inner
def before_change(row: Array, words: Array, rom: Array, dot: int) -> None:
    """Called before anything a picture that has begun depends on changes: settles what has been sent so far."""
    if words[PICTURE] == 0:
        begin_picture(words)
    if sprite0_dot(row, words, rom) > dot:
        words[SPRITE0_AT] = UNKNOWN
        words[SPRITE0_FROM] = dot
    sync_scroll(words, dot)


@inner_inlined
def after_change(words: Array, dot: int) -> None:
    if dot >= PICTURE_DOT and dot < FRAME_DOTS:
        record_split(words, dot)


@inner_inlined
def note_picture_write(words: Array, dot: int) -> None:
    """Memory of a picture that is being sent: the change is drawn from the top (see the docs, 'scope')."""
    line = (dot + 1) // 341 - 21
    if words[MASK] & 0x18 and line >= 0 and line < 240:
        words[NOTES] |= NOTE_PICTURE_MEMORY


@inner_inlined
def note_mid_line(words: Array, dot: int) -> None:
    line, column = (dot + 1) // 341 - 21, (dot + 1) % 341
    if words[MASK] & 0x18 and line >= 0 and line < 240 and column > 0 and column < 257:
        words[NOTES] |= NOTE_MID_LINE


@inner_inlined
def vblank_shows(words: Array, dot: int) -> bool:
    """The flag is up until it is read or the pre-render line begins. Only at power-on it is up during a picture."""
    return words[VBLANK] != 0 and (dot < FLAGS_CLEAR_DOT or dot >= PICTURE_DOT)


@inner
def read_status(row: Array, words: Array, rom: Array, dot: int) -> int:
    """$2002 at this dot. Near the end of a frame the read and the coming flag race (NESdev, "PPU frame timing")."""
    status = words[PPU_BUS] & 0x1F
    if dot >= PICTURE_DOT and words[PICTURE] == 0:
        begin_picture(words)
    if vblank_shows(words, dot):
        status |= 0x80
        words[VBLANK] = 0
    if dot < FLAGS_CLEAR_DOT:
        status |= words[SPRITE0_BEFORE]
    elif dot >= PICTURE_DOT:
        if dot >= sprite0_dot(row, words, rom):
            status |= 0x40
        if dot >= FRAME_DOTS:
            if words[VBLANK_RACE] == 0:
                status |= 0x80
                words[VBLANK_RACE] = RACE_FLAG_READ_NO_NMI if dot - FRAME_DOTS < 2 else RACE_FLAG_READ
        elif dot == FRAME_DOTS - 1:
            words[VBLANK_RACE] = RACE_NO_FLAG
    words[WRITE_TOGGLE] = 0
    words[PPU_BUS] = status
    return status


@inner
def status_change_dot(row: Array, words: Array, rom: Array, dot: int) -> int:
    """The next dot at which $2002, read before, can show something else; for skipping loops that wait for it."""
    if dot < FLAGS_CLEAR_DOT:
        return FLAGS_CLEAR_DOT
    if words[PICTURE] == 0:
        return PICTURE_DOT
    at = sprite0_dot(row, words, rom)
    if at > dot and at < FRAME_DOTS - 1:
        return at
    return FRAME_DOTS - 1


@inner_inlined
def step_address(words: Array) -> None:
    words[V] = (words[V] + (32 if words[CONTROL] & 0x04 else 1)) & 0x7FFF


@inner_inlined
def read_data(row: Array, words: Array, rom: Array) -> int:
    """$2007: memory comes one read late, palettes at once."""
    address = words[V] & 0x3FFF
    if address < 0x2000:
        fetched = read_tile(row, words, rom, address)
    else:
        fetched = int64(row[SCREENS + screen_offset(words, address)])
    if address >= 0x3F00:
        value = int64(row[PALETTE + palette_offset(address)]) | (words[PPU_BUS] & 0xC0)
        if words[MASK] & 0x01:
            value &= 0xF0
    else:
        value = words[READ_BUFFER]
    words[READ_BUFFER] = fetched
    step_address(words)
    return value


@inner_inlined
def write_data(row: Array, words: Array, value: int) -> None:
    address = words[V] & 0x3FFF
    if address >= 0x3F00:
        row[PALETTE + palette_offset(address)] = value & 0x3F
    elif address >= 0x2000:
        row[SCREENS + screen_offset(words, address)] = value
    elif words[CHR_AT]:
        row[words[CHR_AT] + address] = value
    step_address(words)


@inner
def read_ppu(row: Array, words: Array, rom: Array, register: int, dot: int) -> int:
    if register == 2:
        return read_status(row, words, rom, dot)
    if register == 4:
        value = int64(row[OAM + words[OAM_ADDRESS]])
        words[PPU_BUS] = value & 0xE3 if words[OAM_ADDRESS] & 3 == 2 else value
    elif register == 7:
        if dot >= PICTURE_DOT:
            before_change(row, words, rom, dot)
        words[PPU_BUS] = read_data(row, words, rom)
    return words[PPU_BUS]


@inner
def write_ppu(row: Array, words: Array, rom: Array, register: int, value: int, dot: int) -> None:
    words[PPU_BUS] = value
    if dot >= PICTURE_DOT:
        before_change(row, words, rom, dot)
    if register == 0:
        risen, fallen = value & ~words[CONTROL] & 0x80, ~value & words[CONTROL] & 0x80
        if dot >= FRAME_DOTS and risen | fallen:
            words[NMI_LATE] = LATE_ON if risen else LATE_OFF
        if (value ^ words[CONTROL]) & 0x38:
            note_mid_line(words, dot)
        words[CONTROL] = value
        words[T] = (words[T] & 0x73FF) | (value & 3) << 10
        if risen and vblank_shows(words, dot):
            words[NMI] = 2
    elif register == 1:
        if (value ^ words[MASK]) & 0xFF:
            note_mid_line(words, dot)
        words[MASK] = value
    elif register == 3:
        words[OAM_ADDRESS] = value
    elif register == 4:
        note_picture_write(words, dot)
        row[OAM + words[OAM_ADDRESS]] = value
        words[OAM_ADDRESS] = (words[OAM_ADDRESS] + 1) & 0xFF
    elif register == 5:
        if words[WRITE_TOGGLE] == 0:
            words[FINE_X] = value & 7
            words[T] = (words[T] & 0x7FE0) | value >> 3
        else:
            words[T] = (words[T] & 0x0C1F) | (value & 7) << 12 | (value & 0xF8) << 2
        words[WRITE_TOGGLE] ^= 1
    elif register == 6:
        if words[WRITE_TOGGLE] == 0:
            words[T] = (words[T] & 0x00FF) | (value & 0x3F) << 8
        else:
            words[T] = (words[T] & 0x7F00) | value
            words[V] = words[T]
            note_mid_line(words, dot)
        words[WRITE_TOGGLE] ^= 1
    elif register == 7:
        note_picture_write(words, dot)
        write_data(row, words, value)
    after_change(words, dot)


@inner
def end_picture(row: Array, words: Array, rom: Array) -> None:
    """The last line has been sent: what the next vertical blank shows of it."""
    if words[PICTURE] == 0:
        begin_picture(words)
    hit = sprite0_dot(row, words, rom) < FRAME_DOTS
    sync_scroll(words, FRAME_DOTS - 1)
    words[SPRITE0_BEFORE] = 0x40 if hit else 0
    words[PICTURE] = 0

"""The CPU's address space outside the fast paths: mirrors, PPU and APU registers, controllers, DMA, PRG-RAM, open bus.

`dot` is always the moment of the access itself (the last cycle of a plain read or write). Where nothing answers, the
bus keeps the last byte that was on it, which for the usual instructions is the high byte of the address.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.nes.apu import read_apu_status, write_apu
from holdfast.nes.inner import inner
from holdfast.nes.layout import (
    BUTTONS1,
    BUTTONS2,
    CLOCK,
    OAM,
    OAM_ADDRESS,
    PICTURE_DOT,
    PRG_RAM_AT,
    SHIFT1,
    SHIFT2,
    STROBE,
)
from holdfast.nes.ppu import before_change, note_picture_write, read_ppu, write_ppu

int64: Any = np.int64
Array = Any


@inner
def cycle_at(words: Array, dot: int) -> int:
    """CPU cycles since power-on."""
    return (words[CLOCK] + dot) // 3


@inner
def read_controller(words: Array, port: int) -> int:
    """A standard controller sends its eight buttons, then ones; the upper bits are open bus."""
    if words[STROBE]:
        return 0x40 | (words[BUTTONS1 + port] & 1)
    bit = words[SHIFT1 + port] & 1
    words[SHIFT1 + port] = (words[SHIFT1 + port] >> 1) | 0x80
    return 0x40 | bit


@inner
def write_strobe(words: Array, value: int) -> None:
    if words[STROBE] or value & 1:
        words[SHIFT1] = words[BUTTONS1]
        words[SHIFT2] = words[BUTTONS2]
    words[STROBE] = value & 1


@inner
def read_bus(row: Array, words: Array, rom: Array, address: int, dot: int) -> int:
    if address >= 0x8000:
        return int64(rom[address & 0x7FFF])
    if address < 0x2000:
        return int64(row[address & 0x7FF])
    if address < 0x4000:
        return read_ppu(row, words, rom, address & 7, dot)
    if address >= 0x6000:
        if words[PRG_RAM_AT]:
            return int64(row[words[PRG_RAM_AT] + (address & 0x1FFF)])
    elif address == 0x4016 or address == 0x4017:
        return read_controller(words, address & 1)
    elif address == 0x4015:
        return read_apu_status(words, cycle_at(words, dot))
    return address >> 8


@inner
def copy_sprites(row: Array, words: Array, rom: Array, page: int, dot: int) -> int:
    """OAM DMA: 256 bytes, 513 cycles and one more to meet an even one. Returns the stall in dots."""
    if dot >= PICTURE_DOT:
        before_change(row, words, rom, dot)
    note_picture_write(words, dot)
    start = words[OAM_ADDRESS]
    if page < 0x20 and start == 0:  # what programs do, eight bytes at a time
        source = (page & 7) << 5
        for index in range(32):
            words[OAM // 8 + index] = words[source + index]
    else:
        for index in range(256):
            row[OAM + ((start + index) & 0xFF)] = read_bus(row, words, rom, (page << 8) | index, dot)
    return 3 * (513 + (cycle_at(words, dot) + 1) % 2)


@inner
def write_bus(row: Array, words: Array, rom: Array, address: int, value: int, dot: int) -> int:
    """Returns the dots for which the CPU is stalled (only by OAM DMA)."""
    if address < 0x2000:
        row[address & 0x7FF] = value
    elif address < 0x4000:
        write_ppu(row, words, rom, address & 7, value, dot)
    elif address == 0x4014:
        return copy_sprites(row, words, rom, value, dot)
    elif address == 0x4016:
        write_strobe(words, value)
    elif address < 0x4018:
        write_apu(words, address, value, cycle_at(words, dot))
    elif address >= 0x6000 and address < 0x8000 and words[PRG_RAM_AT]:
        row[words[PRG_RAM_AT] + (address & 0x1FFF)] = value
    return 0

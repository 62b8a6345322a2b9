"""How a console wakes up: the row of a lane at power-on, and what the reset line changes in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.nes import layout
from holdfast.nes.cartridge import Cartridge

# The PPU starts with the picture. CPU and PPU wake up in one of several phases; this is the one in which cynes runs:
# the CPU begins after eight cycles of three dots, and its accesses come two dots into a cycle.
POWER_ON_DOT = layout.FIRST_LINE_DOT - 1 + 8 * 3 + 2
POWER_ON_CYCLE = 7  # counted so that OAM DMA meets the same even cycles
# The palette of one console at power-on, as blargg's program power_up_palette expects it; others wake up otherwise.
POWER_ON_PALETTE = bytes.fromhex("090100010002020D081008240000042C0901340300040014083A000200202C08")


def power_on_row(cartridge: Cartridge) -> NDArray[np.uint8]:
    """A console at the moment of power-on. Real RAM wakes up in a random pattern; here it is zeros."""
    row = np.zeros(layout.row_bytes(cartridge), np.uint8)
    words = row.view(np.int64)
    row[layout.PALETTE : layout.PALETTE + 32] = np.frombuffer(POWER_ON_PALETTE, np.uint8)
    words[layout.VERTICAL] = cartridge.vertical_mirroring
    end = layout.ROW_BYTES
    if cartridge.has_prg_ram:
        words[layout.PRG_RAM_AT], end = end, end + 8192
    if cartridge.has_chr_ram:
        words[layout.CHR_AT] = end
    words[layout.ZERO_VALUE] = 1
    words[layout.DMC_END] = layout.NEVER
    words[layout.DMC_LENGTH] = 1
    restart(words[None], cartridge)
    words[layout.VBLANK] = 1  # as most consoles wake up (NESdev wiki, "PPU power up state")
    return row


def restart(words: NDArray[np.int64], cartridge: Cartridge) -> None:
    """What the reset line does to rows [n, words]: CPU and PPU start over, memory stays."""
    words[:, layout.PC] = cartridge.reset_vector
    words[:, layout.SP] = (words[:, layout.SP] - 3) & 0xFF
    for field in (layout.INTERRUPT_DISABLE, layout.IRQ_MASKED):
        words[:, field] = 1
    for field in (layout.JAMMED, layout.NMI, layout.CONTROL, layout.MASK, layout.WRITE_TOGGLE, layout.READ_BUFFER):
        words[:, field] = 0
    for field in (layout.FINE_X, layout.T, layout.VBLANK, layout.VBLANK_RACE, layout.SPRITE0_BEFORE, layout.STROBE):
        words[:, field] = 0
    for field in (layout.APU_ENABLED, layout.FRAME_IRQ, layout.DMC_IRQ, layout.NOTES, layout.FRAME, layout.APU_SYNCED):
        words[:, field] = 0
    words[:, layout.NMI_LATE] = layout.LATE_NONE
    words[:, layout.LENGTH0 : layout.LENGTH0 + 4] = 0
    words[:, layout.DMC_END] = layout.NEVER
    words[:, layout.APU_START] = 0
    words[:, layout.DOT] = POWER_ON_DOT
    words[:, layout.CLOCK] = POWER_ON_CYCLE * 3 - POWER_ON_DOT
    words[:, layout.PICTURE] = 2
    words[:, layout.V_LINE] = -1
    words[:, layout.SPRITE0_AT] = layout.UNKNOWN
    words[:, layout.SPRITE0_FROM] = 0
    words[:, layout.SPLITS] = 1
    words[:, layout.LOG] = 0

"""What a saved console's row may hold: registers as wide as on the chip, wiring as the cartridge has it.

The compiled machine trusts its own registers: a program counter of 2^40 or a split log of 1,000 entries would read
foreign memory, a beam far before the picture would run a frame for ever. RAM may hold any byte, as for any program.
"""

from __future__ import annotations

import numpy as np

from holdfast.nes import layout

BYTE, FLAG, WORD, COUNT = (0, 0xFF), (0, 1), (0, 0xFFFF), (0, layout.NEVER)
LINES = 240
REGISTERS: dict[int, tuple[int, int]] = {
    **dict.fromkeys((layout.A, layout.X, layout.Y, layout.SP), BYTE),
    layout.PC: WORD,
    layout.CARRY: FLAG,
    **dict.fromkeys((layout.OVERFLOW, layout.DECIMAL, layout.INTERRUPT_DISABLE, layout.IRQ_MASKED), BYTE),
    **dict.fromkeys((layout.ZERO_VALUE, layout.NEGATIVE_VALUE), WORD),
    layout.JAMMED: FLAG,
    layout.DOT: (0, 10_000),  # into the next frame, by the last instruction and what it stalled
    **dict.fromkeys((layout.CLOCK, layout.FRAME, layout.APU_START, layout.APU_SYNCED, layout.DMC_END), COUNT),
    **dict.fromkeys((layout.NMI, layout.PICTURE, layout.NMI_LATE), (0, 2)),
    **dict.fromkeys((layout.CONTROL, layout.MASK, layout.OAM_ADDRESS, layout.READ_BUFFER, layout.PPU_BUS), BYTE),
    **dict.fromkeys((layout.V, layout.T), (0, 0x7FFF)),
    layout.FINE_X: (0, 7),
    **dict.fromkeys((layout.WRITE_TOGGLE, layout.VBLANK, layout.STROBE, layout.APU_INHIBIT), FLAG),
    layout.VBLANK_RACE: (0, 3),
    layout.V_LINE: (-1, 261),
    layout.SPRITE0_BEFORE: (0, 0x40),
    layout.SPRITE0_AT: (layout.UNKNOWN, layout.NEVER),
    layout.SPRITE0_FROM: COUNT,
    layout.SPLITS: (0, layout.LOG_ENTRIES),
    **dict.fromkeys((layout.BUTTONS1, layout.BUTTONS2, layout.SHIFT1, layout.SHIFT2), BYTE),
    **dict.fromkeys((layout.APU_FIVE_STEPS, layout.APU_ENABLED, layout.FRAME_IRQ, layout.DMC_IRQ), BYTE),
    **dict.fromkeys(range(layout.LENGTH0, layout.LENGTH0 + 4), BYTE),
    **dict.fromkeys((layout.APU_HALTS, layout.DMC_CONTROL), BYTE),
    layout.DMC_LENGTH: WORD,
    layout.NOTES: (0, 15),
}
WIRING = (layout.VERTICAL, layout.CHR_AT, layout.PRG_RAM_AT)
NAMES = {number: name for name, number in vars(layout).items() if name.isupper() and isinstance(number, int)}


def console_problems(rows: np.ndarray, fresh: np.ndarray) -> list[str]:
    """Why these rows [N, bytes] cannot be consoles with the cartridge of a fresh row [bytes]."""
    words, wired = rows.view(np.int64), fresh.view(np.int64)
    problems = []
    for number, (low, high) in REGISTERS.items():
        column = words[:, number]
        if column.size and not (low <= column.min() and column.max() <= high):
            problems.append(f"{NAMES.get(number, 'a length counter')} of a console is outside {low} to {high}")
    other = [number for number in WIRING if (words[:, number] != wired[number]).any()]
    problems += [f"{NAMES[number]} of a console is that of another cartridge" for number in other]
    if (rows[:, layout.PALETTE : layout.PALETTE + 32] > 0x3F).any():
        problems.append("a palette of a console holds no colour")
    log = words[:, layout.LOG : layout.LOG + layout.LOG_ENTRIES]
    if (log & 0xFF > LINES).any() or (log < 0).any():
        problems.append("the split log of a console leaves the picture")
    return problems

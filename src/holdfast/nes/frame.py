"""What happens between instructions: interrupts, the pre-render line, the end of a frame; and the plain frame loop.

A frame runs from one vertical blank to the next, so it ends when its picture is complete. The fast machine and the
plain loop below share these kernels and differ only in how they execute instructions.
"""

from __future__ import annotations

from typing import Any

from holdfast.kit.compiled import kernel
from holdfast.nes.apu import next_irq, sync_apu
from holdfast.nes.bus import cycle_at
from holdfast.nes.inner import inner
from holdfast.nes.layout import (
    CLOCK,
    CONTROL,
    DOT,
    FRAME,
    FRAME_DOTS,
    INTERRUPT_DISABLE,
    IRQ_MASKED,
    JAMMED,
    LATE_NONE,
    LATE_OFF,
    LATE_ON,
    MASK,
    NEGATIVE_VALUE,
    NMI,
    NMI_LATE,
    PICTURE,
    PICTURE_DOT,
    RACE_FLAG_READ_NO_NMI,
    RACE_NO_FLAG,
    RACE_NONE,
    VBLANK,
    VBLANK_RACE,
    ZERO_VALUE,
)
from holdfast.nes.plain import interrupt, pack_flags, step
from holdfast.nes.ppu import begin_picture, end_picture

Array = Any

INTERRUPT_DOTS = 7 * 3
NMI_DOTS = 5  # an instruction that ends sooner after the edge has already looked for interrupts
IRQ_CYCLES = 3  # from the frame interrupt's flag to the end of the instruction that notices it


@inner
def pass_prerender(words: Array) -> None:
    """The picture begins. In every other frame that is rendered the PPU leaves out one dot here."""
    if words[PICTURE] == 0:
        begin_picture(words)
    words[PICTURE] = 2
    if words[FRAME] & 1 == 0 and words[MASK] & 0x18:
        words[DOT] += 1
        words[CLOCK] -= 1


@inner
def taken_interrupt(row: Array, words: Array, rom: Array) -> bool:
    """Enter the NMI or IRQ handler if one is due before the next instruction."""
    if words[NMI] == 1:
        words[NMI] = 0
        interrupt(row, words, rom, 0xFFFA, pack_flags(words))
    elif words[IRQ_MASKED] == 0 and cycle_at(words, words[DOT]) >= next_irq(words) + IRQ_CYCLES:
        sync_apu(words, cycle_at(words, words[DOT]))
        interrupt(row, words, rom, 0xFFFE, pack_flags(words))
    else:
        words[IRQ_MASKED] = words[INTERRUPT_DISABLE]
        return False
    words[IRQ_MASKED] = 1
    words[DOT] += INTERRUPT_DOTS
    return True


@inner
def next_stop(words: Array) -> int:
    """The dot up to which instructions can follow each other without looking at anything else."""
    dot = words[DOT]
    if words[NMI]:
        words[NMI] = 1
        return dot + 1
    stop = FRAME_DOTS if words[PICTURE] == 2 else PICTURE_DOT
    if words[INTERRUPT_DISABLE] == 0:
        stop = min(stop, max((next_irq(words) + IRQ_CYCLES) * 3 - words[CLOCK], dot + 1))
    return stop


@inner
def stay_jammed(words: Array) -> None:
    """A jammed CPU does nothing for the rest of the frame; the picture goes on."""
    words[DOT] = FRAME_DOTS if words[PICTURE] == 2 else PICTURE_DOT


@inner
def finish_frame(row: Array, words: Array, rom: Array) -> None:
    """Close the picture and raise the next vertical blank."""
    end_picture(row, words, rom)
    words[DOT] -= FRAME_DOTS
    words[CLOCK] += FRAME_DOTS
    words[FRAME] += 1
    race = words[VBLANK_RACE]
    words[VBLANK_RACE] = RACE_NONE
    words[VBLANK] = 1 if race == RACE_NONE else 0
    late = words[NMI_LATE]
    words[NMI_LATE] = LATE_NONE
    if (words[CONTROL] & 0x80 or late == LATE_OFF) and race != RACE_NO_FLAG and race != RACE_FLAG_READ_NO_NMI:
        # The 6502 looks for interrupts before an instruction's last cycle; an edge after that waits for another one.
        words[NMI] = 1 if words[DOT] >= NMI_DOTS and late != LATE_ON else 2
    # Flags in one spelling, so that equal machines have equal bytes.
    words[ZERO_VALUE] = 0 if words[ZERO_VALUE] == 0 else 1
    words[NEGATIVE_VALUE] &= 0x80


@kernel
def run_frame_plainly(row: Array, words: Array, rom: Array) -> None:
    """One frame, one instruction after the other: the twin of the generated `run_frame`."""
    while words[DOT] < FRAME_DOTS:
        if words[PICTURE] < 2 and words[DOT] >= PICTURE_DOT:
            pass_prerender(words)
        elif words[JAMMED]:
            stay_jammed(words)
        elif not taken_interrupt(row, words, rom):
            if words[NMI]:
                words[NMI] = 1
            step(row, words, rom)
    finish_frame(row, words, rom)

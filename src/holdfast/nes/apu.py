"""The sound unit as far as a program can observe it: $4015, the frame interrupt, the sample channel's length.

There is no sound. Length counters are brought up to date when a register is touched: the number of half-frame clocks
between two moments has a closed form. Times are CPU cycles since power-on. Sources: NESdev wiki, "APU Frame Counter",
"APU Length Counter", "APU DMC".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.nes.inner import inner
from holdfast.nes.layout import (
    APU_ENABLED,
    APU_FIVE_STEPS,
    APU_HALTS,
    APU_INHIBIT,
    APU_START,
    APU_SYNCED,
    DMC_CONTROL,
    DMC_END,
    DMC_IRQ,
    DMC_LENGTH,
    FRAME_IRQ,
    LENGTH0,
    NEVER,
    NOTE_DMC,
    NOTES,
)

Array = Any

HALF_FRAME = 14913  # cycles from the frame counter's start to its first half-frame clock
FOUR_STEPS, FIVE_STEPS = 29830, 37282  # cycles of a whole sequence
LENGTHS = np.array(
    [10, 254, 20, 2, 40, 4, 80, 6, 160, 8, 60, 10, 14, 12, 26, 14]
    + [12, 16, 24, 18, 48, 20, 96, 22, 192, 24, 72, 26, 16, 28, 32, 30],
    np.int64,
)
DMC_PERIODS = np.array([428, 380, 340, 320, 286, 254, 226, 214, 190, 160, 142, 128, 106, 84, 72, 54], np.int64)


@inner
def half_frames(since_start: int, five_steps: int) -> int:
    """Half-frame clocks in the first `since_start` cycles of the frame counter."""
    if since_start < 0:
        return 0
    period = FIVE_STEPS if five_steps else FOUR_STEPS
    whole, part = since_start // period, since_start % period
    return 2 * whole + (1 if part >= HALF_FRAME else 0) + (1 if part >= period - 1 else 0)


@inner
def clock_lengths(words: Array, clocks: int) -> None:
    for channel in range(4):
        if not (words[APU_HALTS] >> channel) & 1:
            words[LENGTH0 + channel] = max(words[LENGTH0 + channel] - clocks, 0)


@inner
def next_frame_irq(words: Array) -> int:
    """The cycle at which the frame interrupt is raised next, as far as the APU has been brought up to date."""
    if words[APU_FIVE_STEPS] or words[APU_INHIBIT]:
        return NEVER
    passed = max(words[APU_SYNCED] - words[APU_START] - (FOUR_STEPS - 1), -1)
    return words[APU_START] + (FOUR_STEPS - 1) + FOUR_STEPS * (passed // FOUR_STEPS + 1)


@inner
def sync_apu(words: Array, cycle: int) -> None:
    if cycle <= words[APU_SYNCED]:
        return
    start, five = words[APU_START], words[APU_FIVE_STEPS]
    clock_lengths(words, half_frames(cycle - start, five) - half_frames(words[APU_SYNCED] - start, five))
    if cycle >= next_frame_irq(words):
        words[FRAME_IRQ] = 1
    if cycle >= words[DMC_END]:
        if words[DMC_CONTROL] & 0x80:
            words[DMC_IRQ] = 1
        words[DMC_END] = NEVER
        if words[DMC_CONTROL] & 0x40:  # a looping sample never ends
            words[DMC_END] = NEVER - 1
    words[APU_SYNCED] = cycle


@inner
def next_irq(words: Array) -> int:
    """The cycle from which the interrupt line is held, NEVER if nothing will raise it."""
    if words[FRAME_IRQ] or words[DMC_IRQ]:
        return words[APU_SYNCED]
    at = next_frame_irq(words)
    if words[DMC_CONTROL] & 0xC0 == 0x80:
        at = min(at, words[DMC_END])
    return at


@inner
def read_apu_status(words: Array, cycle: int) -> int:
    sync_apu(words, cycle)
    status = 0
    for channel in range(4):
        if words[LENGTH0 + channel] > 0:
            status |= 1 << channel
    if words[DMC_END] != NEVER:
        status |= 0x10
    if words[FRAME_IRQ]:
        status |= 0x40
    if words[DMC_IRQ]:
        status |= 0x80
    words[FRAME_IRQ] = 0
    return status


@inner
def set_halt(words: Array, channel: int, halted: int) -> None:
    words[APU_HALTS] = (words[APU_HALTS] & ~(1 << channel)) | ((1 if halted else 0) << channel)


@inner
def write_apu(words: Array, address: int, value: int, cycle: int) -> None:
    register = address & 0x1F
    if register == 0x17:
        sync_apu(words, cycle)
        words[APU_FIVE_STEPS] = value >> 7
        words[APU_INHIBIT] = (value >> 6) & 1
        if value & 0x40:
            words[FRAME_IRQ] = 0
        # The counter starts over 3 cycles after the write, 4 if the write fell between two APU cycles.
        words[APU_START] = cycle + (3 if cycle & 1 else 4)
        words[APU_SYNCED] = cycle
        if value & 0x80:
            clock_lengths(words, 1)
    elif register == 0x15:
        sync_apu(words, cycle)
        words[APU_ENABLED] = value & 0x0F
        for channel in range(4):
            if not (value >> channel) & 1:
                words[LENGTH0 + channel] = 0
        words[DMC_IRQ] = 0
        if not value & 0x10:
            words[DMC_END] = NEVER
        elif words[DMC_END] == NEVER:
            words[NOTES] |= NOTE_DMC
            words[DMC_END] = cycle + 8 * DMC_PERIODS[words[DMC_CONTROL] & 15] * words[DMC_LENGTH]
    elif register in (0x00, 0x04, 0x0C):
        sync_apu(words, cycle)
        set_halt(words, register >> 2, value & 0x20)
    elif register == 0x08:
        sync_apu(words, cycle)
        set_halt(words, 2, value & 0x80)
    elif register in (0x03, 0x07, 0x0B, 0x0F):
        channel = register >> 2
        sync_apu(words, cycle)
        if (words[APU_ENABLED] >> channel) & 1:
            words[LENGTH0 + channel] = LENGTHS[value >> 3]
    elif register == 0x10:
        sync_apu(words, cycle)
        words[DMC_CONTROL] = value
        if not value & 0x80:
            words[DMC_IRQ] = 0
    elif register == 0x13:
        words[DMC_LENGTH] = value * 16 + 1

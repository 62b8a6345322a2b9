"""The compiled machine: its kernels for one lane and for batches, and the predecoded program they run.

For kernels of worlds: `run_frame(row, words, rom, code)` advances one lane by one frame, `step_lane` by some frames
with buttons held. `step_lanes` advances a batch inside one call, lanes on the threads of `use_threads`. `code` names
the machine that executes it (see native.py), so these kernels serve the general machine and those of single ROMs alike.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.compiled import announced, kernel, parallel_kernel, prange
from holdfast.nes.cartridge import Cartridge
from holdfast.nes.decode import Decoded, code_words, decode_program
from holdfast.nes.draw import paint_picture
from holdfast.nes.frame import finish_frame, next_stop, pass_prerender, stay_jammed, taken_interrupt
from holdfast.nes.generate import import_text, machine_source
from holdfast.nes.layout import BUTTONS1, BUTTONS2, DOT, FRAME_DOTS, JAMMED, PICTURE, PICTURE_DOT
from holdfast.nes.native import machine_address, run_machine, with_address
from holdfast.nes.weights import SEQUENCES, WEIGHTS

Array = Any


@dataclass(frozen=True)
class Machine:
    """Kernels and the program they run; a console holds one."""

    kernels: ModuleType  # this module: run_frame, step_lane, step_lanes, run_script, run_scripts
    code: NDArray[np.uint32]


def load_machine(
    decoded: dict[int, Decoded],
    weights: dict[str, float] | None = None,
    blocks: dict[str, list[str]] | None = None,
) -> Machine:
    """Generate and compile a machine for a decoded program, with other weights and extra handlers if given."""
    source, numbers = machine_source(weights or WEIGHTS, SEQUENCES, blocks)
    generated = import_text("nes_machine", source)
    with announced("NES machine", generated.__file__ or ""):
        address = machine_address(generated.run_instructions)
    return Machine(sys.modules[__name__], with_address(code_words(decoded, numbers), address))


def general_machine(cartridge: Cartridge) -> Machine:
    """The machine that runs any cartridge."""
    return load_machine(decode_program(cartridge, SEQUENCES))


@kernel
def run_frame(row: Array, words: Array, rom: Array, code: Array) -> None:
    """One console to the beginning of its next vertical blank."""
    while words[DOT] < FRAME_DOTS:
        if words[PICTURE] < 2 and words[DOT] >= PICTURE_DOT:
            pass_prerender(words)
        elif words[JAMMED]:
            stay_jammed(words)
        elif not taken_interrupt(row, words, rom):
            run_machine(row, words, rom, code, next_stop(words))
    finish_frame(row, words, rom)


@kernel
def step_lane(row: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int) -> None:
    """Hold the buttons of both controllers, uint8 [2], for some frames."""
    words[BUTTONS1] = buttons[0]
    words[BUTTONS2] = buttons[1]
    for _ in range(frames):
        run_frame(row, words, rom, code)


@parallel_kernel
def step_lanes(state: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int) -> None:
    """`state` uint8 [N, bytes] and `words` int64 [N, bytes / 8] are the same memory; `buttons` uint8 [N, 2]."""
    for lane in prange(state.shape[0]):
        step_lane(state[lane], words[lane], rom, code, buttons[lane], frames)


@kernel
def run_script(
    row: Array, words: Array, rom: Array, code: Array, script: Array, every: int, groups: Array, kept: Array
) -> None:
    """One lane through `script` uint8 [frames, 2], with a picture every so many frames (0: never)."""
    for frame in range(script.shape[0]):
        step_lane(row, words, rom, code, script[frame], 1)
        if every and frame % every == 0:
            paint_picture(row, words, rom, groups, kept, True)


@parallel_kernel
def run_scripts(
    state: Array, words: Array, rom: Array, code: Array, script: Array, every: int, groups: Array, kept: Array
) -> None:
    for lane in prange(state.shape[0]):
        run_script(state[lane], words[lane], rom, code, script, every, groups[lane], kept[lane])


@parallel_kernel
def paint_lanes(state: Array, words: Array, rom: Array, lanes: Array, groups: Array, kept: Array) -> None:
    """Pictures of some lanes into `groups` uint64 [n, 7680], eight pixels each; `kept` has as many rows or more."""
    for index in prange(lanes.shape[0]):
        lane = lanes[index]
        paint_picture(state[lane], words[lane], rom, groups[index], kept[index], True)

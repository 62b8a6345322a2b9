"""The compiled machine without ROM-specific code, and the kernels that step many lanes with it.

`run_frame(row, words, rom, code)` is for kernels of worlds: one lane, one frame. `step_lanes` advances a batch by some
frames inside one call, lanes on the threads of `holdfast.compiled.use_threads`.
"""

from __future__ import annotations

from typing import Any

from holdfast.compiled import kernel, parallel_kernel, prange
from holdfast.worlds.nes.draw import paint
from holdfast.worlds.nes.generate import import_text, machine_source
from holdfast.worlds.nes.layout import BUTTONS1, BUTTONS2
from holdfast.worlds.nes.weights import SEQUENCES, WEIGHTS

Array = Any

SOURCE, HANDLER_NUMBERS = machine_source(WEIGHTS, SEQUENCES)
run_frame = import_text("nes_machine", SOURCE).run_frame


@kernel
def step_lane(row: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int) -> None:
    """Hold the buttons of both controllers for some frames."""
    words[BUTTONS1] = buttons[0]
    words[BUTTONS2] = buttons[1]
    for _ in range(frames):
        run_frame(row, words, rom, code)


@parallel_kernel
def step_lanes(state: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int) -> None:
    """`state` uint8 [N, bytes] and `words` int64 [N, bytes / 8] are the same memory; `buttons` uint8 [N, 2]."""
    for lane in prange(state.shape[0]):
        step_lane(state[lane], words[lane], rom, code, buttons[lane], frames)


@parallel_kernel
def paint_lanes(state: Array, words: Array, rom: Array, lanes: Array, groups: Array) -> None:
    """Pictures of some lanes into `groups` uint64 [n, 7680], eight pixels each."""
    for index in prange(lanes.shape[0]):
        lane = lanes[index]
        paint(state[lane], words[lane], rom, groups[index])

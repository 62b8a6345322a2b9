"""The compiled machine: its kernels for one lane and for batches, and the predecoded program they run.

For kernels of worlds: `run_frame(row, words, rom, code)` advances one lane by one frame, `step_lane` by some frames
with buttons held. `step_lanes` advances a batch inside one call, lanes on the threads of `use_threads`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.compiled import parallel_kernel, prange
from holdfast.worlds.nes.cartridge import Cartridge
from holdfast.worlds.nes.decode import code_words, decode_program
from holdfast.worlds.nes.draw import paint
from holdfast.worlds.nes.generate import import_text, machine_source
from holdfast.worlds.nes.weights import SEQUENCES, WEIGHTS

Array = Any


@dataclass(frozen=True)
class Machine:
    """Kernels and the program they run; a console holds one."""

    kernels: ModuleType  # run_frame, step_lane, step_lanes, run_script, run_scripts
    code: NDArray[np.uint32]


def load_machine(
    weights: dict[str, float] | None = None, blocks: dict[str, list[str]] | None = None
) -> tuple[ModuleType, dict[str, int]]:
    """The generated kernels and the numbers of their handlers, with extra handlers and their weights if given."""
    source, numbers = machine_source({**WEIGHTS, **(weights or {})}, SEQUENCES, blocks)
    return import_text("nes_machine", source), numbers


GENERAL, HANDLER_NUMBERS = load_machine()
run_frame = GENERAL.run_frame
step_lane = GENERAL.step_lane


def general_machine(cartridge: Cartridge) -> Machine:
    """The machine that runs any cartridge."""
    return Machine(GENERAL, code_words(decode_program(cartridge, SEQUENCES), HANDLER_NUMBERS))


@parallel_kernel
def paint_lanes(state: Array, words: Array, rom: Array, lanes: Array, groups: Array) -> None:
    """Pictures of some lanes into `groups` uint64 [n, 7680], eight pixels each."""
    for index in prange(lanes.shape[0]):
        lane = lanes[index]
        paint(state[lane], words[lane], rom, groups[index])

"""Kernels of the benchmark: a whole script of inputs inside one call, with pictures at some rhythm."""

from __future__ import annotations

from typing import Any

from holdfast.compiled import kernel, parallel_kernel, prange
from holdfast.worlds.nes.draw import paint
from holdfast.worlds.nes.machine import step_lane

Array = Any


@kernel
def run_script(
    row: Array, words: Array, rom: Array, code: Array, script: Array, every: int, groups: Array
) -> None:
    """One lane through `script` uint8 [frames, 2]; a picture every so many frames, 0 for none."""
    for frame in range(script.shape[0]):
        step_lane(row, words, rom, code, script[frame], 1)
        if every and frame % every == 0:
            paint(row, words, rom, groups)


@parallel_kernel
def run_scripts(
    state: Array, words: Array, rom: Array, code: Array, script: Array, every: int, groups: Array
) -> None:
    for lane in prange(state.shape[0]):
        run_script(state[lane], words[lane], rom, code, script, every, groups[lane])


@kernel
def copy_rows(source: Array, target: Array, rounds: int) -> None:
    """Save and load: two copies of a row per round."""
    for _ in range(rounds):
        for index in range(source.shape[0]):
            target[index] = source[index]
        for index in range(source.shape[0]):
            source[index] = target[index]
        source[0] = target[1]
        target[1] = source[0]

"""The machine's `run_frame` by its address, for kernels of worlds.

Numba compiles a called kernel into its caller again. For a machine of a few thousand lines that is most of a minute per
caller; a call by address costs a nanosecond and leaves the machine compiled once, in the cache all worlds share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from holdfast.kit.compiled import SETTINGS
from holdfast.nes import machine

ARGUMENTS = tuple(types.Array(kind, 1, "C") for kind in (types.uint8, types.int64, types.uint8, types.uint32))


def frame_address() -> int:
    """Where the compiled `run_frame(row, words, rom, code)` of the general machine is; 0 without a compiler."""
    if SETTINGS.DISABLE_JIT:
        return 0
    run_frame: Any = machine.run_frame
    run_frame.compile(ARGUMENTS)
    compiled = run_frame.overloads[ARGUMENTS]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


@intrinsic
def _call_frame(typing_context, address, row, words, rom, code):  # type: ignore[no-untyped-def]
    """Numba's own calling convention, with the function taken from a number."""
    if (row, words, rom, code) != ARGUMENTS:
        return None

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        kinds = signature.args[1:]
        kind = context.call_conv.get_function_type(types.none, kinds)
        place = builder.inttoptr(values[0], kind.as_pointer())
        context.call_conv.call_function(builder, place, types.none, kinds, values[1:])
        return context.get_dummy_value()

    return types.none(address, row, words, rom, code), generate


def _run_frame_plainly(address: int, row: np.ndarray, words: np.ndarray, rom: np.ndarray, code: np.ndarray) -> None:
    machine.run_frame(row, words, rom, code)


run_frame_at: Callable[..., None] = _run_frame_plainly if SETTINGS.DISABLE_JIT else _call_frame

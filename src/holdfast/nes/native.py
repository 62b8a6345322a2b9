"""Calls a generated machine by its address, which travels at the end of the predecoded program.

Numba compiles a called kernel into each of its callers again, and the machine is by far the largest kernel here. By
address it is compiled once, its callers compile in a second, and one `run_frame` runs every machine: the general one
and those made for a single ROM. Without a compiler the address is a number in a list of plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from holdfast.kit.compiled import SETTINGS, inlined

Array = Any

ADDRESS = 0x10000  # word of the predecoded program from which the machine's address is kept, in two halves
ARGUMENTS = (
    types.Array(types.uint8, 1, "C"),  # row
    types.Array(types.int64, 1, "C"),  # words
    types.Array(types.uint8, 1, "C"),  # rom
    types.Array(types.uint32, 1, "C"),  # code
    types.int64,  # stop
)
_plain: list[Callable[..., None]] = []


def machine_address(run_instructions: Any) -> int:
    """Where the compiled function is in this process; compiles it if need be."""
    if SETTINGS.DISABLE_JIT:
        if run_instructions not in _plain:
            _plain.append(run_instructions)
        return _plain.index(run_instructions)
    run_instructions.compile(ARGUMENTS)
    compiled = run_instructions.overloads[ARGUMENTS]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def with_address(code: NDArray[np.uint32], address: int) -> NDArray[np.uint32]:
    """The predecoded program [65536] followed by the address of the machine that runs it."""
    return np.concatenate([code, np.array([address & 0xFFFFFFFF, address >> 32], np.uint32)])


@intrinsic
def _call(typing_context, address, row, words, rom, code, stop):  # type: ignore[no-untyped-def]
    """Numba's own calling convention, so that a bounds check inside the machine raises here."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        convention = context.call_conv
        kind = convention.get_function_type(types.none, ARGUMENTS)
        place = builder.inttoptr(values[0], kind.as_pointer())
        status, _ = convention.call_function(builder, place, types.none, ARGUMENTS, values[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(types.uint64, *ARGUMENTS), generate


@inlined
def _run_native(row: Array, words: Array, rom: Array, code: Array, stop: int) -> None:
    address = np.uint64(code[ADDRESS]) | np.uint64(code[ADDRESS + 1]) << np.uint64(32)
    _call(address, row, words, rom, code, stop)  # type: ignore[call-arg]  # the stubs count the typing context


def _run_plain(row: Array, words: Array, rom: Array, code: Array, stop: int) -> None:
    _plain[code[ADDRESS]](row, words, rom, code, stop)


run_machine: Callable[..., None] = _run_plain if SETTINGS.DISABLE_JIT else _run_native

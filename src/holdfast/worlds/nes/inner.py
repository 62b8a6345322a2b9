"""Decorators for functions that only kernels call: without an entry for Python they compile in a third of the time.

The machine consists of some ninety functions, and turning Python objects into their arguments made up a quarter of the
first compile. Numba would jump to address 0 when Python calls a function without an entry; here that is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.compiled import SETTINGS, inlined, kernel

Function = TypeVar("Function", bound=Callable[..., Any])


def inner(function: Function) -> Function:
    """Like `kernel`."""
    return _without_entry(kernel(function))


def inner_inlined(function: Function) -> Function:
    """Like `inlined`."""
    return _without_entry(inlined(function))


def _without_entry(function: Function) -> Function:
    if SETTINGS.DISABLE_JIT:
        return function
    dispatcher: Any = function
    dispatcher.targetoptions.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)

    def remember(compiled: Any) -> None:
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{dispatcher.__name__} is for kernels only; decorate it with `kernel` to call it from Python")

    dispatcher.add_overload, dispatcher._compile_for_args = remember, refuse
    return function

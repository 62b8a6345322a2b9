"""Decorators for functions that only kernels call: without an entry for Python they compile in a third of the time.

The machine consists of some ninety functions, and turning Python objects into their arguments made up a quarter of the
first compile. Numba would jump to address 0 when Python calls a function without an entry; here that is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import GenericRewrites, InlineClosureLikes, ReconstructSSA

from holdfast.kit.compiled import SETTINGS, inlined, kernel

Function = TypeVar("Function", bound=Callable[..., Any])


def inner(function: Function) -> Function:
    """Like `kernel`."""
    return _without_entry(kernel(function))


def inner_inlined(function: Function) -> Function:
    """Like `inlined`."""
    return _without_entry(inlined(function))


class _FewerPasses(CompilerBase):
    """Numba's passes without those that open closures and rewrite array expressions, of which there are none here."""

    left_out: tuple[type, ...] = (InlineClosureLikes, GenericRewrites, NopythonRewrites)

    def define_pipelines(self) -> list[PassManager]:
        usual, fewer = DefaultPassBuilder.define_nopython_pipeline(self.state), PassManager("fewer")
        for one, purpose in usual.passes:
            if one not in self.left_out:
                fewer.add_pass(one, purpose)
        fewer.finalize()
        return [fewer]


class _FewestPasses(_FewerPasses):
    """Also without those that tell apart what one variable holds at different times."""

    left_out = (*_FewerPasses.left_out, ReconstructSSA, PreLowerStripPhis)


def inner_generated(function: Function) -> Function:
    """Like `inner`, in half the time, for thousands of lines in which each local has one type everywhere (Numba
    refuses others)."""
    return _without_entry(kernel(function), _FewestPasses)


def _without_entry(function: Function, passes: type[CompilerBase] = _FewerPasses) -> Function:
    if SETTINGS.DISABLE_JIT:
        return function
    dispatcher: Any = function
    dispatcher.targetoptions.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    dispatcher._compiler.pipeline_class = passes

    def remember(compiled: Any) -> None:
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{dispatcher.__name__} is for kernels only; decorate it with `kernel` to call it from Python")

    dispatcher.add_overload, dispatcher._compile_for_args = remember, refuse
    return function

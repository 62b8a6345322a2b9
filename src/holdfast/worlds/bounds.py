"""The values that a world's arrays may have, so that no saved lane can make a kernel leave its arrays.

Kernels are compiled without bounds checks: an index from a file that is out of range reads or writes foreign memory.
So a world declares the lowest and highest value of its integers, and of the floats that its kernels turn into indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Bounds = tuple[Any, Any]  # lowest and highest, both included: numbers, or arrays that fit the last axes
ANYTHING: Bounds = (-np.inf, np.inf)  # NaN is never allowed
KEYS: Bounds = (0, 2**64 - 1)
LONGEST = 2**30  # steps of an episode


def problems_of(arrays: Mapping[str, np.ndarray], bounds: Mapping[str, Bounds]) -> list[str]:
    """What no world with these bounds could have written; floats that are not declared must be finite."""
    return [problem for name, array in arrays.items() for problem in _problems(name, array, bounds.get(name))]


def _problems(name: str, array: np.ndarray, bound: Bounds | None) -> Iterator[str]:
    if array.size == 0:
        return
    if array.dtype.kind == "b":
        if array.view(np.uint8).max() > 1:
            yield f"{name} holds flags that are neither true nor false"
    elif bound is not None:
        if not (np.greater_equal(array, bound[0]).all() and np.less_equal(array, bound[1]).all()):
            yield f"{name} has numbers outside {_text(bound[0])} to {_text(bound[1])}"
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        yield f"{name} has numbers that are not finite"


def _text(value: Any) -> str:
    return f"{value:g}" if np.ndim(value) == 0 else "[" + ", ".join(f"{one:g}" for one in np.ravel(value)[:8]) + "]"


def undeclared(arrays: Mapping[str, np.ndarray], bounds: Mapping[str, Bounds]) -> list[str]:
    """Arrays of integers whose bounds nobody has thought about."""
    return [name for name, array in arrays.items() if array.dtype.kind in "iu" and name not in bounds]

"""Arrays from a file, compared with the live ones they are to replace, before anything computes with them.

A checksum says that a file is as it was written, not that a run wrote it. NaN weights evaluate to a score, an array of
another type changes arithmetic, and anything else would fail far from its cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from holdfast.kit.errors import CheckpointError

NEVER_NEGATIVE = ("second_moment", "updates", "count", "variance", "taken", "fisher", "priority", "born")
MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError)


def misfits(mine: Mapping[str, np.ndarray], saved: Mapping[str, np.ndarray]) -> list[str]:
    """Why these arrays cannot be put in place of the live ones."""
    problems = [f"{name} is missing" for name in mine if name not in saved]
    for name in mine.keys() & saved.keys():
        live, found = mine[name], saved[name]
        if found.shape != live.shape or found.dtype != live.dtype:
            problems.append(f"{name} is {found.dtype}{list(found.shape)}, not {live.dtype}{list(live.shape)}")
        else:
            problems += strange_numbers(name, found)
    return sorted(problems)


def strange_numbers(name: str, array: np.ndarray) -> list[str]:
    """NaN and infinity anywhere, and negative numbers in counts and sums of squares."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [f"{name} has {int((~np.isfinite(array)).sum())} numbers that are not finite"]
    if name.rpartition("/")[2] in NEVER_NEGATIVE and array.size and array.min() < 0:
        return [f"{name} has negative numbers"]
    return []


def refuse_misfits(what: str, mine: Mapping[str, np.ndarray], saved: Mapping[str, np.ndarray]) -> None:
    problems = misfits(mine, saved)
    if problems:
        raise CheckpointError(f"the saved {what} does not fit this configuration: {'; '.join(problems)}")


def refuse_outside(what: str, array: np.ndarray, low: float, high: float) -> None:
    """CheckpointError unless all numbers lie between these, both included."""
    if array.size and not (array.min() >= low and array.max() <= high):
        raise CheckpointError(f"the saved {what} has numbers outside {low:g} to {high:g}")


@contextmanager
def restoring(checkpoint: str) -> Iterator[None]:
    """Whatever does not fit while a state is rebuilt means that the checkpoint is not of such a run."""
    try:
        yield
    except MISFITS as error:
        detail = str(error).partition("\n")[0]
        raise CheckpointError(
            f"checkpoint {checkpoint} is not one of this kind of run: {type(error).__name__}: {detail}"
        ) from error

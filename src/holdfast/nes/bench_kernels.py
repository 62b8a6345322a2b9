"""Kernels that only the benchmark needs."""

from __future__ import annotations

from typing import Any

from holdfast.kit.compiled import kernel

Array = Any


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

"""Ends that are taken whole: every step of a cleanup, also after one of them has failed, and the first error told."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def close_all(steps: Iterable[Callable[[], object]]) -> None:
    """Take every step; then raise the first error that one of them raised."""
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first

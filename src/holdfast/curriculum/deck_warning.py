"""The warning that a deck runs low: raised after some patience, resolved when the remaining share rises again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.curriculum.deck_queue import Reading
from holdfast.curriculum.deck_spec import DeckSettings


class Warned(NamedTuple):
    """A warning as it goes into the events of a run."""

    iteration: int  # where it became active
    label: str
    type: str
    remaining: int
    ratio: float
    resolved_iteration: int | None
    duration: int  # iterations it was active, this one included
    predicted_exhaustion: int | None  # iteration, at the mean pace so far


class WarningState(NamedTuple):
    """What is remembered from iteration to iteration."""

    low_streak: int = 0
    active: Warned | None = None


def watch(
    state: WarningState, iteration: int, reading: Reading, settings: DeckSettings
) -> tuple[WarningState, Warned | None]:
    """The next state, and the warning if it was raised or resolved in this iteration."""
    if reading.ratio > settings.warn_ratio:
        if state.active is None:
            return WarningState(), None
        lasted = iteration - state.active.iteration
        return WarningState(), state.active._replace(resolved_iteration=iteration, duration=lasted)
    streak = state.low_streak + 1
    if state.active is not None:
        return WarningState(streak, state.active._replace(duration=state.active.duration + 1)), None
    if streak < settings.warn_patience:
        return WarningState(streak), None
    raised = _raised(iteration, reading)
    return WarningState(streak, raised), raised


def _raised(iteration: int, reading: Reading) -> Warned:
    pace = reading.consumed / iteration
    exhaustion = math.ceil(reading.capacity / pace) if pace else None
    return Warned(
        iteration, reading.label, reading.type, reading.remaining, reading.ratio, None, 1, exhaustion
    )  # fmt: skip


def all_warnings(readings: Iterable[tuple[int, Reading]], settings: DeckSettings) -> list[Warned]:
    """The warnings of a whole run; the last one may still be active at its end."""
    state, found = WarningState(), []
    for iteration, reading in readings:
        state, event = watch(state, iteration, reading, settings)
        if event is not None and event.resolved_iteration is not None:
            found.append(event)
    return [*found, state.active] if state.active else found

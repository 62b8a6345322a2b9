"""The smallest change of the gate's options that opens it, found by trying changes and dry-running each one.

Timing (windows, successes, freezes, lock) is searched by fewest options, then fewest steps of change. Limits are
searched by which row of evaluations to pass, and how far its criteria must be relaxed for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from holdfast.curriculum.criteria import Criterion, Measured
from holdfast.curriculum.dry_run import highest_level
from holdfast.curriculum.gate import run_gate
from holdfast.curriculum.gate_settings import (
    WINDOWED_KEYS,
    GateSettings,
    changed_gate,
    gate_values,
    is_on,
    key_of,
    limit,
    type_option,
)

Opens = Callable[[GateSettings], bool]
SIGNIFICANT_DIGITS = 2


class Knob(NamedTuple):
    """An option, for one type or for all, with looser values: the nearest to the present one first."""

    option: str
    type: str | None
    values: tuple[int, ...]


def turned(settings: GateSettings, option: str, kind: str | None, value: float) -> GateSettings:
    """The settings with one value changed."""
    if kind is not None:
        return changed_gate(settings, {type_option(option, kind): value})
    return changed_gate(settings, {option: int(value) if isinstance(getattr(settings, option), int) else value})


def difference(before: GateSettings, after: GateSettings) -> dict[str, Any]:
    """The options that differ, with their new values."""
    old, new = gate_values(before), gate_values(after)
    return {name: new.get(name) for name in {**old, **new} if new.get(name) != old.get(name)}


def opens(evaluations: Sequence[Measured], level: int) -> Opens:
    """Whether a gate reaches a level in these evaluations."""
    return lambda settings: highest_level(settings, evaluations) >= level


def timing_knobs(settings: GateSettings, evaluations: Sequence[Measured], interval: int) -> list[Knob]:
    """All looser timings; where two cost the same, the earlier one is preferred."""
    types = dict.fromkeys(measured.type for measured in evaluations)
    windows = [f"{key}_window" for key in WINDOWED_KEYS if is_on(settings, key)]
    knobs = [_window_knob(settings, key, kind) for key in windows for kind in types]
    knobs.append(Knob("required_successes", None, tuple(range(settings.required_successes - 1, 0, -1))))
    for name in ("success_freeze_iterations", "freeze_iterations"):
        knobs.append(Knob(name, None, (interval,) if getattr(settings, name) > interval else ()))
    locked = [item.iteration for item in evaluations if item.iteration <= settings.lock_iteration]
    knobs.append(Knob("lock_iteration", None, tuple(iteration - 1 for iteration in reversed(locked))))
    return [knob for knob in dict.fromkeys(knobs) if knob.values]


def _window_knob(settings: GateSettings, key: str, kind: str) -> Knob:
    """Shorter windows for a type, set where the present one is set."""
    found = limit(settings, key, kind)
    shorter = tuple(range(int(found.value or 1) - 1, 0, -1))
    return Knob(key, kind if found.source == "type" else None, shorter)


def repair_timing(settings: GateSettings, knobs: Sequence[Knob], good: Opens) -> GateSettings | None:
    """The fewest options, each as near to its present value as possible, that make the gate open."""
    trials = [(steps, order) for order, knob in enumerate(knobs) for steps in range(len(knob.values))]
    for steps, order in sorted(trials):
        knob = knobs[order]
        trial = turned(settings, knob.option, knob.type, knob.values[steps])
        if good(trial):
            return trial
    for size in dict.fromkeys((2, len(knobs))):
        for chosen in combinations(knobs, size):
            if good(_all_turned(settings, [(knob, -1) for knob in chosen])):
                return _tightened(settings, chosen, good)
    return None


def _all_turned(settings: GateSettings, turns: Sequence[tuple[Knob, int | None]]) -> GateSettings:
    """Each knob at one of its values; None leaves it as it is."""
    for knob, index in turns:
        if index is not None:
            settings = turned(settings, knob.option, knob.type, knob.values[index])
    return settings


def _tightened(settings: GateSettings, knobs: Sequence[Knob], good: Opens) -> GateSettings:
    """From all knobs at their loosest, each brought back as far as the gate still opens."""
    turns: list[tuple[Knob, int | None]] = [(knob, -1) for knob in knobs]
    for place, knob in enumerate(knobs):
        nearest_first: list[int | None] = [None, *range(len(knob.values))]
        for index in nearest_first:
            turns[place] = (knob, index)
            if good(_all_turned(settings, turns)):
                break
    return _all_turned(settings, turns)


def repair_limits(settings: GateSettings, evaluations: Sequence[Measured]) -> GateSettings | None:
    """The least relaxation of limits under which these evaluations bring the gate to level 1."""
    records = run_gate(settings, evaluations)
    good = opens(evaluations, 1)
    found = []
    for start in range(len(records) - settings.required_successes + 1):
        trial = settings
        for record in records[start : start + settings.required_successes]:
            for test in record.criteria:
                trial = _relaxed(trial, test, record.measured.type)
        if trial != settings and good(trial):
            found.append(trial)
    return min(found, key=lambda trial: _cost(settings, trial), default=None)


def _relaxed(settings: GateSettings, test: Criterion, kind: str) -> GateSettings:
    """The settings under which a criterion passes; unchanged when it does already, or when data is missing."""
    if test.value is None or test.threshold is None:
        return settings
    present = limit(settings, key_of(test.option), kind)
    assert present.value is not None
    if test.value <= present.value if test.op == "<=" else test.value >= present.value:
        return settings
    value = rounded(test.value, up=test.op == "<=")
    return turned(settings, key_of(present.option), kind if present.source == "type" else None, value)


def rounded(value: float, up: bool) -> float:
    """A number with few digits on the loose side of a value; whole numbers stay."""
    if float(value).is_integer():
        return float(value)
    places = SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**places
    near = round((math.ceil(scaled) if up else math.floor(scaled)) / 10.0**places, max(places, 0))
    return near if (near >= value if up else near <= value) else value


def _cost(before: GateSettings, after: GateSettings) -> float:
    """The sum of relative changes."""
    old = gate_values(before)
    changed = difference(before, after)
    return sum(abs(new - old[name]) / max(abs(old[name]), 1e-9) for name, new in changed.items())

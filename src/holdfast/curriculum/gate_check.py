"""What is wrong with the gate's options by themselves: sizes, unknown types, windows longer than the run."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from holdfast.config.options import options_of, out_of_bounds
from holdfast.curriculum.bytype import unknown_types
from holdfast.curriculum.gate_settings import (
    BY_TYPE,
    PER_TYPE,
    SUCCESS_KEYS,
    WINDOWED_KEYS,
    GateSettings,
    is_on,
    type_option,
    values_by_type,
)
from holdfast.curriculum.pairs import number_text
from holdfast.kit.errors import ConfigError, nearest

WHOLE = ("step_one", "avoidable_step_one", "window", "tolerance")  # options that count, by the end of their name


def check_gate(settings: GateSettings, types: Collection[str], evaluations: int) -> None:
    """ConfigError with every problem; `types` are those of the deck, `evaluations` how many the run has."""
    problems = gate_problems(settings, types, evaluations)
    if problems:
        raise ConfigError(problems)


def gate_problems(settings: GateSettings, types: Collection[str], evaluations: int) -> list[str]:
    problems = []
    for info in options_of(GateSettings):
        value = getattr(settings, info.name)
        if info.name != BY_TYPE and (wrong := out_of_bounds(value, info)):
            problems.append(f"gate.{info.name} = {value} {wrong}")
    problems += _by_type_problems(settings, types)
    return problems or [*_shape_problems(settings), *_window_problems(settings, evaluations)]


def _by_type_problems(settings: GateSettings, types: Collection[str]) -> list[str]:
    problems = unknown_types(settings.by_type, f"gate.{BY_TYPE}", types)
    for kind, own in settings.by_type.items():
        if not isinstance(own, dict):
            problems.append(f"gate.{BY_TYPE}.{kind} must be a table of options, not {own!r}")
            continue
        for key, value in own.items():
            problems += _value_problems(f"gate.{type_option(key, kind)}", key, value)
    return problems


def _value_problems(where: str, key: str, value: object) -> list[str]:
    if key not in PER_TYPE:
        return [f"{where}: the gate has no {key} by type{nearest(key, list(PER_TYPE))}"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return [f"{where} = {value!r} is not a number"]
    info = next(info for info in options_of(GateSettings) if info.name == key)
    wrong = out_of_bounds(value, info)
    if not wrong and key.endswith(WHOLE) and not float(value).is_integer():
        wrong = "must be a whole number"
    return [f"{where} = {number_text(value)} {wrong}"] if wrong else []


def _shape_problems(settings: GateSettings) -> list[str]:
    problems = []
    if not settings.phase_allowance:
        problems.append("gate.phase_allowance is empty: give a phase limit for each level, such as 4,5,6")
    if any(later <= earlier for earlier, later in pairwise(settings.phase_allowance)):
        problems.append("gate.phase_allowance must rise from level to level, or an advance changes nothing")
    if not any(is_on(settings, key) for key in SUCCESS_KEYS):
        problems.append("gate: every success criterion is off, so any policy would advance; set at least one")
    return problems


def _window_problems(settings: GateSettings, evaluations: int) -> list[str]:
    """Windows of criteria that are in use but could never be filled."""
    problems = []
    for key in WINDOWED_KEYS:
        if not is_on(settings, key):
            continue
        name = f"{key}_window"
        sizes = {f"gate.{name}": float(getattr(settings, name))}
        own = values_by_type(settings, name)
        sizes |= {f"gate.{type_option(name, kind)}": size for kind, size in own.items()}
        problems += [
            f"{where} = {size:g} is longer than the run, which has {evaluations} evaluations"
            for where, size in sizes.items()
            if size > evaluations
        ]
    return problems

"""What is wrong with the gate's options by themselves: texts, sizes, unknown types, windows longer than the run."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from holdfast.config.options import OptionInfo, options_of, out_of_bounds
from holdfast.curriculum.bytype import parse_by_type, unknown_types
from holdfast.curriculum.gate_settings import BY_TYPE, SUCCESS_KEYS, WINDOWED_KEYS, GateSettings, is_on
from holdfast.curriculum.pairs import number_text
from holdfast.kit.errors import ConfigError

WHOLE = ("step_one", "avoidable_step_one", "window", "tolerance")  # options that count, by the end of their name


def check_gate(settings: GateSettings, types: Collection[str], evaluations: int) -> None:
    """ConfigError with every problem; `types` are those of the deck, `evaluations` how many the run has."""
    problems = gate_problems(settings, types, evaluations)
    if problems:
        raise ConfigError(problems)


def gate_problems(settings: GateSettings, types: Collection[str], evaluations: int) -> list[str]:
    infos = {info.name: info for info in options_of(GateSettings)}
    problems: list[str] = []
    for name, info in infos.items():
        value = getattr(settings, name)
        if name.endswith(BY_TYPE):
            problems += _by_type_problems(f"gate.{name}", value, infos[name.removesuffix(BY_TYPE)], types)
        elif wrong := out_of_bounds(value, info):
            problems.append(f"gate.{name} = {value} {wrong}")
    return problems or [*_shape_problems(settings), *_window_problems(settings, evaluations)]


def _by_type_problems(where: str, text: str, base: OptionInfo, types: Collection[str]) -> list[str]:
    try:
        values = parse_by_type(text, where)
    except ConfigError as error:
        return error.problems
    problems = unknown_types(text, where, types)
    for name, value in values.items():
        wrong = out_of_bounds(value, base)
        if not wrong and base.name.endswith(WHOLE) and not value.is_integer():
            wrong = "must be a whole number"
        if wrong:
            problems.append(f"{where}: {name}:{number_text(value)} {wrong}")
    return problems


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
        by_type = parse_by_type(getattr(settings, name + BY_TYPE))
        sizes = {f"gate.{name}": float(getattr(settings, name))}
        sizes |= {f"gate.{name}{BY_TYPE}: {kind}": size for kind, size in by_type.items()}
        problems += [
            f"{where} = {size:g} is longer than the run, which has {evaluations} evaluations"
            for where, size in sizes.items()
            if size > evaluations
        ]
    return problems

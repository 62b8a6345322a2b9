"""Changing the gate by text: `KEY=VALUE`, or `KEY.TYPE=VALUE` for one deck type, as in `success.ratio.main=0.025`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from holdfast.config.options import from_text, kind_name, options_of, out_of_bounds
from holdfast.curriculum.bytype import parse_by_type, type_name
from holdfast.curriculum.gate_settings import BY_TYPE, PER_TYPE, GateSettings, changed_gate, type_option
from holdfast.curriculum.pairs import finite_number
from holdfast.kit.errors import ConfigError, nearest

# Names that older notes and command lines use. "first_death_p10" never was about first deaths.
OTHER_NAMES = {
    "success_ratio": "success_step_one_ratio",
    "success_first_death_p10": "success_p10",
    "success_median_window": "success_p10_window",
    "success_p10_median_window": "success_p10_window",
}
ENDINGS = ("_by_type", "_by_stage")
_KNOWN = {info.name: info for info in options_of(GateSettings)}


def option_name(text: str) -> tuple[str, bool]:
    """The option behind a name, whether it is written with dots, as `_by_stage`, or in an older spelling; and whether
    the name is of values by type."""
    name = text.removeprefix("gate.").replace(".", "_").replace("-", "_")
    ending = next((end for end in ENDINGS if name.endswith(end)), "")
    base = name.removesuffix(ending)
    return OTHER_NAMES.get(base, base), bool(ending)


def read_by_type(key: str, text: str, where: str) -> dict[str, float]:
    """Values written `type:value,…`, as names inside the gate."""
    return {type_option(key, kind): value for kind, value in parse_by_type(text, where).items()}


def change_gate(settings: GateSettings, assignments: Iterable[str]) -> GateSettings:
    """The settings with all assignments carried out; ConfigError lists every one that cannot be."""
    problems: list[str] = []
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            problems.append(f"{assignment!r}: write KEY=VALUE or KEY.TYPE=VALUE")
            continue
        try:
            settings = _assigned(settings, name.strip(), text.strip())
        except ValueError as wrong:
            problems.append(f"{assignment!r}: {wrong}")
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return settings


def _assigned(settings: GateSettings, name: str, text: str) -> GateSettings:
    if name.removeprefix("gate.").startswith(f"{BY_TYPE}."):
        _, kind, name = name.removeprefix("gate.").split(".", 2)
        name = f"{name}.{kind}"
    option, by_type = option_name(name)
    if by_type and option in PER_TYPE:
        return changed_gate(settings, read_by_type(option, text, f"gate.{name}"))
    if option in _KNOWN:
        return replace(settings, **{option: read_value(option, text)})
    front, _, kind = name.rpartition(".")
    key, _ = option_name(front)
    if key not in PER_TYPE:
        raise ValueError(f"no option gate.{option}{nearest(option, list(_KNOWN))}")
    return changed_gate(settings, {type_option(key, type_name(kind)): finite_number(text)})


def read_value(option: str, text: str) -> Any:
    """The value of a gate option from a text; ValueError says what is wrong with it."""
    info = _KNOWN[option]
    try:
        value = from_text(text, info.kind)
    except ValueError:
        raise ValueError(f"gate.{option} = {text!r} is not {kind_name(info.kind)}") from None
    wrong = out_of_bounds(value, info)
    if wrong:
        raise ValueError(f"gate.{option} = {text} {wrong}")
    return value

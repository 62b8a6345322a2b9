"""How a settings field carries its meaning and bounds on one line, and how its value is read from text or TOML."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

MORE_THAN_0 = ("more than 0",)  # for `only`: while the other option is a positive number
GIVEN = ("given",)  # for `only`: while the other option is not empty


def allows(allowed: tuple[Any, ...], value: Any) -> bool:
    """Does the value of a governing option let the governed one act?"""
    if allowed == GIVEN:
        return bool(value)
    return value > 0 if allowed == MORE_THAN_0 else value in allowed


def wanted(allowed: tuple[Any, ...]) -> str:
    """The values that let an option act, as one types them."""
    return " or ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in allowed)


def option(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    only: tuple[str, tuple[Any, ...]] | None = None,
    free: bool = False,
    choices: Collection[str] = (),
    expert: bool | None = None,
    unit: str = "",
    example: str = "",
) -> Any:
    """A field of a frozen settings dataclass.

    `only = ("policy.core", ("gru",))`: the option acts only while that other option has one of those values (or is
    positive: MORE_THAN_0, or not empty: GIVEN), and is refused otherwise. `free`: may change at resume without changing
    what is learned. `expert`: on a later page of the reference; `expert: ClassVar = True` says so for all options of a
    class. `unit`: where the name's end (`_s`, `_px`) does not say it. `example`: as it is typed, where no choice,
    preset or default makes a good one. `choices`: the values of a text that is the name of something in a table.

    A settings class may name nested tables, `tables: ClassVar = ("reward",)`: its field `reward_capture` is then the
    option `reward.capture`, in TOML `[world.reward] capture = …`.
    """
    metadata: dict[str, Any] = {
        "meaning": meaning,
        "low": low,
        "high": high,
        "only": only,
        "free": free,
        "expert": expert,
    }
    metadata |= {"unit": unit, "example": example, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


class OptionInfo(NamedTuple):
    """One option as the documentation and the parser see it."""

    name: str  # within its section; dotted if it lies in a nested table
    attribute: str  # the field that holds it
    kind: Any  # its type
    default: Any
    meaning: str
    low: float | None
    high: float | None
    only: tuple[str, tuple[Any, ...]] | None
    free: bool
    expert: bool
    unit: str
    example: str


NO_FACTS: dict[str, Any] = {"meaning": "", "low": None, "high": None, "only": None, "free": False, "expert": None}
NO_FACTS |= {"unit": "", "example": "", "choices": ()}
UNITS = {"s": "s", "px": "px", "mb": "MB", "gb": "GB", "deg": "degrees"}  # by the last part of a name


def options_of(settings: type) -> tuple[OptionInfo, ...]:
    """The options of a settings dataclass, in the order they are written."""
    return _options_of(settings)


@cache
def _options_of(settings: Any) -> tuple[OptionInfo, ...]:
    hints = get_type_hints(settings)
    tables = getattr(settings, "tables", ())
    found = []
    for item in fields(settings):
        facts = {**NO_FACTS, **item.metadata}
        facts["expert"] = getattr(settings, "expert", False) if facts["expert"] is None else facts["expert"]
        facts["unit"] = facts["unit"] or UNITS.get(item.name.rpartition("_")[2], "")
        choices = tuple(facts.pop("choices"))
        kind = Literal[choices] if choices else hints[item.name]
        found.append(OptionInfo(_public(item.name, tables), item.name, kind, _default(item), **facts))
    return tuple(found)


def _public(attribute: str, tables: tuple[str, ...]) -> str:
    """The option that a field holds: `reward.capture` for `reward_capture` where `reward` is a table."""
    table = next((table for table in tables if attribute.startswith(f"{table}_")), None)
    return attribute if table is None else f"{table}.{attribute.removeprefix(f'{table}_')}"


def is_table(kind: Any) -> bool:
    """Whether an option holds a table, as evaluation.world does."""
    return kind is dict or get_origin(kind) is dict


def nested(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by dotted name as nested tables."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        *tables, last = name.split(".")
        place = found
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    return found


def flattened(content: Mapping[str, Any], known: Collection[str], before: str = "") -> Iterator[tuple[str, Any]]:
    """The other way: options by dotted name. A table is opened where it is not itself a known option."""
    for name, value in content.items():
        key = f"{before}{name}"
        if isinstance(value, dict) and key not in known and any(one.startswith(f"{key}.") for one in known):
            yield from flattened(value, known, f"{key}.")
        else:
            yield key, value


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def kind_name(kind: Any) -> str:
    """A type in words a user types: `int`, `one of a, b`, `numbers like 64,64`."""
    origin = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(kind))
    if origin is tuple:
        return f"{get_args(kind)[0].__name__} list"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(kind_name(part) for part in get_args(kind))
    if origin is dict:
        return "table"
    return "none" if kind is type(None) else str(kind.__name__)


def from_text(text: str, kind: Any) -> Any:
    """A value typed on the command line; ValueError when it is not of this kind."""
    origin = get_origin(kind)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if kind is int:
        return _whole(text)
    if kind in (float, str):
        return kind(text)
    if origin is Literal:
        return next(choice for choice in get_args(kind) if str(choice) == text) if text in _choices(kind) else _fail()
    if origin is tuple:
        parts = text.strip().removeprefix("[").removesuffix("]").split(",")
        return tuple(from_text(part.strip(), get_args(kind)[0]) for part in parts if part.strip())
    if origin is dict:
        value = json.loads(text)
        return value if isinstance(value, dict) else _fail()
    return _first_that_reads(text, kind)


def _whole(text: str) -> int:
    """A whole number, also as 1e6 or 1_000_000."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        return int(number) if number.is_integer() else _fail()


def _choices(kind: Any) -> list[str]:
    return [str(choice) for choice in get_args(kind)]


def _fail() -> Any:
    raise ValueError


def _first_that_reads(text: str, union: Any) -> Any:
    for part in get_args(union):
        if part is type(None):
            if text == "none":
                return None
            continue
        try:
            return from_text(text, part)
        except ValueError:
            continue
    raise ValueError


def as_plain(value: Any) -> Any:
    """A value given in Python as TOML would give it: NumPy's numbers and arrays as Python's, a path as text."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return value


def as_text(value: Any) -> str:
    """A value as it is typed on the command line, the reverse of `from_text`."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(as_text, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)


def from_toml(value: Any, kind: Any) -> Any:
    """A value read from TOML or JSON; ValueError when it is not of this kind. Only int becomes float."""
    origin = get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None or (value == "none" and type(None) in get_args(kind)):
            return None if type(None) in get_args(kind) else _fail()
        return from_toml(value, next(part for part in get_args(kind) if part is not type(None)))
    if origin is Literal:
        return value if value in get_args(kind) else _fail()
    if origin is tuple:
        return (
            tuple(from_toml(part, get_args(kind)[0]) for part in value) if isinstance(value, (list, tuple)) else _fail()
        )
    if origin is dict or kind is dict:
        return dict(value) if isinstance(value, dict) else _fail()
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError from None
    if type(value) is not kind:
        raise ValueError
    return value


def out_of_bounds(value: Any, info: OptionInfo) -> str | None:
    """What is wrong with a value's size, or nothing."""
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            continue
        if number != number or number in (float("inf"), float("-inf")):
            return "must be a finite number"
        if info.low is not None and number < info.low:
            return f"must be at least {info.low:g}"
        if info.high is not None and number > info.high:
            return f"must be at most {info.high:g}"
    return None

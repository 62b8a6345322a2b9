"""How a settings field carries its meaning and bounds on one line, and how its value is read from text or TOML."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, field, fields
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

MORE_THAN_0 = ("more than 0",)  # for `only`: while the other option is a positive number


def allows(allowed: tuple[Any, ...], value: Any) -> bool:
    """Does the value of a governing option let the governed one act?"""
    return value > 0 if allowed == MORE_THAN_0 else value in allowed


def option(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    only: tuple[str, tuple[Any, ...]] | None = None,
    free: bool = False,
) -> Any:
    """A field of a frozen settings dataclass.

    `only = ("policy.core", ("gru",))`: the option acts only while that other option has one of those values (or is
    positive: MORE_THAN_0), and is refused otherwise. `free`: may change at resume without changing what is learned.
    """
    metadata = {"meaning": meaning, "low": low, "high": high, "only": only, "free": free}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


class OptionInfo(NamedTuple):
    """One option as the documentation and the parser see it."""

    name: str
    kind: Any  # its type
    default: Any
    meaning: str
    low: float | None
    high: float | None
    only: tuple[str, tuple[Any, ...]] | None
    free: bool


def options_of(settings: type) -> Iterator[OptionInfo]:
    """The options of a settings dataclass, in the order they are written."""
    hints = get_type_hints(settings)
    for item in fields(settings):
        facts = {"meaning": "", "low": None, "high": None, "only": None, "free": False, **item.metadata}
        yield OptionInfo(item.name, hints[item.name], _default(item), **facts)


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
        if text not in ("true", "false"):
            raise ValueError
        return text == "true"
    if kind in (int, float, str):
        return kind(text)
    if origin is Literal:
        return next(choice for choice in get_args(kind) if str(choice) == text) if text in _choices(kind) else _fail()
    if origin is tuple:
        return tuple(from_text(part.strip(), get_args(kind)[0]) for part in text.split(",") if part.strip())
    if origin is dict:
        value = json.loads(text)
        return value if isinstance(value, dict) else _fail()
    return _first_that_reads(text, kind)


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

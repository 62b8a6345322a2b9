"""The small grammar `key:value[,key:value…]` behind schedules, boosts and values by type.

Whatever is wrong with a text is gathered and told at once, each problem naming the item it sits in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from holdfast.kit.errors import ConfigError

Key = TypeVar("Key")
Value = TypeVar("Value")


def parse_pairs(
    text: str, where: str, key: Callable[[str], Key], value: Callable[[str], Value], repeats: bool = False
) -> tuple[tuple[Key, Value], ...]:
    """The pairs in the order they are written; `key` and `value` raise ValueError saying what they expect."""
    if not text.strip():
        return ()
    found: list[tuple[Key, Value]] = []
    problems: list[str] = []
    for number, item in enumerate(text.split(","), start=1):
        place = f"{where}: item {number}, {item.strip()!r}"
        left, colon, right = item.partition(":")
        if not colon:
            problems.append(f"{place}: must be written as two parts with a colon between")
            continue
        try:
            pair = key(left.strip()), value(right.strip())
        except ValueError as wrong:
            problems.append(f"{place}: {wrong}")
            continue
        if not repeats and any(pair[0] == other for other, _ in found):
            problems.append(f"{place}: {left.strip()} is given twice")
        found.append(pair)
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def print_pairs(pairs: Iterable[tuple[Any, Any]]) -> str:
    return ",".join(f"{number_text(key)}:{number_text(value)}" for key, value in pairs)


def number_text(value: Any) -> str:
    """A number as a user would write it, exact enough to be read back unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def whole_number(text: str) -> int:
    """A positive whole number."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def finite_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number

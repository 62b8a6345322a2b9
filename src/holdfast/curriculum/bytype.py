"""Values that depend on the type of the deck block in use: `type:value[,type:value…]`, names in lower case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from holdfast.curriculum.pairs import finite_number, parse_pairs
from holdfast.kit.errors import nearest

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def type_name(text: str) -> str:
    """A type as it is stored: lower case, letters first."""
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} is not a type name (a letter, then letters, digits, - or _)")
    return name


@lru_cache(maxsize=512)
def parse_by_type(text: str, where: str = "values by type") -> Mapping[str, float]:
    """Type to value, in the order written; ConfigError names the item that cannot be read."""
    return MappingProxyType(dict(parse_pairs(text, where, type_name, finite_number)))


def unknown_types(kinds: Iterable[str], where: str, known: Iterable[str]) -> list[str]:
    """A problem for each type that no block of the deck has."""
    there = sorted(set(known) - {""})
    listed = f"its types are {', '.join(there)}" if there else "there is no deck"
    return [
        f"{where}: the deck never has type {name}{nearest(name, there)}; {listed}"
        for name in kinds
        if name not in there
    ]

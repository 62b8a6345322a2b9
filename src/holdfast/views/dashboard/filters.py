"""The filter of the table of runs: words, fields and options, all of which must fit.

    cartpole status=running learner.lr>5e-4 -tag=old "two words"

A word fits when the name, preset, world, status, tags or notes have it. `name OP value` compares a field of the table
or an option of the configuration; an option may be shortened to its last part while that is clear. `-` in front turns a
term around.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from holdfast.kit.errors import HoldfastError, nearest
from holdfast.views.dashboard.columns import as_number
from holdfast.views.dashboard.standing import Facts

FIELDS = ("id", "status", "world", "preset", "seed", "iteration", "agent_steps", "score", "speed", "tag", "phase")
TERM = re.compile(r'-?(?:[^\s"]*"[^"]*"?|[^\s"]+)')
COMPARISON = re.compile(r"(-?)([A-Za-z_][\w.]*)(>=|<=|!=|>|<|=|~)(.*)", re.DOTALL)
LONGEST, MOST_TERMS = 2000, 50
NUMBERS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}


class FilterError(HoldfastError):
    """A filter that cannot be understood."""


class Term(NamedTuple):
    """One condition; `op` is empty for a word."""

    name: str
    op: str
    value: str
    turned: bool


def read_filter(text: str, options: Iterable[str]) -> list[Term]:
    """The terms of a filter, names spelled out; FilterError says what is wrong."""
    if len(text) > LONGEST:
        raise FilterError(f"the filter has more than {LONGEST} characters")
    words = TERM.findall(text)
    if len(words) > MOST_TERMS:
        raise FilterError(f"the filter has more than {MOST_TERMS} terms")
    known = list(options)
    return [_term(word.replace('"', ""), known) for word in words if word.strip('-"')]


def _term(word: str, options: list[str]) -> Term:
    match = COMPARISON.fullmatch(word)
    if match is None:
        return Term("", "", word.removeprefix("-").lower(), word.startswith("-"))
    turned, name, op, value = match.groups()
    name = spelled_out(name, options)
    if op in (">", "<", ">=", "<=") and number_of(value) is None:
        raise FilterError(f"{word}: {value!r} is not a number, so nothing can be {op} than it")
    return Term(name, op, value, bool(turned))


def spelled_out(name: str, options: list[str]) -> str:
    """A field or option by its whole name or its last part."""
    if name in FIELDS or name in options:
        return name
    if name == "name":
        return "id"
    found = [option for option in options if option.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise FilterError(f"{name} could be {', '.join(found[:6])}: write it in full")
    raise FilterError(f"no field or option {name!r}{nearest(name, [*FIELDS, *options])}")


def fits(terms: list[Term], row: Facts, facts: Facts) -> bool:
    return all(_fits(term, row, facts) != term.turned for term in terms)


def _fits(term: Term, row: Facts, facts: Facts) -> bool:
    if not term.op:
        words = (row["id"], row["preset"], row["world"], row["status"], facts.get("notes", ""), *row["tags"])
        return any(term.value in str(text).lower() for text in words)
    if term.name == "tag":
        return any(compared(tag, term.op, term.value) for tag in row["tags"])
    return compared(value_of(term.name, row, facts), term.op, term.value)


def value_of(name: str, row: Facts, facts: Facts) -> Any:
    """A field of the row, or an option of the run."""
    if "." not in name:
        return row.get(name)
    section, _, key = name.partition(".")
    return facts.get("config", {}).get(section, {}).get(key)


def compared(value: Any, op: str, wanted: str) -> bool:
    """Numbers as numbers, everything else as text; what is not there fits only `!=`."""
    if value is None:
        return op == "!=" or (op == "=" and wanted in ("none", "null"))
    if op == "~":
        return wanted.lower() in as_text(value).lower()
    mine, theirs = as_number(value), number_of(wanted)
    if mine is not None and theirs is not None:
        return NUMBERS[op](mine, theirs)
    if op in ("=", "!="):
        return (as_text(value).lower() == wanted.lower()) == (op == "=")
    return False


def number_of(text: str) -> float | None:
    try:
        return as_number(float(text))
    except ValueError:
        return None


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

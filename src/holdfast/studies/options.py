"""Values of a study's options: read from a command line or a file, checked by kind, written as words again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.config.options import OptionInfo, from_text, from_toml, kind_name, out_of_bounds
from holdfast.kit.errors import ConfigError, nearest

OF_THE_STUDY = {  # what a study sets for each of its runs, and how it is asked for
    "run.seed": "--seeds",
    "run.name": "--name",
    "run.root": "--root",
}


def word(value: Any) -> str:
    """A value as the command line reads it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return ",".join(word(part) for part in value)
    return json.dumps(value) if isinstance(value, dict) else str(value)


def words_of(options: Mapping[str, Any]) -> list[str]:
    """`--section.key=value` for each."""
    return [f"--{name}={word(value)}" for name, value in options.items()]


def plain(value: Any) -> Any:
    """As JSON and TOML have it: tuples are lists, and TOML has no None."""
    if value is None:
        return "none"
    return [plain(part) for part in value] if isinstance(value, tuple) else value


class OptionReader:
    """Reads values for the options of one world, and gathers what is wrong with them."""

    def __init__(self, known: Mapping[str, OptionInfo], target: str) -> None:
        self.known, self.target = known, target
        self.problems: list[str] = []

    def read(self, name: str, value: Any, where: str) -> Any:
        """The value, text or as TOML has it, in its plain form; None after a problem."""
        info = self.info(name, where)
        if info is None:
            return None
        try:
            found = from_text(value, info.kind) if isinstance(value, str) else from_toml(value, info.kind)
        except ValueError:
            self.problems.append(f"{where}: {name} = {value!r} is not {kind_name(info.kind)}")
            return None
        wrong = out_of_bounds(found, info)
        if wrong:
            self.problems.append(f"{where}: {name} = {value} {wrong}")
            return None
        return plain(found)

    def info(self, name: str, where: str) -> OptionInfo | None:
        if name in OF_THE_STUDY:
            self.problems.append(f"{where}: {name} is set by the study: use {OF_THE_STUDY[name]}")
            return None
        if name not in self.known:
            beside = f" for {self.target}" if self.target else ""
            self.problems.append(f"{where}: no option {name}{beside}{nearest(name, list(self.known))}")
            return None
        return self.known[name]

    def options(self, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        return {name: self.read(name, value, where) for name, value in given.items()}

    def choices(self, given: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
        """Several values for each; an option without one, or with one twice, is a problem."""
        found: dict[str, list[Any]] = {}
        for name, values in given.items():
            if not isinstance(values, (list, tuple)) or not values:
                self.problems.append(f"{where}: {name} has no values: give at least one, as in {name}=A,B")
                continue
            found[name] = [self.read(name, value, where) for value in values]
            if len({json.dumps(value) for value in found[name]}) < len(values) and None not in found[name]:
                self.problems.append(f"{where}: {name} has a value twice: {', '.join(map(word, found[name]))}")
        return found


def parse_choices(words: Iterable[str], flag: str) -> dict[str, list[str]]:
    """`learner.lr=1e-3,3e-4` for each word; values that hold commas themselves are separated by semicolons."""
    found: dict[str, list[str]] = {}
    problems = []
    for text in words:
        name, equals, values = text.partition("=")
        if not equals or not name:
            problems.append(f"{flag} {text}: written {flag} section.key=VALUE,VALUE")
        elif name in found:
            problems.append(f"{flag} {name}: given twice")
        found[name] = [part.strip() for part in values.split(";" if ";" in values else ",") if part.strip()]
    if problems:
        raise ConfigError(problems)
    return found


def parse_seeds(text: str) -> tuple[int, ...]:
    """`1-10`, `3`, or `1-5,101-105`."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise ConfigError([f"seeds {text!r}: written as 1-10, or 1-5,101-105"])
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))


def seeds_text(seeds: Iterable[int]) -> str:
    """The shortest way to write them."""
    ordered = sorted(seeds)
    runs: list[list[int]] = []
    for seed in ordered:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

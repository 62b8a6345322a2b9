"""From a preset and the command line to a `Config`. All errors are gathered and told at once, each with its fix.

An option that cannot act in the chosen setting is refused; names are exact, with a suggestion for a misspelt one.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from holdfast.config.checks import without_effect
from holdfast.config.foreign_names import hint
from holdfast.config.old_names import renewed, what_became_of
from holdfast.config.options import (
    allows,
    as_plain,
    flattened,
    from_text,
    from_toml,
    is_table,
    kind_name,
    out_of_bounds,
)
from holdfast.config.presets import find_target
from holdfast.config.sections import FORMAT, Config, flat, known_options, sections_for, values_of
from holdfast.kit.errors import ConfigError, nearest
from holdfast.learner.engines import chosen_precision
from holdfast.worlds.trust import name_world
from holdfast.worlds.workers.settings import LANES as WORKER_LANES
from holdfast.worlds.workers.supervisor import is_supervised

SHORT = {"backend": "world.backend", "learner": "learner.algorithm"}  # what is typed often
Overrides = list[str] | Mapping[str, Any]  # words of a command line, or values by dotted names


class Given(NamedTuple):
    """Overrides as they were given, to be read once the options are known."""

    values: dict[str, Any]
    problems: list[str]
    where: str
    is_text: bool


def given_overrides(overrides: Overrides | None) -> Given:
    """The words of a command line, or a table of Python values by the dotted names of options."""
    if not isinstance(overrides, Mapping):
        return Given(*parse_overrides(overrides or []), "command line", is_text=True)
    problems = [f"options: {key!r} is not the name of an option" for key in overrides if not isinstance(key, str)]
    values = {SHORT.get(key, key): as_plain(value) for key, value in overrides.items() if isinstance(key, str)}
    if len(values) + len(problems) < len(overrides):
        problems.append("options: an option is given twice, by its name and by a short one")
    return Given(values, problems, "options", is_text=False)


def parse_overrides(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """`--section.key value` or `--section.key=value` into a table of texts, and the problems met."""
    found: dict[str, str] = {}
    problems: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--"):
            problems.append(f"{word!r}: not an option; options are written --section.key value")
            continue
        key, equals, value = word[2:].partition("=")
        if not equals:
            if not waiting or waiting[0].startswith("--"):
                problems.append(f"--{key}: no value given{hint(key)}")
                continue
            value = waiting.pop(0)
        key = SHORT.get(key, key)
        if key in found:
            problems.append(f"--{key}: given twice")
        found[key] = value
    return found, problems


class _Reader:
    """Gathers values and problems of one configuration."""

    def __init__(self, sections: Mapping[str, type]) -> None:
        self.sections = sections
        self.known = known_options(sections)
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []

    def unknown(self, key: str, where: str) -> None:
        answer = _belongs(key) or hint(key, self.known) or nearest(key, list(self.known))
        self.problems.append(f"{where}: no option {key}{answer}")

    def take(self, key: str, value: Any, where: str, is_text: bool) -> None:
        gone = what_became_of(key, value, self.known)
        if gone is not None:
            self.problems.append(f"{where}: {gone}")
            return
        info = self.known.get(key)
        table = None if info is not None else self.table_of(key)
        if table is not None:
            self.put(table, key, _plain(value) if is_text else value)
            return
        if info is None:
            self.unknown(key, where)
            return
        try:
            read = from_text(value, info.kind) if is_text else from_toml(value, info.kind)
        except ValueError:
            self.problems.append(f"{where}: {key} = {value!r} is not {_article(kind_name(info.kind))}")
            return
        wrong = out_of_bounds(read, info)
        if wrong:
            self.problems.append(f"{where}: {key} = {value} {wrong}")
            return
        self.values[key] = read

    def table_of(self, key: str) -> str | None:
        """The option that holds a table with this key in it: evaluation.world for evaluation.world.fish."""
        parts = key.split(".")
        names = (".".join(parts[:count]) for count in range(2, len(parts)))
        return next((name for name in names if name in self.known and is_table(self.known[name].kind)), None)

    def put(self, table: str, key: str, value: Any) -> None:
        """Set one key of an option that holds a table; what a preset set beside it stays."""
        default = self.known[table].default
        self.values[table] = copy.deepcopy(self.values.get(table, default))
        place = self.values[table]
        *outer, last = key.removeprefix(f"{table}.").split(".")
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value

    def take_table(self, table: dict[str, Any], where: str) -> None:
        for section, content in table.items():
            if section == "format":
                continue
            if section not in self.sections:
                self.problems.append(f"{where}: no section [{section}]{nearest(section, list(self.sections))}")
            elif not isinstance(content, dict):
                self.problems.append(f"{where}: [{section}] must be a table, not {content!r}")
            else:
                for key, value in flattened(content, self.known, f"{section}."):
                    if key != "world.name":
                        self.take(key, value, where, is_text=False)

    def section(self, name: str) -> Any:
        prefix = f"{name}."
        mine = {self.known[key].attribute: value for key, value in self.values.items() if key.startswith(prefix)}
        return self.sections[name](**mine)


def _plain(text: str) -> Any:
    """A value inside a table as it is typed: a number, true, a list, or else a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _belongs(key: str) -> str:
    """Where a section is known that this run's game does not bring."""
    from holdfast.worlds.ours import OURS
    from holdfast.worlds.registry import own_game

    section = key.partition(".")[0]
    owners = [name for name in OURS if section in own_game(name).sections]
    return f": [{section}] is a section of world {', '.join(owners)}" if owners else ""


def _article(words: str) -> str:
    return words if words.startswith(("one of", "none")) else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def load_config(target: str, overrides: Overrides | None = None) -> tuple[Config, frozenset[str]]:
    """The configuration behind a command line, and the names of the options that were set on purpose."""
    table, where = find_target(target)
    given = given_overrides(overrides)
    given.problems.extend(_newer(table.get("format", FORMAT), where))
    world = table.get("world")
    for named in (target, given.values.get("world.name", "")):  # not what a file says
        name_world(str(named))
    world_name = given.values.pop("world.name", world.get("name") if isinstance(world, dict) else None)
    if not isinstance(world_name, str):
        given.problems.append(f'{where}: [world] needs a name, for example name = "template"')
        raise ConfigError(given.problems)
    return _read(world_name, table, where, given)


def from_table(table: dict[str, Any], where: str) -> tuple[Config, frozenset[str]]:
    """The configuration that a preset's table describes, and the names of the options it sets."""
    return _read(table["world"]["name"], table, where, given_overrides(None))


def from_json(table: dict[str, Any], where: str, overrides: Overrides | None = None) -> tuple[Config, frozenset[str]]:
    """The configuration of a run folder under overrides, and the names of the options that the overrides change."""
    given = given_overrides(overrides)
    newer = _newer(table.get("format"), where)
    world = table.get("world")
    if newer or not isinstance(world, dict) or not isinstance(world.get("name"), str):
        raise ConfigError(newer or [f"{where}: no world in it"])
    if given.values.pop("world.name", None) is not None:
        given.problems.append(f"{given.where}: world.name cannot change in a run that exists; start a new one")
    before, _ = _read(world["name"], table, where, given_overrides(None), complete=True)
    after, _ = _read(world["name"], table, where, given, complete=True)
    old, new = flat(before), flat(after)
    return after, frozenset(key for key in new if new[key] != old[key])


def _newer(version: Any, where: str) -> list[str]:
    if version == FORMAT:
        return []
    return [f"{where}: written in configuration format {version}; this Holdfast reads format {FORMAT}: update it"]


def _read(
    world_name: str, table: dict[str, Any], where: str, given: Given, complete: bool = False
) -> tuple[Config, frozenset[str]]:
    """`complete`: the table holds every option, so only the overrides count as set on purpose."""
    from holdfast.worlds.registry import world_class

    texts = given.values
    backend = texts.get("world.backend", _given(table, "world", "backend"))
    world = world_class(world_name, foreign=backend == "workers" and ":" in world_name)
    reader = _Reader(sections_for(world.Settings, world.game.sections))
    reader.problems += given.problems
    reader.take_table(renewed(table, reader.known) if complete else table, where)
    for key, value in texts.items():
        reader.take(key, value, given.where, given.is_text)
    if not complete:
        _drop_switched_off(reader, frozenset(texts))
    explicit = frozenset(texts) & reader.known.keys() if complete else frozenset(reader.values)
    for switch, implied in world.game.implied.items():
        if reader.values.get(switch):
            known = {key: value for key, value in implied.items() if key in reader.known}
            reader.values = {**known, **reader.values}
    read = {name: reader.section(name) for name in reader.sections}
    own = {name: read.pop(name) for name in world.game.sections}
    config = Config(world_name, **read, own=own)
    explicit -= _overruled(reader, frozenset(texts))
    problems = reader.problems + without_effect(config, explicit, {}) + _evaluation_problems(config)
    if config.rollout.overlap and config.rollout.lag == 0 and (complete or "rollout.lag" in explicit):
        problems.append("rollout.overlap = true acts with the policy of one update ago: it needs rollout.lag = 1")
    if problems:
        raise ConfigError(problems)
    lanes = config.rollout.lanes
    if is_supervised(config.world) and not complete and "rollout.lanes" not in _chosen_for_workers(explicit, texts):
        lanes = WORKER_LANES
    return resolved(config, lanes), explicit


def _chosen_for_workers(explicit: frozenset[str], texts: Mapping[str, Any]) -> frozenset[str]:
    """What was set knowing that every lane is a process: a preset did not if the backend was typed."""
    return frozenset(texts) if "world.backend" in texts else explicit


def _given(table: dict[str, Any], section: str, key: str) -> Any:
    found = table.get(section)
    return found.get(key) if isinstance(found, dict) else None


def _drop_switched_off(reader: _Reader, typed: frozenset[str]) -> None:
    """What a preset sets for a part that the command line switches off goes with it."""
    decided = set(typed)
    while True:
        idle = [key for key in reader.values if key not in typed and _is_switched_off(reader, key, decided)]
        if not idle:
            return
        for key in idle:
            del reader.values[key]
        decided |= set(idle)  # back to their defaults, and what depends on them follows


def _is_switched_off(reader: _Reader, key: str, decided: Collection[str]) -> bool:
    only = reader.known[key].only
    if only is None or only[0] not in decided or only[0] not in reader.known:
        return False
    return not allows(only[1], reader.values.get(only[0], reader.known[only[0]].default))


def _overruled(reader: _Reader, typed: frozenset[str]) -> frozenset[str]:
    """What a preset sets for a mode that the command line turned off: not the user's mistake."""
    return frozenset(
        key for key in reader.values.keys() - typed if (only := reader.known[key].only) is not None and only[0] in typed
    )


def resolved(config: Config, lanes: int) -> Config:
    """The same configuration with defaults filled in that depend on the machine or on other options, so that a resumed
    run keeps them."""
    threads = config.rollout.threads or len(os.sched_getaffinity(0))
    lag = 1 if config.rollout.overlap else config.rollout.lag
    learner = config.learner
    if learner.amp == "auto":
        learner = dataclasses.replace(learner, amp=chosen_precision(config.policy, learner.engine))
    rollout = dataclasses.replace(config.rollout, threads=threads, lanes=lanes, lag=lag)
    return dataclasses.replace(config, rollout=rollout, learner=learner)


def _evaluation_problems(config: Config) -> list[str]:
    """World settings of evaluations are read like any other option."""
    reader = _Reader({name: type(value) for name, value in values_of(config).items()})
    for key, value in flattened(config.evaluation.world, reader.known, "world."):
        reader.take(key, value, "evaluation.world", is_text=False)
    return list(reader.problems)


def read_settings(kind: type, values: Mapping[str, Any], where: str) -> Any:
    """Settings of a world from Python values by their short names, checked like options; ConfigError names the bad."""
    reader = _Reader({"world": kind})
    for key, value in values.items():
        reader.take(f"world.{key}", as_plain(value), where, is_text=False)
    if reader.problems:
        raise ConfigError(reader.problems)
    return reader.section("world")


def with_options(config: Config, options: Any, where: str) -> Config:
    """The configuration with some options changed, given by their full names; ConfigError names what is wrong."""
    values = values_of(config)
    reader = _Reader({name: type(value) for name, value in values.items()})
    if not isinstance(options, dict):
        raise ConfigError([f"{where}: must be a table of options, not {options!r}"])
    for key, value in flattened(options, reader.known):
        reader.take(key, value, where, is_text=False)
    sections: dict[str, dict[str, Any]] = {}
    for key, value in reader.values.items():
        sections.setdefault(key.partition(".")[0], {})[reader.known[key].attribute] = value
    problems = list(reader.problems)
    if not problems:
        replaced = {name: dataclasses.replace(values[name], **some) for name, some in sections.items()}
        own = {**config.own, **{name: replaced.pop(name) for name in config.own if name in replaced}}
        config = dataclasses.replace(config, **replaced, own=own)
        problems += [f"{where}: {text}" for text in without_effect(config, frozenset(reader.values), {})]
    if problems:
        raise ConfigError(problems)
    return config

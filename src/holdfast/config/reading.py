"""From a preset and the command line to a `Config`. All errors are gathered and told at once, each with its fix.

An option that cannot act in the chosen setting is refused; names are exact, with a suggestion for a misspelt one.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from holdfast.config.checks import without_effect
from holdfast.config.old_names import what_became_of, without_idle
from holdfast.config.options import from_text, from_toml, kind_name, out_of_bounds
from holdfast.config.presets import find_target
from holdfast.config.sections import FORMAT, Config, flat, known_options, sections_for, values_of
from holdfast.kit.errors import ConfigError, nearest
from holdfast.learner.precision import chosen_precision
from holdfast.worlds.trust import name_world
from holdfast.worlds.workers.settings import LANES as WORKER_LANES
from holdfast.worlds.workers.supervisor import is_supervised

SHORT = {"backend": "world.backend", "learner": "learner.algorithm"}  # what is typed often


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
                problems.append(f"--{key}: no value given")
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
        self.problems.append(f"{where}: no option {key}{_belongs(key) or nearest(key, list(self.known))}")

    def take(self, key: str, value: Any, where: str, is_text: bool) -> None:
        gone = what_became_of(key, value)
        if gone is not None:
            self.problems.append(f"{where}: {gone}")
            return
        info = self.known.get(key)
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

    def take_table(self, table: dict[str, Any], where: str) -> None:
        for section, content in table.items():
            if section == "format":
                continue
            if section not in self.sections:
                self.problems.append(f"{where}: no section [{section}]{nearest(section, list(self.sections))}")
            elif not isinstance(content, dict):
                self.problems.append(f"{where}: [{section}] must be a table, not {content!r}")
            else:
                for key, value in content.items():
                    if (section, key) != ("world", "name"):
                        self.take(f"{section}.{key}", value, where, is_text=False)

    def section(self, name: str) -> Any:
        prefix = f"{name}."
        mine = {key.removeprefix(prefix): value for key, value in self.values.items() if key.startswith(prefix)}
        return self.sections[name](**mine)


def _belongs(key: str) -> str:
    """Where a section is known that this run's game does not bring."""
    from holdfast.worlds.ours import OURS
    from holdfast.worlds.registry import own_game

    section = key.partition(".")[0]
    owners = [name for name in OURS if section in own_game(name).sections]
    return f": [{section}] is a section of world {', '.join(owners)}" if owners else ""


def _article(words: str) -> str:
    return words if words.startswith(("one of", "none")) else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def load_config(target: str, arguments: list[str] | None = None) -> tuple[Config, frozenset[str]]:
    """The configuration behind a command line, and the names of the options that were set on purpose."""
    table, where = find_target(target)
    texts, problems = parse_overrides(arguments or [])
    problems += _newer(table.get("format", FORMAT), where)
    world = table.get("world")
    for named in (target, texts.get("world.name", "")):  # not what a file says
        name_world(named)
    world_name = texts.pop("world.name", world.get("name") if isinstance(world, dict) else None)
    if not isinstance(world_name, str):
        problems.append(f'{where}: [world] needs a name, for example name = "template"')
        raise ConfigError(problems)
    return _read(world_name, table, where, texts, problems)


def from_table(table: dict[str, Any], where: str) -> tuple[Config, frozenset[str]]:
    """The configuration that a preset's table describes, and the names of the options it sets."""
    return _read(table["world"]["name"], table, where, {}, [])


def from_json(table: dict[str, Any], where: str, arguments: list[str] | None = None) -> tuple[Config, frozenset[str]]:
    """The configuration of a run folder under overrides, and the names of the options that the overrides change."""
    texts, problems = parse_overrides(arguments or [])
    newer = _newer(table.get("format"), where)
    world = table.get("world")
    if newer or not isinstance(world, dict) or not isinstance(world.get("name"), str):
        raise ConfigError(newer or [f"{where}: no world in it"])
    table = without_idle(_renewed(table))
    if texts.pop("world.name", None) is not None:
        problems.append("command line: world.name cannot change in a run that exists; start a new one")
    before, _ = _read(world["name"], table, where, {}, [], complete=True)
    after, _ = _read(world["name"], table, where, texts, problems, complete=True)
    old, new = flat(before), flat(after)
    return after, frozenset(key for key in new if new[key] != old[key])


def _renewed(table: dict[str, Any]) -> dict[str, Any]:
    """What an earlier version wrote, in today's words: `series.world` held options of the world alone."""
    series = table.get("series")
    if not isinstance(series, dict) or not isinstance(series.get("world"), dict):
        return table
    others = {name: value for name, value in series.items() if name != "world"}
    stages = {
        stage: {f"world.{name}": value for name, value in options.items()}
        for stage, options in series["world"].items()
        if isinstance(options, dict)
    }
    return {**table, "series": {**others, "stages": stages}}


def _newer(version: Any, where: str) -> list[str]:
    if version == FORMAT:
        return []
    return [f"{where}: written in configuration format {version}; this Holdfast reads format {FORMAT}: update it"]


def _read(
    world_name: str,
    table: dict[str, Any],
    where: str,
    texts: dict[str, str],
    problems: list[str],
    complete: bool = False,
) -> tuple[Config, frozenset[str]]:
    """`complete`: the table holds every option, so only the overrides count as set on purpose."""
    from holdfast.worlds.registry import world_class

    backend = texts.get("world.backend", _given(table, "world", "backend"))
    world = world_class(world_name, foreign=backend == "workers" and ":" in world_name)
    reader = _Reader(sections_for(world.Settings, world.game.sections))
    reader.problems += problems
    reader.take_table(table, where)
    for key, text in texts.items():
        reader.take(key, text, "command line", is_text=True)
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


def _chosen_for_workers(explicit: frozenset[str], texts: dict[str, str]) -> frozenset[str]:
    """What was set knowing that every lane is a process: a preset did not if the backend was typed."""
    return frozenset(texts) if "world.backend" in texts else explicit


def _given(table: dict[str, Any], section: str, key: str) -> Any:
    found = table.get(section)
    return found.get(key) if isinstance(found, dict) else None


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
    for key, value in config.evaluation.world.items():
        reader.take(f"world.{key}", value, "evaluation.world", is_text=False)
    return list(reader.problems)


def with_options(config: Config, options: Any, where: str) -> Config:
    """The configuration with some options changed, given by their full names; ConfigError names what is wrong."""
    values = values_of(config)
    reader = _Reader({name: type(value) for name, value in values.items()})
    if not isinstance(options, dict):
        raise ConfigError([f"{where}: must be a table of options, not {options!r}"])
    for key, value in options.items():
        reader.take(key, value, where, is_text=False)
    sections: dict[str, dict[str, Any]] = {}
    for key, value in reader.values.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    problems = list(reader.problems)
    if not problems:
        replaced = {name: dataclasses.replace(values[name], **some) for name, some in sections.items()}
        own = {**config.own, **{name: replaced.pop(name) for name in config.own if name in replaced}}
        config = dataclasses.replace(config, **replaced, own=own)
        problems += [f"{where}: {text}" for text in without_effect(config, frozenset(reader.values), {})]
    if problems:
        raise ConfigError(problems)
    return config

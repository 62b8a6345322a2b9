"""A plan against its worlds: every option read by its kind, every configuration tried before any run begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from holdfast.config.checks import check_against_world
from holdfast.config.options import OptionInfo
from holdfast.config.presets import find_target
from holdfast.config.reading import load_config
from holdfast.config.sections import Config, flat, known_options, sections_for
from holdfast.kit.errors import ConfigError
from holdfast.studies.options import OptionReader, words_of
from holdfast.studies.plan import FIRST_UNPRUNED, PRUNERS, SAMPLERS, Plan, Range, Space
from holdfast.views.dry_run import spec_of
from holdfast.worlds.registry import game_of, world_class

MACHINE = ("rollout.threads", "learner.amp")  # filled in by what the machine is, so no part of what a study began with
SCHEDULES = ("learner.lr_restart", "learner.entropy_share")  # numbers of the learner that are no rates


def resolved(plan: Plan) -> Plan:
    """The plan with its options in their plain form; ConfigError lists everything that is wrong with it."""
    if len(set(plan.targets)) < len(plan.targets):
        raise ConfigError([f"a target is given twice: {', '.join(plan.targets)}"])
    problems: list[str] = []
    plans = []
    for target in plan.targets:
        reader = OptionReader(options_of_target(target), target)
        plans.append(_read(plan, reader))
        problems += reader.problems
    problems += _shape_problems(plan)
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    found = plans[0]
    for target in found.targets:
        for options in _samples(found):
            problems += _configuration_problems(target, options)
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return found


def options_of_target(target: str) -> dict[str, OptionInfo]:
    table, where = find_target(target)
    given = table.get("world")
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str):
        raise ConfigError([f'{where}: [world] needs a name, for example name = "template"'])
    world = world_class(name, foreign=False)
    return known_options(sections_for(world.Settings, world.game.sections))


def _read(plan: Plan, reader: OptionReader) -> Plan:
    parts: dict[str, Any] = {}
    for name, part in (("search", plan.search), ("population", plan.population)):
        if part is not None:
            parts[name] = dataclasses.replace(part, space=_space(part.space, reader, f"[{name}.space]"))
    if plan.population is not None:
        reader.problems += _unfree(plan.population.space, reader.known)
    fixed, grid = reader.options(plan.options, "options"), reader.choices(plan.grid, "grid")
    spaces = [part.space for part in (plan.search, plan.population) if part is not None]
    for name in (*plan.grid, *(name for space in spaces for name in space)):
        if name in plan.options:
            reader.problems.append(f"{name} is given one value for all runs, and several: keep one of the two")
    return dataclasses.replace(plan, options=fixed, grid=grid, **parts)


def _space(space: Space, reader: OptionReader, where: str) -> Space:
    found = {}
    for name, span in space.items():
        if span.choices:
            found[name] = Range(choices=tuple(reader.read(name, value, where) for value in span.choices))
            continue
        low, high = (reader.read(name, end, where) for end in (span.low, span.high))
        info = reader.known.get(name)
        if info is not None and info.kind is not int and not isinstance(low, float):
            reader.problems.append(f"{where}: {name} is no number: list its values")
        found[name] = Range(low, high, span.log)
    return found


def is_rate(name: str, info: OptionInfo) -> bool:
    """May it change between generations: a free option, or a number the learner computes an update with?"""
    kind = info.kind is float or info.kind == float | None
    return info.free or (name.startswith("learner.") and kind and name not in SCHEDULES)


def _unfree(space: Space, known: dict[str, OptionInfo] | Any) -> list[str]:
    rates = sorted(name for name, info in known.items() if is_rate(name, info) and name.startswith("learner."))
    return [
        f"[population.space]: {name} cannot change while a run goes on: only free options and the learner's rates "
        f"can ({', '.join(rates)})"
        for name in space
        if name in known and not is_rate(name, known[name])
    ]


def _shape_problems(plan: Plan) -> list[str]:
    """What a kind of study needs, and what does not go together."""
    problems = []
    if plan.threads < 0:
        problems.append(f"threads = {plan.threads}: must be 0 or more")
    if not plan.seeds:
        problems.append("a study needs at least one seed")
    several = [
        name
        for name, part in (("a grid", plan.grid), ("a search", plan.search), ("a population", plan.population))
        if part
    ]
    if len(several) > 1:
        problems.append(f"{' and '.join(several)} do not go together: choose one")
    if plan.search is not None:
        problems += _search_problems(plan)
    if plan.population is not None:
        problems += _population_problems(plan)
    return problems


def _one_run_each(plan: Plan, kind: str) -> list[str]:
    problems = []
    if len(plan.targets) > 1:
        problems.append(f"a {kind} has one target, not {', '.join(plan.targets)}")
    if len(plan.seeds) > 1:
        problems.append(f"a {kind} runs each trial with one seed: --seeds 1; run the best again with --seeds 1-10")
    return problems


def _search_problems(plan: Plan) -> list[str]:
    search = plan.search
    assert search is not None
    problems = _one_run_each(plan, "search")
    if not search.space:
        problems.append("a search needs [search.space] in a study file: which options, from where to where")
    if search.sampler not in SAMPLERS:
        problems.append(f"--search {search.sampler}: one of {', '.join(SAMPLERS)}")
    if search.prune not in PRUNERS:
        problems.append(f"--prune {search.prune}: one of {', '.join(PRUNERS)}")
    if search.sampler == "grid":
        spans = [name for name, span in search.space.items() if not span.choices]
        problems += [f"--search grid tries listed values; {name} has a range: list its values" for name in spans]
    elif search.trials < 1:
        problems.append("a search needs --trials N, 1 or more")
    if search.prune != "none" and 0 < search.trials <= FIRST_UNPRUNED:
        problems.append(f"--prune {search.prune} acts after {FIRST_UNPRUNED} trials; there are {search.trials}")
    return problems


def _population_problems(plan: Plan) -> list[str]:
    population = plan.population
    assert population is not None
    problems = _one_run_each(plan, "population")
    if population.members < 2:
        problems.append(f"--pbt {population.members}: a population has at least 2 members")
    if population.generation < 1:
        problems.append("a population needs --generation N, iterations between exchanges")
    if not population.space:
        problems.append("a population needs [population.space] in a study file: which options, from where to where")
    if problems:
        return problems
    config = load_config(plan.targets[0], words_of(plan.options))[0]
    every, length = config.evaluation.every, config.run.iterations
    if every == 0 or population.generation % every:
        problems.append(
            f"members are compared after {population.generation} iterations, but evaluated every {every} "
            "(evaluation.every): it must divide the generation"
        )
    if population.generation >= length:
        problems.append(f"a generation of {population.generation} iterations is the whole run of {length}: no exchange")
    return problems


def _samples(plan: Plan) -> Iterator[dict[str, Any]]:
    """Options of every grid point, or with a space: each of its values with the first of all others."""
    space = (plan.search or plan.population).space if plan.search or plan.population else {}  # type: ignore[union-attr]
    first = {name: span.ends()[0] for name, span in space.items()}
    for point in plan.combinations():
        yield {**plan.options, **first, **point}
    for name, span in space.items():
        for value in span.ends()[1:]:
            yield {**plan.options, **first, name: value}


def _configuration_problems(target: str, options: dict[str, Any]) -> list[str]:
    try:
        config, explicit = load_config(target, words_of(options))
        game = game_of(config)
        if game.campaign is not None and game.campaign(config) is not None:
            return [f"{target} is a series of runs by itself: run it with holdfast train {target}"]
        check_against_world(config, explicit, spec_of(config))
    except ConfigError as error:
        return error.problems
    return []


def beginnings(plan: Plan) -> dict[str, dict[str, Any]]:
    """The resolved configuration of each target, to notice when a preset is no longer what the study began with."""
    return {target: _of_anywhere(load_config(target, words_of(plan.options))[0]) for target in plan.targets}


def _of_anywhere(config: Config) -> dict[str, Any]:
    table = {name: list(value) if isinstance(value, tuple) else value for name, value in flat(config).items()}
    return {name: value for name, value in table.items() if name not in MACHINE}


def changed_presets(before: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> list[str]:
    """What differs between the configurations a study began with and those it would go on with."""
    return [
        f"{target}: {name} was {before[target].get(name)}, now it is {now[target].get(name)}"
        for target in now
        if target in before
        for name in sorted({*before[target], *now[target]})
        if before[target].get(name) != now[target].get(name)
    ]

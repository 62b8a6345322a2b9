"""What a study is: its targets, seeds, grid, search or population, read from a file and written as resolved.

A study file is TOML with `targets`; `study.toml` in a study's folder is one too, with every default filled in.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.config.presets import read_toml
from holdfast.kit.errors import ConfigError, nearest
from holdfast.studies.options import parse_seeds, seeds_text

DEFAULT_SEEDS = tuple(range(1, 11))
SAMPLERS = ("tpe", "random", "grid", "cmaes")
PRUNERS = ("none", "median")
FIRST_UNPRUNED = 5  # trials that must be over before any is pruned, as with Optuna's MedianPruner


class Goal(NamedTuple):
    """What a search or a population is after: `max:score`."""

    direction: str
    measure: str

    @staticmethod
    def read(text: str) -> Goal:
        direction, colon, measure = text.partition(":")
        if direction not in ("max", "min") or not colon or not measure:
            raise ConfigError([f"goal {text!r}: written as max:score or min:length"])
        return Goal(direction, measure)

    def __str__(self) -> str:
        return f"{self.direction}:{self.measure}"

    def better(self, one: float, other: float) -> bool:
        return one > other if self.direction == "max" else one < other


class Range(NamedTuple):
    """Values of one option that a search may try: from `low` to `high`, or one of `choices`."""

    low: float | int | None = None
    high: float | int | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    def ends(self) -> list[Any]:
        """Values that tell if all can be configured."""
        return list(self.choices) or [self.low, self.high]

    def as_toml(self) -> Any:
        if self.choices:
            return list(self.choices)
        return {"low": self.low, "high": self.high, **({"log": True} if self.log else {})}


Space = dict[str, Range]
BY_SCORE = Goal("max", "score")


@dataclass(frozen=True)
class SearchPlan:
    """A search by Optuna, in batches of as many trials as run side by side."""

    trials: int
    space: Space = field(default_factory=dict)
    sampler: str = "tpe"
    goal: Goal = BY_SCORE
    prune: str = "none"
    batch: int = 0  # 0: as many as jobs, fixed when the study begins


@dataclass(frozen=True)
class PopulationPlan:
    """Population based training by synchronous generations."""

    members: int
    generation: int  # iterations between exchanges
    space: Space = field(default_factory=dict)
    goal: Goal = BY_SCORE


@dataclass(frozen=True)
class Plan:
    """A whole study. Options are plain values by their dotted names."""

    name: str
    targets: tuple[str, ...]
    seeds: tuple[int, ...] = DEFAULT_SEEDS
    options: dict[str, Any] = field(default_factory=dict)  # of every run
    grid: dict[str, list[Any]] = field(default_factory=dict)
    search: SearchPlan | None = None
    population: PopulationPlan | None = None
    seed: int = 1  # of samplers and perturbations
    threads: int = 0  # of each run; 0: its share of the cores, fixed when the study begins

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The points of the grid, the last option changing fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    @property
    def size(self) -> int:
        """How many trials it has in the end."""
        if self.search is not None:
            return self.search.trials
        if self.population is not None:
            return self.population.members
        return len(self.targets) * len(self.seeds) * math.prod(map(len, self.grid.values()))

    @property
    def goal(self) -> Goal:
        """What the score of a trial is."""
        part = self.search or self.population
        return part.goal if part is not None else BY_SCORE


# --- reading ---------------------------------------------------------------------------------------------------------

KEYS = ("name", "targets", "seeds", "options", "grid", "search", "population", "seed", "threads")


def is_study_file(path: str) -> bool:
    """A TOML file with `targets`: a preset has none."""
    return path.endswith(".toml") and Path(path).is_file() and "targets" in read_toml(Path(path))


def read_plan(path: Path) -> Plan:
    return plan_of(read_toml(path), str(path), path.stem)


def plan_of(table: Mapping[str, Any], where: str, name: str) -> Plan:
    """A plan from a study file's content. What its options are is checked later, with the world at hand."""
    problems = [f"{where}: no key {key}{nearest(key, list(KEYS))}" for key in table if key not in KEYS]
    kinds = {"name": str, "targets": list, "options": dict, "grid": dict, "seed": int, "threads": int}
    for key, kind in kinds.items():
        if key in table and not isinstance(table[key], kind):
            problems.append(f"{where}: {key} = {table[key]!r} must be a {kind.__name__}")
    if not table.get("targets"):
        problems.append(f'{where}: a study needs targets, for example targets = ["template"]')
    if problems:
        raise ConfigError(problems)
    return Plan(
        name=table.get("name", name),
        targets=tuple(map(str, table["targets"])),
        seeds=_seeds(table.get("seeds"), where, single="search" in table or "population" in table),
        options=dict(table.get("options", {})),
        grid=dict(table.get("grid", {})),
        search=_search(table["search"], where) if "search" in table else None,
        population=_population(table["population"], where) if "population" in table else None,
        seed=table.get("seed", 1),
        threads=table.get("threads", 0),
    )


def _seeds(given: Any, where: str, single: bool) -> tuple[int, ...]:
    if given is None:
        return (1,) if single else DEFAULT_SEEDS
    if isinstance(given, str):
        return parse_seeds(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return (given,)
    if isinstance(given, list) and given and all(type(seed) is int and seed >= 0 for seed in given):
        return tuple(dict.fromkeys(given))
    raise ConfigError([f'{where}: seeds = {given!r}: written as "1-10" or [1, 2, 3]'])


def _section(table: Any, kind: type, where: str) -> dict[str, Any]:
    """The content of a section, its space and goal read."""
    known = [item.name for item in fields(kind)]
    if not isinstance(table, dict):
        raise ConfigError([f"{where} must be a table"])
    unknown = [f"{where}: no key {key}{nearest(key, known)}" for key in table if key not in known]
    for key in ("trials", "members", "generation", "batch"):
        if key in table and (type(table[key]) is not int or table[key] < 0):
            unknown.append(f"{where}: {key} = {table[key]!r} must be a whole number")
    if unknown:
        raise ConfigError(unknown)
    found = {**table, "space": read_space(table.get("space", {}), f"{where}.space")}
    if "goal" in table:
        found["goal"] = Goal.read(str(table["goal"]))
    return found


def _search(table: Any, where: str) -> SearchPlan:
    return SearchPlan(**{"trials": 0, **_section(table, SearchPlan, f"{where}: [search]")})


def _population(table: Any, where: str) -> PopulationPlan:
    return PopulationPlan(
        **{"members": 0, "generation": 0, **_section(table, PopulationPlan, f"{where}: [population]")}
    )


def read_space(table: Any, where: str) -> Space:
    """`{low = 1e-4, high = 1e-2, log = true}` or `[2, 4, 8]` for each option."""
    if not isinstance(table, dict):
        raise ConfigError([f"{where} must be a table of options"])
    found, problems = {}, []
    for name, value in table.items():
        if isinstance(value, (list, tuple)) and value:
            found[name] = Range(choices=tuple(value))
        elif isinstance(value, Mapping) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
            found[name] = Range(value["low"], value["high"], bool(value.get("log", False)))
            problems += _range_problems(name, found[name], where)
        else:
            problems.append(f"{where}: {name} needs {{low, high}}, with log = true if you like, or a list of values")
    if problems:
        raise ConfigError(problems)
    return found


def _range_problems(name: str, span: Range, where: str) -> list[str]:
    low, high = span.low, span.high
    if any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in (low, high)):
        return [f"{where}: {name}: low and high must be numbers"]
    assert low is not None and high is not None
    if not low < high:
        return [f"{where}: {name}: low {low} must be below high {high}"]
    if span.log and low <= 0:
        return [f"{where}: {name}: low {low} must be above 0 for a logarithmic range"]
    return []


# --- writing ---------------------------------------------------------------------------------------------------------


def as_toml(plan: Plan) -> str:
    """The plan as a study file that reads back to the same."""
    head = {"name": plan.name, "targets": list(plan.targets), "seeds": seeds_text(plan.seeds)}
    sections: dict[str, dict[str, Any]] = {"": {**head, "seed": plan.seed, "threads": plan.threads}}
    sections |= {"options": plan.options, "grid": plan.grid}
    for name, part in (("search", plan.search), ("population", plan.population)):
        if part is not None:
            content = {item.name: getattr(part, item.name) for item in fields(part) if item.name != "space"}
            sections[name] = {**content, "goal": str(part.goal)}
            sections[f"{name}.space"] = {option: span.as_toml() for option, span in part.space.items()}
    texts = []
    for name, content in sections.items():
        if content:
            lines = [f"{_key(key)} = {_value(value)}" for key, value in content.items()]
            texts.append("\n".join([*([f"[{name}]"] if name else []), *lines]))
    return "\n\n".join(texts) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """TOML's basic strings are JSON's, but that DEL must be escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- going on --------------------------------------------------------------------------------------------------------


def extended(old: Plan, new: Plan) -> Plan:
    """The plan of a study that exists, with the seeds and trials that a newer plan adds; ConfigError if anything else
    differs: what was begun otherwise is told, not mixed."""
    new = _as_begun(old, new)
    problems = [
        f"{item.name} was {_shown(getattr(old, item.name))}, now it is {_shown(getattr(new, item.name))}"
        for item in fields(Plan)
        if item.name not in ("seeds", "search", "name") and getattr(old, item.name) != getattr(new, item.name)
    ]
    search = new.search
    if old.search is not None and search is not None:
        if replace(old.search, trials=search.trials) != search:
            problems.append(f"the search was {_shown(old.search)}, now it is {_shown(search)}")
        if search.trials < old.search.trials:
            problems.append(f"it has {old.search.trials} trials already, --trials {search.trials} is fewer")
    elif old.search != search:
        problems.append("a search cannot become a study of seeds, or the other way round")
    if problems:
        text = "; ".join(problems)
        raise ConfigError([f"study {old.name} was begun otherwise: {text}. Take another --name for a new study"])
    more = tuple(seed for seed in new.seeds if seed not in old.seeds) if old.search is None else ()
    if more and old.population is not None:
        raise ConfigError([f"study {old.name} is one population with seed {old.seeds[0]}: no seeds can be added"])
    return replace(old, seeds=old.seeds + more, search=search)


def _as_begun(old: Plan, new: Plan) -> Plan:
    """What was filled in when the study began, where the newer plan leaves it open."""
    search = new.search
    if old.search is not None and search is not None:
        trials = search.trials or (old.search.trials if search.sampler == "grid" else 0)
        search = replace(search, batch=search.batch or old.search.batch, trials=trials)
    return replace(new, threads=new.threads or old.threads, search=search)


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)

"""Runs grouped by their configuration without seed and names, and how the configurations of groups differ."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.kit.errors import ConfigError, nearest
from holdfast.studies.recorded import Options, Recorded

WORLD = "world.name"


@dataclass
class Group:
    """Runs of one configuration; with `by`, runs that have the same values of those options."""

    label: str
    options: Options  # what all its runs share
    strata: dict[str, list[Recorded]] = field(default_factory=dict)  # by the rest of the configuration

    @property
    def runs(self) -> list[Recorded]:
        return [run for runs in self.strata.values() for run in runs]


def group_runs(runs: list[Recorded], by: list[str]) -> tuple[list[Group], list[str]]:
    """Groups in the order their first runs come in, and notes on runs that are counted once only."""
    _check_names(runs, by)
    groups: dict[str, Group] = {}
    notes: list[str] = []
    for run in runs:
        chosen = {name: run.options.get(name) for name in by} if by else run.options
        rest = {name: value for name, value in run.options.items() if name not in chosen} if by else {}
        group = groups.setdefault(_key(chosen), Group("", chosen))
        stratum = group.strata.setdefault(_key(rest), [])
        twin = next((other for other in stratum if other.seed == run.seed), None)
        if twin is None:
            stratum.append(run)
        else:
            notes.append(f"{run.name} is {twin.name} again (same configuration, same seed): counted once")
    found = list(groups.values())
    for group, label in zip(found, _labels(found, by), strict=True):
        group.label = label
    return found, notes


def _check_names(runs: list[Recorded], by: list[str]) -> None:
    known = sorted({name for run in runs for name in run.options})
    unknown = [name for name in by if name not in known]
    if unknown:
        raise ConfigError([f"--by {name}: no run has this option{nearest(name, known)}" for name in unknown])


def _key(options: Options) -> str:
    return json.dumps(options, sort_keys=True)


def differences(groups: list[Group]) -> dict[str, list[Any]]:
    """Options that are not the same in all groups, with the value of each group."""
    names = sorted({name for group in groups for name in group.options})
    table = {name: [group.options.get(name) for group in groups] for name in names}
    return {name: values for name, values in table.items() if any(value != values[0] for value in values)}


def shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _labels(groups: list[Group], by: list[str]) -> list[str]:
    """The preset where there are several, then the options that tell groups of one preset apart."""
    presets = [", ".join(dict.fromkeys(run.preset for run in group.runs)) for group in groups]
    several = len(set(presets)) > 1 and not by
    labels = []
    for group, preset in zip(groups, presets, strict=True):
        beside = [other for other, theirs in zip(groups, presets, strict=True) if not several or theirs == preset]
        telling = by or list(differences(beside))
        words = [f"{name}={shown(group.options.get(name))}" for name in telling if name != WORLD or not several]
        labels.append(" ".join(([preset] if several or not words else []) + words))
    return labels


def values_of(group: Group, measure: str) -> dict[str, dict[int, float]]:
    """A measure by stratum and seed."""
    return {key: {run.seed: run.measure(measure) for run in runs} for key, runs in group.strata.items()}


def as_strata(values: dict[str, dict[int, float]]) -> list[np.ndarray]:
    return [np.array(list(by_seed.values())) for by_seed in values.values()]

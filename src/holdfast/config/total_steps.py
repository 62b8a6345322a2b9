"""How many iterations a number of agent-steps takes: `holdfast train TARGET --total-steps N`."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import WorldSpec


class Length(NamedTuple):
    """A configuration of that length, and the arithmetic behind it."""

    config: Config
    told: str


def steps_per_iteration(config: Config, spec: WorldSpec) -> tuple[int, str]:
    """Agent-steps that are learned from in one iteration, and how they come about."""
    lanes, steps = config.rollout.lanes, config.rollout.steps
    agents = [role.agents for role in spec.roles]
    learning = max(agents) if config.duel.mode == "turns" else sum(agents)
    noun = "agent" if learning == 1 else "agents"
    return lanes * steps * learning, f"{lanes} lanes x {steps} steps x {learning} {noun}"


def with_total_steps(config: Config, spec: WorldSpec, total: int, options: list[str]) -> Length:
    """The configuration with the iterations that `total` agent-steps take, rounded up."""
    if total < 1:
        raise ConfigError([f"--total-steps {total}: must be at least 1"])
    if any(word.partition("=")[0] == "--run.iterations" for word in options):
        raise ConfigError(["--total-steps and --run.iterations both say how long the run is: use one of the two"])
    each, product = steps_per_iteration(config, spec)
    iterations = -(-total // each)
    run = dataclasses.replace(config.run, iterations=iterations)
    told = f"run.iterations = {iterations}: {product} = {each:,} agent-steps each, {iterations * each:,} in all"
    rounded = "" if iterations * each == total else f", at least {total:,}"
    return Length(dataclasses.replace(config, run=run), told + rounded)

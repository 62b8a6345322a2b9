"""The memory ladder: out of memory, a run goes back to its last checkpoint and goes on with a smaller batch.

Each rung needs less memory than the one above it. The first only splits minibatches and averages their gradients before
a step, which is the same arithmetic up to rounding; from the second on fewer steps or lanes are collected at once, and
what is learned differs.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import psutil
import torch

from holdfast.config.sections import Config
from holdfast.learner.batch import make_batch
from holdfast.runs.errors import OutOfMemory
from holdfast.runs.failing import is_out_of_memory
from holdfast.runs.folder import RunFolder
from holdfast.runs.reopen import keep_changed_config
from holdfast.runs.supervised import supervised
from holdfast.worlds.api import Role
from holdfast.worlds.registry import make_world

FEWEST_LANES, FEWEST_STEPS = 2, 16
COPIES = 2.0  # a batch, and the shuffled copy of it that an epoch learns from

Outcome = TypeVar("Outcome")


class Rung(NamedTuple):
    """The sizes that decide how much memory a run takes."""

    lanes: int
    steps: int
    minibatch: int
    pieces: int = 1  # minibatches whose gradients are averaged into one step

    def __str__(self) -> str:
        split = f", {self.pieces} to a step" if self.pieces > 1 else ""
        return f"{self.lanes} lanes x {self.steps} steps, minibatches of {self.minibatch}{split}"


def rungs(config: Config, roles: Sequence[Role]) -> list[Rung]:
    """From the configured sizes downwards, without repetitions."""
    lanes, steps, minibatch = config.rollout.lanes, config.rollout.steps, config.learner.minibatch
    half, quarter = max(steps // 2, min(steps, FEWEST_STEPS)), max(steps // 4, min(steps, FEWEST_STEPS))
    fewest = min(lanes, FEWEST_LANES)
    three_quarters, half_lanes = max(3 * lanes // 4, fewest), max(lanes // 2, fewest)
    pieces = config.learner.grad_accum
    found = [Rung(lanes, steps, minibatch, pieces), *_split(config, roles)]
    for size in [(lanes, half), (three_quarters, half), (half_lanes, half), (half_lanes, quarter)]:
        if size != found[-1][:2]:
            fitting = fitting_minibatch(config, roles, *size, max(1, minibatch // 2))
            found.append(Rung(*size, fitting, pieces))
    return list(dict.fromkeys(found))


def _split(config: Config, roles: Sequence[Role]) -> list[Rung]:
    """Half the minibatch, twice as many to a step, where minibatches are halved without a rest."""
    lanes, steps, half = config.rollout.lanes, config.rollout.steps, config.learner.minibatch // 2
    halves = config.learner.minibatch == 2 * half > 0 and fitting_minibatch(config, roles, lanes, steps, half) == half
    return [Rung(lanes, steps, half, 2 * config.learner.grad_accum)] if halves else []


def fitting_minibatch(config: Config, roles: Sequence[Role], lanes: int, steps: int, most: int) -> int:
    """The largest minibatch, at most so large, that divides the batch of every role; whole rollouts with a core."""
    unit = steps if config.policy.core != "none" else 1
    counts = [lanes * steps * role.agents // unit for role in roles]
    for size in range(max(1, most // unit), 0, -1):
        if all(count % size == 0 for count in counts):
            return size * unit
    return unit


def on_rung(config: Config, rung: Rung) -> Config:
    return dataclasses.replace(
        config,
        rollout=dataclasses.replace(config.rollout, lanes=rung.lanes, steps=rung.steps),
        learner=dataclasses.replace(config.learner, minibatch=rung.minibatch, grad_accum=rung.pieces),
    )


def batch_bytes(rung: Rung, roles: Sequence[Role], core_size: int) -> int:
    """What the batches of a rung will take, without taking it."""
    with torch.device("meta"):
        tensors = [tensor for role in roles for tensor in make_batch(role, rung.lanes, rung.steps, core_size)]
    return int(COPIES * sum(tensor.numel() * tensor.element_size() for tensor in tensors))


def roles_of(config: Config) -> tuple[Role, ...]:
    with supervised(config) as supervisor:
        world = make_world(config.world_name, config.world, 1, seed=0, supervisor=supervisor)
        try:
            return tuple(role.discretized(config.policy.grid) for role in world.spec.roles)
        finally:
            world.close()


Go = Callable[[Config, list[str]], Outcome]


def with_ladder(config: Config, run: RunFolder, first: Go[Outcome], again: Go[Outcome]) -> Outcome:
    """Run `first`; whenever it is out of memory, `again` with the next rung. Without `memory.auto`, only `first`."""
    if not config.memory.auto:
        return first(config, [])
    roles, free = roles_of(config), psutil.virtual_memory().available
    core_size = config.policy.core_size if config.policy.core != "none" else 0
    go, notes, tried = first, list[str](), list[str]()
    for rung in rungs(config, roles):
        needed = batch_bytes(rung, roles, core_size)
        if needed > free:
            tried.append(f"{rung}: would need {needed / 1e6:,.0f} MB of {free / 1e6:,.0f} MB that are free")
            continue
        chosen = on_rung(config, rung)
        if tried:
            notes = [f"out of memory ({tried[-1]}); going on with {rung}; this is not an exact resume"]
            keep_changed_config(run, chosen, notes)
        try:
            return go(chosen, notes)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            tried.append(f"{rung}: {type(error).__name__}")
        go = again
        gc.collect()
    raise OutOfMemory("out of memory on every rung of the ladder:\n" + "\n".join(f"  - {text}" for text in tried))

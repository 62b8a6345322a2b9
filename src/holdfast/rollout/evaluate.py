"""Evaluate: whole episodes on fixed seeds, one lane each, through the same world code as training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import WorldError
from holdfast.kit.intervals import bootstrap_mean
from holdfast.kit.rng import derive
from holdfast.worlds.api import Act, Episodes, World
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.settings import LANES as WORKER_LANES
from holdfast.worlds.workers.supervisor import Supervisor, is_supervised

DURING_RUN, HELD_OUT, ROLLING = 0, 1, 2  # blocks of seeds; from the last one on, one for each evaluation
LANES_AT_ONCE = 256
LONGEST_EPISODE = 1_000_000


class Summary(NamedTuple):
    """Mean score of an evaluation with its 95 % interval, and its worst episode."""

    mean: float
    low: float
    high: float
    worst: float
    episodes: int


def evaluation_keys(seed: int, block: int, episodes: int) -> np.ndarray:
    """Episode keys of one block of an evaluation's seeds."""
    base = np.uint64(derive(np.uint64(seed), np.uint64(block)))  # a kernel returns a plain int
    return np.array([derive(base, np.uint64(episode)) for episode in range(episodes)], np.uint64)


class Evaluation(NamedTuple):
    """A world to evaluate in, and the seeds to evaluate on."""

    world_name: str
    settings: Any
    keys: np.ndarray
    threads: int
    supervisor: Supervisor | None = None  # of worlds in workers

    def play(self, make_act: Callable[[World], Act]) -> Episodes:
        """Play the episodes of these keys, in their order, by a policy made for the world."""
        at_once = WORKER_LANES if is_supervised(self.settings) else LANES_AT_ONCE
        parts = np.array_split(self.keys, -(-len(self.keys) // at_once))
        return Episodes.joined([self._play_part(make_act, keys) for keys in parts])

    def _play_part(self, make_act: Callable[[World], Act], keys: np.ndarray) -> Episodes:
        world = self.make_world(len(keys))
        try:
            return play_once(world, make_act(world), keys)
        finally:
            world.close()

    def make_world(self, lanes: int) -> World:
        return make_world(self.world_name, self.settings, lanes, 0, self.threads, self.supervisor)


def play_once(world: World, act: Act, keys: np.ndarray) -> Episodes:
    """Play one whole episode in every lane."""
    world.reset(keys=keys)
    table = Episodes.joined(play_until(world, act, np.ones(world.lanes, np.bool_), keys))
    return table.take(np.argsort(table["lane"]))


def play_until(world: World, act: Act, waiting: np.ndarray, keys: np.ndarray, left: int = 0) -> list[Episodes]:
    """Episodes that ended until at most `left` of the waiting lanes were left; `waiting` keeps those."""
    tables = []
    for _ in range(LONGEST_EPISODE):
        world.step(act(world))
        ended = (world.terminated | world.truncated) & waiting
        if world.lost is not None and (lost := np.flatnonzero(world.lost & waiting)).size:
            ended[lost] = False
            world.reset(lost, keys=keys[lost])  # played again: a failed worker says nothing about the policy
        if ended.any():
            table = world.finished()
            tables.append(table.take(ended[table["lane"]]))
            waiting &= ~ended
            if waiting.sum() <= left:
                return tables
    raise WorldError(f"world {world.spec.name}: {waiting.sum()} episodes did not end within {LONGEST_EPISODE} steps")


def summary(episodes: Episodes, score: str) -> Summary:
    values = episodes[score]
    low, high = bootstrap_mean(values)
    return Summary(float(values.mean()), low, high, float(values.min()), len(values))


def yardstick_names(evaluation: Evaluation) -> list[str]:
    world = evaluation.make_world(1)
    try:
        return list(world.yardsticks())
    finally:
        world.close()


def play_yardsticks(evaluation: Evaluation) -> dict[str, Episodes]:
    """Play the same episodes by every policy that needs no learning."""

    def chosen(name: str) -> Callable[[World], Act]:
        return lambda world: world.yardsticks()[name]

    return {name: evaluation.play(chosen(name)) for name in yardstick_names(evaluation)}

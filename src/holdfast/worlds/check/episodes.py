"""Proofs about single episodes: what is seen and earned, when it ends, and what is told of it afterwards."""

from __future__ import annotations

import numpy as np

from holdfast.worlds.api import World
from holdfast.worlds.check.subject import PATIENCE, Broken, Subject, advance, ended_lanes
from holdfast.worlds.spaces import Observations

TOLERANCE = 1e-5  # of the sum of absolute rewards: worlds may add in another order or precision


def bounds_hold(subject: Subject) -> str:
    world = subject.begun()
    for step in range(subject.steps_past_an_end + 1):
        if step:
            advance(world)
        _check_bounds(world, step)
    return f"observations and rewards of {subject.steps_past_an_end} steps"


def _check_bounds(world: World, step: int) -> None:
    ended = ended_lanes(world)
    for role in world.spec.roles:
        arrays = world.roles[role.name]
        _check_sight(arrays.obs[arrays.alive], f"{role.name}.obs", role.observations, step)
        kept = arrays.final_alive & ended[:, None]
        if step:
            _check_sight(arrays.final_obs[kept], f"{role.name}.final_obs", role.observations, step)
        if not np.isfinite(arrays.reward).all():
            raise Broken(f"after {step} steps {role.name}.reward is not finite")


def _check_sight(seen: np.ndarray, name: str, space: Observations, step: int) -> None:
    if not np.isfinite(seen).all():
        raise Broken(f"after {step} steps {name} is not finite")
    if seen.size and (seen.min() < space.low or seen.max() > space.high):
        raise Broken(
            f"after {step} steps {name} spans {seen.min()} to {seen.max()}, outside {space.low} to {space.high}"
        )


def episodes_end(subject: Subject) -> str:
    world = subject.begun()
    running = np.ones(subject.lanes, bool)
    for step in range(1, PATIENCE + 1):
        advance(world)
        running &= ~ended_lanes(world)
        if not running.any():
            return f"every lane ended once within {step} steps"
    never = np.flatnonzero(running).tolist()
    raise Broken(f"lanes {never} did not end once in {PATIENCE} steps: give the world a limit")


def flags_are_true(subject: Subject) -> str:
    world = subject.begun()
    episodes = 0
    for step in range(1, subject.steps_past_an_end + 1):
        keys = world.clock.episode_key.copy()
        advance(world)
        if (world.terminated & world.truncated).any():
            raise Broken(f"after {step} steps a lane is both terminated and truncated")
        ended = np.flatnonzero(ended_lanes(world))
        episodes += len(ended)
        table = world.finished()
        if table["lane"].tolist() != ended.tolist():
            raise Broken(f"after {step} steps lanes {ended.tolist()} ended, finished() has {table['lane'].tolist()}")
        if table["terminated"].tolist() != world.terminated[ended].tolist():
            raise Broken(f"after {step} steps finished() and the terminated flags disagree")
        if table["key"].tolist() != keys[ended].tolist():
            raise Broken(f"after {step} steps finished() has keys of other episodes than those that ended")
    return f"{episodes} ends in {subject.steps_past_an_end} steps"


def dead_agents_rest(subject: Subject) -> str:
    world = subject.begun()
    deaths = 0
    for step in range(1, subject.steps + 1):
        before = {name: arrays.alive.copy() for name, arrays in world.roles.items()}
        advance(world)
        for name, arrays in world.roles.items():
            if arrays.reward[~before[name]].any():
                raise Broken(f"after {step} steps a {name} that was dead before the step has a reward")
            if arrays.obs[~arrays.alive].any():
                raise Broken(f"after {step} steps a dead {name} has an observation that is not zero")
            deaths += int((before[name] & ~arrays.alive).sum())
    return f"{deaths} deaths within episodes in {subject.steps} steps"


class Tally:
    """The checker's own count of one role's rewards in the running episodes."""

    def __init__(self, alive: np.ndarray) -> None:
        self.sums = np.zeros(alive.shape)
        self.sizes = np.zeros(alive.shape)
        self.present = alive.copy()

    def add(self, reward: np.ndarray) -> None:
        self.sums += reward
        self.sizes += np.abs(reward)

    def mean(self, values: np.ndarray, lane: int) -> float:
        present = self.present[lane]
        return float(values[lane][present].mean()) if present.any() else 0.0

    def begin(self, lanes: np.ndarray, alive: np.ndarray) -> None:
        self.sums[lanes] = 0.0
        self.sizes[lanes] = 0.0
        self.present[lanes] = alive[lanes]


def numbers_add_up(subject: Subject) -> str:
    """`return` (with several roles `return_<role>`): the mean over the agents alive at the start of their sums."""
    world = subject.begun()
    tallies = {name: Tally(arrays.alive) for name, arrays in world.roles.items()}
    lengths = np.zeros(subject.lanes, int)
    episodes = 0
    for _ in range(subject.steps_past_an_end):
        advance(world)
        lengths += 1
        for name, tally in tallies.items():
            tally.add(world.roles[name].reward)
        episodes += _check_numbers(world, tallies, lengths)
        ended = ended_lanes(world)
        lengths[ended] = 0
        for name, tally in tallies.items():
            tally.begin(ended, world.roles[name].alive)
    return f"{episodes} episodes in {subject.steps_past_an_end} steps"


def _check_numbers(world: World, tallies: dict[str, Tally], lengths: np.ndarray) -> int:
    table = world.finished()
    for row, lane in enumerate(table["lane"]):
        if table["length"][row] != lengths[lane]:
            raise Broken(f"an episode of {lengths[lane]} steps has length {table['length'][row]} in finished()")
        for name, tally in tallies.items():
            column = "return" if len(tallies) == 1 else f"return_{name}"
            counted, told = tally.mean(tally.sums, lane), float(table[column][row])
            if not abs(counted - told) <= TOLERANCE * (1.0 + tally.mean(tally.sizes, lane)):
                raise Broken(f"the rewards of an episode add up to {counted}, its {column} in finished() is {told}")
    return len(table)

"""The world under examination: how proofs make it, read all of it, and name the first difference between two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.kit.errors import ConfigError, nearest
from holdfast.worlds.api import ArrayWorld, World, random_policy
from holdfast.worlds.registry import make_world, world_class

Arrays = dict[str, np.ndarray]

PATIENCE = 10_000  # steps in which an episode must have ended
AFTER_AN_END = 20


class Broken(Exception):
    """The world does not keep the promise; the text is what the user reads."""


class NotApplicable(Exception):
    """The promise says nothing about this world; the text is the reason."""


def settings_of(name: str, options: dict[str, Any]) -> Any:
    """The settings of a world with these options, the others at their defaults."""
    settings_class = world_class(name).Settings
    known = [field.name for field in dataclasses.fields(settings_class)]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ConfigError([f"world {name} has no option {option!r}{nearest(option, known)}" for option in unknown])
    return settings_class(**options)


class Subject:
    """What is examined, and the worlds made of it for the current proof."""

    def __init__(self, name: str, options: dict[str, Any], lanes: int, steps: int, seed: int) -> None:
        self.name = name
        self.options = options
        self.settings = settings_of(name, options)
        self.lanes = lanes
        self.steps = steps
        self.seed = seed
        self._made: list[World] = []

    def make(self, lanes: int | None = None, seed: int | None = None, threads: int = 1) -> World:
        """A new world, not yet reset."""
        world = make_world(
            self.name, self.settings, lanes or self.lanes, self.seed if seed is None else seed, threads=threads
        )
        self._made.append(world)
        return world

    def begun(self, lanes: int | None = None, seed: int | None = None, threads: int = 1) -> World:
        """A new world at the start of its first episodes."""
        world = self.make(lanes, seed, threads)
        world.reset()
        return world

    @cached_property
    def steps_past_an_end(self) -> int:
        """At least `steps`, and past the first end of an episode: what is promised of ends must see one."""
        world = self.begun()
        for step in range(1, PATIENCE + 1):
            advance(world)
            if ended_lanes(world).any():
                return max(self.steps, step + AFTER_AN_END)
        return self.steps

    def close(self) -> None:
        while self._made:
            self._made.pop().close()


def advance(world: World, steps: int = 1) -> None:
    """Random actions, a function of episode and time, so equal lanes get equal actions in any world."""
    for _ in range(steps):
        world.step(random_policy(world))


def ended_lanes(world: World) -> np.ndarray:
    return world.terminated | world.truncated


def buffers(world: World) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that a learner reads, by name."""
    for role, arrays in world.roles.items():
        for field, array in arrays._asdict().items():
            yield f"{role}.{field}", array


def everything(world: World) -> Arrays:
    """All state and all buffers."""
    return {**world.arrays(), **dict(buffers(world))}


def by_lane(world: World) -> Arrays:
    """All that is kept per lane, as copies. What an older episode left in `final_…` is of no meaning: left out."""
    arrays = {**world.clock._asdict(), **dict(buffers(world))}
    if isinstance(world, ArrayWorld):
        arrays |= world.state._asdict()
    ended = ended_lanes(world)
    for name, array in arrays.items():
        arrays[name] = array.copy()
        if ".final_" in name:
            arrays[name][~ended] = 0
    return arrays


def rows(arrays: Mapping[str, np.ndarray], lanes: np.ndarray) -> Arrays:
    return {name: array[lanes] for name, array in arrays.items()}


def first_difference(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> str | None:
    """The name of the first array that is not the same to the last bit, and where it differs."""
    if one.keys() != other.keys():
        return f"the arrays {sorted(one.keys() ^ other.keys())}"
    for name, array in one.items():
        if array.shape != other[name].shape or array.dtype != other[name].dtype:
            return f"{name} is {array.dtype}{list(array.shape)} and {other[name].dtype}{list(other[name].shape)}"
        if array.tobytes() != other[name].tobytes():
            return f"{name}{_place(array, other[name])}"
    return None


def _place(one: np.ndarray, other: np.ndarray) -> str:
    places = np.argwhere(np.atleast_1d(one != other))
    if not len(places):
        return " (same values, other bits: -0.0 or NaN)"
    where = tuple(places[0].tolist())
    return f"{list(where)} = {np.atleast_1d(one)[where]} and {np.atleast_1d(other)[where]}"

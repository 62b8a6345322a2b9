"""A planted weakness: a frozen side acts at random while it has the other under certain angles.

A best-response test that cannot find such a hole in a policy would not find a real one either; that is the power check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import ConfigError
from holdfast.worlds.api import World, random_policy


class Blind(NamedTuple):
    """Which role is blind, and between which angles from its heading, in degrees."""

    role: int
    start_deg: float
    end_deg: float


def bearing(world: World, role: int) -> np.ndarray:
    """[N] angle at which a role has the other, from its heading, in (-pi, pi]."""
    pose = getattr(world, "state", None)
    pose = getattr(pose, "pose", None)
    if pose is None:
        raise ConfigError(
            [f"the planted blind spot needs to know where the two are; world {world.spec.name} does not tell"]
        )
    own, other = pose[:, role], pose[:, 1 - role]
    angle = np.arctan2(other[:, 1] - own[:, 1], other[:, 0] - own[:, 0]) - own[:, 2]
    return np.arctan2(np.sin(angle), np.cos(angle))


def is_blind(world: World, blind: Blind) -> np.ndarray:
    """A challenger who is told the duel turned over sees left and right exchanged: the spot is where it is told to be,
    or it could never learn on which side it is."""
    degrees = np.degrees(bearing(world, blind.role)) * told_turn(world, 1 - blind.role)
    return (degrees >= blind.start_deg) & (degrees <= blind.end_deg)


def told_turn(world: World, role: int) -> np.ndarray | float:
    """[N] -1 where a role is told left as right."""
    mirror = getattr(getattr(world, "state", None), "mirror", None)
    return 1.0 if mirror is None else np.asarray(mirror[:, role, 2])


def blinded(world: World, blind: Blind, actions: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The actions, with random ones where the blind role does not see the other."""
    name = world.spec.roles[blind.role].name
    where = is_blind(world, blind).reshape(-1, *([1] * (actions[name].ndim - 1)))
    return {**actions, name: np.where(where, random_policy(world)[name], actions[name])}


def blind_world(world: World, blind: Blind | None) -> Any:
    """The world with a blind role; the same world without one."""
    if blind is None:
        return world
    bearing(world, blind.role)
    step = world.step
    world.step = lambda actions: step(blinded(world, blind, actions))  # type: ignore[method-assign]
    return world

"""How a dealt situation begins: the fish look around again, or the predator gets a given velocity.

These kernels are compiled when the first situation is dealt, as most runs deal none.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.rules import look
from holdfast.games.fish.world.spawn import launch_predator, roll_predator, spawn_fish
from holdfast.kit.compiled import kernel


@kernel
def look_again(school, fish, rules, lanes):  # type: ignore[no-untyped-def]
    for n in lanes:
        look(school, fish, rules, n)


@kernel
def begin_moving(clock, school, fish, rules, lanes, velocities, pre_roll):  # type: ignore[no-untyped-def]
    """The episode that these lanes have just begun, with a predator of given velocity: at the first step, or before the
    pre-roll, which keeps no more than a trace of the heading and nothing of the speed."""
    for k in range(lanes.shape[0]):
        n = lanes[k]
        if pre_roll:
            roll_predator(
                school, clock.episode_key[n], math.atan2(velocities[k, 1], velocities[k, 0]), rules.pool_radius, n
            )
            for i in range(school.n_fish[n]):  # their clearance is from where the predator arrives
                spawn_fish(school, clock.episode_key[n], rules, n, i)
        else:
            launch_predator(school, velocities[k, 0], velocities[k, 1], n)
        look(school, fish, rules, n)


def as_lanes(lanes: np.ndarray) -> np.ndarray:
    """One type of lane numbers, so that each kernel is compiled once."""
    return np.ascontiguousarray(lanes, np.int64)

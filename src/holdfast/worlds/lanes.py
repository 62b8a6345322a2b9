"""What every lane has, whatever its world: keys, time, level, flags, and the numbers of the episode that ended last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import derive, lane_keys, uniform

RANDOM_STREAM = 0xAC7  # of the random yardstick


class Lanes(NamedTuple):
    """Per-lane arrays that all worlds share; also a valid argument of kernels."""

    lane_key: np.ndarray  # [N] u64, fixed for the life of the world
    episode_index: np.ndarray  # [N] u64, how many episodes the lane has begun
    episode_key: np.ndarray  # [N] u64, all randomness of the current episode comes from it
    given_key: np.ndarray  # [N] u64, the key of the next episode if not 0
    t: np.ndarray  # [N] i32, steps since the episode began
    level: np.ndarray  # [N, L] f64, level parameters of the next reset
    terminated: np.ndarray  # [N] bool, the episode reached its own end in the last step
    truncated: np.ndarray  # [N] bool, it was cut by a limit in the last step
    ended_key: np.ndarray  # [N] u64, key of the episode that ended last
    ended: np.ndarray  # [N, columns] f64, its numbers


def make_lanes(lanes: int, seed: int, columns: tuple[str, ...], level: list[float]) -> Lanes:
    return Lanes(
        lane_key=lane_keys(seed, lanes),
        episode_index=np.zeros(lanes, np.uint64),
        episode_key=np.zeros(lanes, np.uint64),
        given_key=np.zeros(lanes, np.uint64),
        t=np.zeros(lanes, np.int32),
        level=np.tile(np.asarray(level, np.float64), (lanes, 1)),
        terminated=np.zeros(lanes, np.bool_),
        truncated=np.zeros(lanes, np.bool_),
        ended_key=np.zeros(lanes, np.uint64),
        ended=np.zeros((lanes, len(columns)), np.float64),
    )


@inlined
def next_episode(clock, n):  # type: ignore[no-untyped-def]
    """Set lane n's clock to the start of its next episode."""
    clock.episode_index[n] += np.uint64(1)
    if clock.given_key[n] != np.uint64(0):
        clock.episode_key[n] = clock.given_key[n]
        clock.given_key[n] = np.uint64(0)
    else:
        clock.episode_key[n] = derive(clock.lane_key[n], clock.episode_index[n])
    clock.t[n] = 0


@kernel
def random_actions(clock, count, role):  # type: ignore[no-untyped-def]
    """[N, count] uniform numbers, each a function of (episode key, time, role, place)."""
    unit = np.empty((clock.t.shape[0], count))
    for n in range(clock.t.shape[0]):
        for k in range(count):
            unit[n, k] = uniform(clock.episode_key[n], RANDOM_STREAM + role, np.int64(clock.t[n]) * count + k)
    return unit

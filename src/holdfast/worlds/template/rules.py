"""The rules of the track as kernels: one lane at a time, then all lanes over threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.kit.compiled import inlined, parallel_kernel, prange
from holdfast.kit.rng import uniform, uniform4
from holdfast.worlds.lanes import next_episode

CELLS = 8
LEFT, STAY, RIGHT = 0, 1, 2
ACTIONS = 3
SPAWN_STREAM, SLIP_STREAM = 1, 2
FAR, SLIP, STEPS = 0, 1, 2  # places of the level parameters


class Track(NamedTuple):
    """The state of a lane beyond its clock."""

    position: np.ndarray  # [N] i32
    target: np.ndarray  # [N] i32
    slip: np.ndarray  # [N] f64, level of the current episode
    step_limit: np.ndarray  # [N] i32, level of the current episode
    total: np.ndarray  # [N] f64, return so far


def make_track(lanes: int) -> Track:
    return Track(
        position=np.zeros(lanes, np.int32),
        target=np.zeros(lanes, np.int32),
        slip=np.zeros(lanes, np.float64),
        step_limit=np.zeros(lanes, np.int32),
        total=np.zeros(lanes, np.float64),
    )


@inlined
def observe(track, obs, n):  # type: ignore[no-untyped-def]
    """Two one-hot rows: where I am, where I must go."""
    for cell in range(2 * CELLS):
        obs[n, 0, cell] = 0.0
    obs[n, 0, track.position[n]] = 1.0
    obs[n, 0, CELLS + track.target[n]] = 1.0


@inlined
def begin_lane(clock, track, player, n):  # type: ignore[no-untyped-def]
    next_episode(clock, n)
    place, far, _, _ = uniform4(clock.episode_key[n], SPAWN_STREAM, 0)
    start = int(place * CELLS)
    track.position[n] = start
    # a uniform choice among the cells within `far` of the start, the start left out
    first = max(0, start - int(clock.level[n, FAR]))
    last = min(CELLS - 1, start + int(clock.level[n, FAR]))
    target = first + int(far * (last - first))
    track.target[n] = target + 1 if target >= start else target
    track.slip[n] = clock.level[n, SLIP]
    track.step_limit[n] = np.int32(clock.level[n, STEPS])
    track.total[n] = 0.0
    player.alive[n, 0] = True
    observe(track, player.obs, n)


@inlined
def step_lane(clock, track, player, actions, step_cost, n):  # type: ignore[no-untyped-def]
    clock.t[n] += 1
    action = actions[n, 0]
    forced = False
    if track.slip[n] > 0.0:
        draw = uniform(clock.episode_key[n], SLIP_STREAM, clock.t[n])
        if draw < track.slip[n]:
            forced = True
            action = int(draw / track.slip[n] * ACTIONS)
    player.forced[n, 0] = forced
    track.position[n] = min(max(track.position[n] + action - STAY, 0), CELLS - 1)
    arrived = track.position[n] == track.target[n]
    reward = np.float32(1.0 - step_cost if arrived else -step_cost)
    player.reward[n, 0] = reward
    track.total[n] += reward
    observe(track, player.obs, n)
    clock.terminated[n] = arrived
    clock.truncated[n] = not arrived and clock.t[n] >= track.step_limit[n]
    if clock.terminated[n] or clock.truncated[n]:
        end_lane(clock, track, player, arrived, n)


@inlined
def end_lane(clock, track, player, arrived, n):  # type: ignore[no-untyped-def]
    """Keep what the ended episode leaves behind, then begin the next one in the same step."""
    clock.ended_key[n] = clock.episode_key[n]
    clock.ended[n, 0] = clock.t[n]
    clock.ended[n, 1] = track.total[n]
    clock.ended[n, 2] = 1.0 if arrived else 0.0
    for cell in range(2 * CELLS):
        player.final_obs[n, 0, cell] = player.obs[n, 0, cell]
    player.final_alive[n, 0] = True
    begin_lane(clock, track, player, n)


@parallel_kernel
def begin(clock, track, player, lanes):  # type: ignore[no-untyped-def]
    for i in prange(lanes.shape[0]):
        begin_lane(clock, track, player, lanes[i])


@parallel_kernel
def step(clock, track, player, actions, step_cost):  # type: ignore[no-untyped-def]
    for n in prange(actions.shape[0]):
        step_lane(clock, track, player, actions, step_cost, n)

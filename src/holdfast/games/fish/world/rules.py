"""The rules of the pool as kernels: one lane at a time, then all lanes over threads.

The order of a step: the predator chooses its way from where everyone is, all fish move, the predator moves, it kills
what is near, rewards, flags, observations.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.blocks import look_around_blocks
from holdfast.games.fish.world.motion import swim
from holdfast.games.fish.world.predator import next_predator
from holdfast.games.fish.world.school import (
    BOOST,
    CROWD_NUMBERS,
    DENSITY,
    FISH,
    KILL_DISTANCE,
    NEAREST,
    START,
    STEPS,
    VISION,
)
from holdfast.games.fish.world.sight import look_around, observe
from holdfast.games.fish.world.spawn import spawn_fish, spawn_predator
from holdfast.kit.compiled import inlined, kernel, parallel_kernel, prange
from holdfast.worlds.lanes import next_episode

SURVIVE_DEATH = -1.0
CLASSIC_DEATH = -50.0


@inlined
def move_predator(school, alive, rules, n):  # type: ignore[no-untyped-def]
    x, y, vx, vy, heading = next_predator(school, alive, rules, n)
    school.pred_pos[n, 0] = x
    school.pred_pos[n, 1] = y
    school.pred_vel[n, 0] = vx
    school.pred_vel[n, 1] = vy
    school.pred_heading[n] = heading
    if school.digest_left[n] > 0:
        school.digest_left[n] -= 1


@inlined
def move_school(school, alive, actions, pool, n):  # type: ignore[no-untyped-def]
    for i in range(school.n_fish[n]):
        if not alive[n, i]:
            continue
        x, y, vx, vy = swim(
            np.float64(school.fish_pos[n, i, 0]),
            np.float64(school.fish_pos[n, i, 1]),
            np.float64(school.fish_vel[n, i, 0]),
            np.float64(school.fish_vel[n, i, 1]),
            actions[n, i],
            pool,
        )
        school.fish_pos[n, i, 0] = x
        school.fish_pos[n, i, 1] = y
        school.fish_vel[n, i, 0] = vx
        school.fish_vel[n, i, 1] = vy


@inlined
def predator_distance_square(school, n, i):  # type: ignore[no-untyped-def]
    dx = np.float64(school.fish_pos[n, i, 0]) - np.float64(school.pred_pos[n, 0])
    dy = np.float64(school.fish_pos[n, i, 1]) - np.float64(school.pred_pos[n, 1])
    return dx * dx + dy * dy


@inlined
def kill(school, alive, rules, t, n):  # type: ignore[no-untyped-def]
    """Every living fish too near to the predator dies; returns how many live on."""
    living = 0
    for i in range(school.n_fish[n]):
        if alive[n, i]:
            if predator_distance_square(school, n, i) < KILL_DISTANCE * KILL_DISTANCE:
                alive[n, i] = False
                school.death_step[n, i] = t
                school.digest_left[n] = rules.digest_steps
            else:
                living += 1
    return living


@inlined
def meet_neighbours(school, fish, rules, crowd, n):  # type: ignore[no-untyped-def]
    """By the number of fish the episode began with alone, so that a school's bytes are the same in any batch."""
    if school.n_fish[n] < rules.large_school:
        look_around(school.fish_pos[n], school.fish_vel[n], fish.alive[n], crowd)
    else:
        look_around_blocks(school.fish_pos[n], school.fish_vel[n], fish.alive[n], rules.pool_radius, crowd)


@inlined
def classic_reward(school, crowd, rules, n, i):  # type: ignore[no-untyped-def]
    """The reward of the project this world comes from. It has a known flaw: it pays fish to shadow the predator."""
    distance = math.sqrt(predator_distance_square(school, n, i))
    x = np.float64(school.fish_pos[n, i, 0])
    y = np.float64(school.fish_pos[n, i, 1])
    to_wall = rules.pool_radius - math.sqrt(x * x + y * y)
    points = 2.0 + (10.0 * distance / VISION if distance < VISION else 5.0)
    if to_wall < 1.0:
        points -= 2.0 * (1.0 - to_wall)
    crowding = crowd[i, 0] / NEAREST - np.float64(school.density_target[n])
    points -= np.float64(school.density_coef[n]) * max(crowding, 0.0)
    points += rules.divergence_coef * crowd[i, 6]  # which is 0 without neighbours
    return 0.1 * points


@inlined
def reward_school(school, fish, crowd, rules, t, n):  # type: ignore[no-untyped-def]
    for i in range(fish.alive.shape[1]):
        reward = np.float32(0.0)
        if fish.alive[n, i]:
            if rules.classic_reward:
                reward = np.float32(classic_reward(school, crowd, rules, n, i))
        elif school.death_step[n, i] == t:
            reward = np.float32(CLASSIC_DEATH if rules.classic_reward else SURVIVE_DEATH)
        fish.reward[n, i] = reward
        school.total[n] += np.float64(reward)


@kernel  # not inlined: the cost of the call is nothing beside that of compiling it twice
def begin_lane(clock, school, fish, rules, n):  # type: ignore[no-untyped-def]
    next_episode(clock, n)
    school.n_fish[n] = np.int32(clock.level[n, FISH])
    school.step_limit[n] = np.int32(clock.level[n, STEPS])
    school.boost[n] = np.float32(clock.level[n, BOOST])
    if rules.classic_reward:
        school.density_coef[n] = np.float32(clock.level[n, DENSITY])
        school.density_target[n] = np.float32(rules.density_target)
    school.total[n] = 0.0
    spawn_predator(school, clock.episode_key[n], rules, n)
    for i in range(fish.alive.shape[1]):
        present = i < school.n_fish[n]
        fish.alive[n, i] = present
        school.death_step[n, i] = -1
        if present:
            spawn_fish(school, clock.episode_key[n], rules, n, i)
        else:
            for axis in range(2):
                school.fish_pos[n, i, axis] = 0.0
                school.fish_vel[n, i, axis] = 0.0
    look(school, fish, rules, n)


@inlined
def look(school, fish, rules, n):  # type: ignore[no-untyped-def]
    """Fill what the fish of a lane see from where everyone is now."""
    crowd = np.zeros((fish.alive.shape[1], CROWD_NUMBERS))
    if rules.neighbours:
        meet_neighbours(school, fish, rules, crowd, n)
    observe(school, fish, crowd, rules, n)


@inlined
def step_lane(clock, school, fish, actions, rules, n):  # type: ignore[no-untyped-def]
    clock.t[n] += 1
    t = clock.t[n]
    move_predator(school, fish.alive, rules, n)  # first, as it aims at where fish are now; no fish's move depends on it
    move_school(school, fish.alive, actions, rules.pool_radius, n)
    living = kill(school, fish.alive, rules, t, n)
    if t == 1:
        for axis in range(2):
            school.start[n, 3 + axis] = school.pred_pos[n, axis]
            school.start[n, 5 + axis] = school.pred_vel[n, axis]
    crowd = np.zeros((fish.alive.shape[1], CROWD_NUMBERS))
    if rules.neighbours or rules.divergence_coef != 0.0 or school.density_coef[n] > 0.0:
        meet_neighbours(school, fish, rules, crowd, n)
    reward_school(school, fish, crowd, rules, t, n)
    observe(school, fish, crowd, rules, n)
    clock.terminated[n] = living == 0
    clock.truncated[n] = living > 0 and t >= school.step_limit[n]
    if clock.terminated[n] or clock.truncated[n]:
        end_lane(clock, school, fish, rules, living, n)


@inlined
def end_lane(clock, school, fish, rules, living, n):  # type: ignore[no-untyped-def]
    """Keep what the ended episode leaves behind, then begin the next one in the same step."""
    length = clock.t[n]
    first_death = length
    step_one = 0
    for i in range(fish.alive.shape[1]):
        died = school.death_step[n, i]
        if died > 0:
            first_death = min(first_death, died)
            step_one += 1 if died == 1 else 0
        school.ended_death_step[n, i] = died
        for axis in range(2):
            school.ended_fish_pos[n, i, axis] = school.fish_pos[n, i, axis]
        fish.final_alive[n, i] = fish.alive[n, i]
        for k in range(fish.obs.shape[2]):
            fish.final_obs[n, i, k] = fish.obs[n, i, k]
    for k in range(len(START)):
        school.ended_start[n, k] = school.start[n, k]
    clock.ended_key[n] = clock.episode_key[n]
    clock.ended[n, 0] = length
    clock.ended[n, 1] = school.total[n] / school.n_fish[n]
    clock.ended[n, 2] = living / school.n_fish[n]
    clock.ended[n, 3] = first_death
    clock.ended[n, 4] = step_one
    clock.ended[n, 5] = school.n_fish[n]
    begin_lane(clock, school, fish, rules, n)


@kernel  # on one thread: it is rare, and a second parallel kernel would take seconds to compile
def begin(clock, school, fish, rules, lanes):  # type: ignore[no-untyped-def]
    for n in lanes:
        begin_lane(clock, school, fish, rules, n)


@parallel_kernel
def step(clock, school, fish, actions, rules):  # type: ignore[no-untyped-def]
    for n in prange(actions.shape[0]):
        step_lane(clock, school, fish, actions, rules, np.int64(n))  # prange counts in uint64: a second set of types

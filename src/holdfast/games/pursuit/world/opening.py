"""The first moment of a duel, and what is noted of every moment: who sees whom, where both have been."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.constants import NO_TASK, SENSOR
from holdfast.games.pursuit.world.duel import (
    CELLS,
    CELLS_ACROSS,
    EVADER,
    FIRST_SIGHT,
    LEAST_H,
    MAX_STEPS,
    NEVER,
    PURSUER,
    SEEN_STEP,
    TALLIES,
    TERMS,
    TRAIL,
    UNTOLD,
    VISIBLE,
)
from holdfast.games.pursuit.world.geometry import clip, surface_distance
from holdfast.games.pursuit.world.mirror import draw_mirrors
from holdfast.games.pursuit.world.motion import measure_distance
from holdfast.games.pursuit.world.safety import least_barrier
from holdfast.games.pursuit.world.sight import blocked, observe, sees
from holdfast.games.pursuit.world.spawn import draw_body, place_duel
from holdfast.games.pursuit.world.task import begin_task
from holdfast.kit.compiled import inlined, kernel
from holdfast.worlds.lanes import next_episode

WORD = CELLS // 2  # cells per word of `visited`


@kernel
def look(duel, rules, key):  # type: ignore[no-untyped-def]
    """Settle who sees whom, and where; whether a circle is between them."""
    is_blocked = blocked(duel)
    for side in range(2):
        duel.visible[side] = 1 if sees(duel, rules, key, is_blocked, rules.half_cone, side) else 0
        if duel.visible[side] and (rules.recalls_p if side == PURSUER else rules.recalls_e):
            note_sight(duel, rules, side)
    return is_blocked


@inlined
def note_sight(duel, rules, side):  # type: ignore[no-untyped-def]
    """Where the opponent is seen, and how it faces; who has only distances and bearings knows that by where it was seen
    a step before."""
    seen = duel.last_seen[side]
    x = duel.pose[1 - side, 0]
    y = duel.pose[1 - side, 1]
    facing = duel.pose[1 - side, 2]
    if rules.sight == SENSOR:
        dx = x - seen[0]
        dy = y - seen[1]
        is_told = seen[SEEN_STEP] != NEVER and seen[SEEN_STEP] == duel.step - 1 and dx * dx + dy * dy > 0.0
        facing = math.atan2(dy, dx) if is_told else UNTOLD
    seen[0] = x
    seen[1] = y
    seen[2] = facing
    seen[SEEN_STEP] = duel.step


@inlined
def cell_of(x, half):  # type: ignore[no-untyped-def]
    return np.int64(clip((x / half + 1.0) * 0.5 * CELLS_ACROSS, 0.0, CELLS_ACROSS - 1.0))


@kernel
def leave_tracks(duel):  # type: ignore[no-untyped-def]
    """Note cell, place and sight of both robots."""
    spacing = max(1, math.ceil(duel.level[MAX_STEPS] / TRAIL))
    place = duel.step // spacing
    for side in range(2):
        cell = cell_of(duel.pose[side, 1], duel.half[1]) * CELLS_ACROSS + cell_of(duel.pose[side, 0], duel.half[0])
        duel.visited[side, cell // WORD] |= np.uint64(1) << np.uint64(cell % WORD)
        if duel.visible[side]:
            duel.tally[side, VISIBLE] += 1.0
            if duel.tally[side, FIRST_SIGHT] < 0.0:
                duel.tally[side, FIRST_SIGHT] = duel.step
        if place < TRAIL:
            duel.trail[side, place, 0] = duel.pose[side, 0]
            duel.trail[side, place, 1] = duel.pose[side, 1]


@inlined
def measure_circles(duel):  # type: ignore[no-untyped-def]
    """From the evader to the nearest circle; 0 without circles."""
    beyond = math.inf if duel.n_circles > 0 else 0.0
    return surface_distance(duel.pose[EVADER, 0], duel.pose[EVADER, 1], duel.circles, duel.n_circles, beyond)


@kernel
def begin_side(duel, rules, side):  # type: ignore[no-untyped-def]
    for k in range(2):
        duel.command[side, k] = 0.0
        duel.moved[side, k] = 0.0
        duel.visited[side, k] = np.uint64(0)
    for k in range(TALLIES):
        duel.tally[side, k] = 0.0
    for k in range(len(TERMS)):
        duel.terms[side, k] = 0.0
    duel.tally[side, FIRST_SIGHT] = -1.0
    if rules.filters_p if side == PURSUER else rules.filters_e:
        duel.tally[side, LEAST_H] = least_barrier(duel, rules, side)
    duel.total[side] = 0.0
    duel.last_seen[side, SEEN_STEP] = NEVER


@inlined
def begin_role(role, n):  # type: ignore[no-untyped-def]
    role.alive[n, 0] = True
    for k in range(role.obs.shape[2]):
        role.obs[n, 0, k] = 0.0


@inlined
def observe_both(duel, rules, key, rays, pursuer, evader, n):  # type: ignore[no-untyped-def]
    if rules.plays_p:
        observe(duel, rules, key, rays, pursuer.obs[n, 0], PURSUER)
    if rules.plays_e:
        observe(duel, rules, key, rays, evader.obs[n, 0], EVADER)


@kernel
def set_up(duel, rules, key):  # type: ignore[no-untyped-def]
    """Everything of a new duel but what policies are told."""
    draw_body(duel, rules, key)
    draw_mirrors(duel, rules, key)
    place_duel(duel, rules, key)
    if rules.task_side != NO_TASK:
        begin_task(duel, rules, key)
    duel.step = 0
    duel.distance = measure_distance(duel)
    duel.spawn_distance = duel.distance
    duel.least_distance = duel.distance
    duel.circle_distance = measure_circles(duel)
    turn = duel.pose[EVADER, 0] * duel.pose[PURSUER, 1] - duel.pose[EVADER, 1] * duel.pose[PURSUER, 0]
    duel.orbit = -1.0 if turn >= 0.0 else 1.0
    for cell in range(CELLS):
        duel.seen_at[cell] = -rules.t_stale
    for side in range(2):
        begin_side(duel, rules, side)
    look(duel, rules, key)
    leave_tracks(duel)


@kernel  # not inlined: the cost of the call is nothing beside that of compiling it twice
def begin_lane(clock, duels, pursuer, evader, rays, rules_row, n):  # type: ignore[no-untyped-def]
    next_episode(clock, n)
    duel = duels[n]
    rules = rules_row[0]
    for k in range(clock.level.shape[1]):
        duel.level[k] = clock.level[n, k]
    set_up(duel, rules, clock.episode_key[n])
    begin_role(pursuer, n)
    begin_role(evader, n)
    observe_both(duel, rules, clock.episode_key[n], rays, pursuer, evader, n)


@kernel  # on one thread: it is rare, and a second parallel kernel would take seconds to compile
def begin(clock, duels, pursuer, evader, rays, rules_row, lanes):  # type: ignore[no-untyped-def]
    for n in lanes:
        begin_lane(clock, duels, pursuer, evader, rays, rules_row, n)

"""How a duel begins: what is drawn for it, its circles, and two places that are far enough apart and safe."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.duel import (
    EVADER,
    LAYOUT_STREAM,
    OBSTACLES,
    PURSUER,
    RANDOMISE_STREAM,
    ROOM,
    SPAWN_MAX,
    SPAWN_MIN,
    SPAWN_STREAM,
)
from holdfast.games.pursuit.world.safety import least_barrier
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import uniform, uniform4

CIRCLE_TRIES = 500
PLACE_TRIES = 1000
LAYOUTS = 100
COUNT_INDEX = 1 << 40  # far from the indices of circles
HEADING_INDEX = 1 << 40  # far from those of places


@kernel
def draw_body(duel, rules, key):  # type: ignore[no-untyped-def]
    """Arena, speeds, motors: as set, or drawn for this duel."""
    arena, speed, _, _ = uniform4(key, RANDOMISE_STREAM, 0)
    size = rules.arena_low + (rules.arena_high - rules.arena_low) * arena
    pace = rules.speed_low + (rules.speed_high - rules.speed_low) * speed
    duel.half[0] = rules.half_w * size
    duel.half[1] = rules.half_h * size
    for side in range(2):
        duel.v_max[side] = (rules.v_max_p if side == PURSUER else rules.v_max_e) * pace
        gain, delay, mass, friction = uniform4(key, RANDOMISE_STREAM, 1 + side)
        duel.gain[side] = 1.0 + rules.gain_spread * (2.0 * gain - 1.0) if rules.randomises else 1.0
        duel.delay[side] = min(1.0, rules.delay_max * delay / rules.dt) if rules.randomises else 0.0
        tau = rules.tau0 * (0.8 + 0.4 * mass) * 0.5 / (0.3 + 0.5 * friction)
        duel.lag[side] = 1.0 - math.exp(-rules.dt / tau) if tau > 0.0 else 1.0
    for k in range(ROOM):
        shift_x, shift_y, _, _ = uniform4(key, RANDOMISE_STREAM, 3 + k)
        error = rules.circle_shift if rules.randomises else 0.0
        duel.circle_shift[k, 0] = error * (2.0 * shift_x - 1.0)
        duel.circle_shift[k, 1] = error * (2.0 * shift_y - 1.0)


@inlined
def circles_wanted(duel, rules, key):  # type: ignore[no-untyped-def]
    most = np.int64(duel.level[OBSTACLES])
    if rules.obstacles_least < 0 or rules.obstacles_least >= most:
        return most
    spread = most - rules.obstacles_least + 1
    return rules.obstacles_least + np.int64(uniform(key, LAYOUT_STREAM, COUNT_INDEX) * spread)


@kernel
def place_circle(duel, rules, key, layout, k):  # type: ignore[no-untyped-def]
    """Circle k among those before it; false if there is no room."""
    first = (layout * 64 + k) * (CIRCLE_TRIES + 1)
    radius = rules.circle_r_min + (rules.circle_r_max - rules.circle_r_min) * uniform(key, LAYOUT_STREAM, first)
    reach_x = duel.half[0] - radius - rules.circle_gap
    reach_y = duel.half[1] - radius - rules.circle_gap
    if reach_x < 0.0 or reach_y < 0.0:
        return False
    for attempt in range(CIRCLE_TRIES):
        ux, uy, _, _ = uniform4(key, LAYOUT_STREAM, first + 1 + attempt)
        x = reach_x * (2.0 * ux - 1.0)
        y = reach_y * (2.0 * uy - 1.0)
        free = True
        for j in range(k):
            dx = x - duel.circles[j, 0]
            dy = y - duel.circles[j, 1]
            apart = radius + duel.circles[j, 2] + rules.circle_gap
            if dx * dx + dy * dy < apart * apart:
                free = False
        if free:
            duel.circles[k, 0] = x
            duel.circles[k, 1] = y
            duel.circles[k, 2] = radius
            return True
    return False


@kernel
def place_circles(duel, rules, key, layout):  # type: ignore[no-untyped-def]
    wanted = circles_wanted(duel, rules, key)
    placed = 0
    while placed < wanted and place_circle(duel, rules, key, layout, placed):
        placed += 1
    duel.n_circles = placed
    duel.missing = wanted - placed
    for k in range(placed, ROOM):
        for axis in range(3):
            duel.circles[k, axis] = 0.0


@inlined
def clear_of_circles(duel, x, y, margin):  # type: ignore[no-untyped-def]
    for k in range(duel.n_circles):
        dx = x - duel.circles[k, 0]
        dy = y - duel.circles[k, 1]
        reach = duel.circles[k, 2] + margin
        if dx * dx + dy * dy <= reach * reach:
            return False
    return True


@kernel
def try_places(duel, rules, key, attempt):  # type: ignore[no-untyped-def]
    """Draw both robots anywhere; whether they may start there."""
    px, py, ex, ey = uniform4(key, SPAWN_STREAM, attempt)
    turn_p, turn_e, _, _ = uniform4(key, SPAWN_STREAM, HEADING_INDEX + attempt)
    reach_x = duel.half[0] - rules.robot_radius
    reach_y = duel.half[1] - rules.robot_radius
    duel.pose[PURSUER, 0] = reach_x * (2.0 * px - 1.0)
    duel.pose[PURSUER, 1] = reach_y * (2.0 * py - 1.0)
    duel.pose[PURSUER, 2] = math.pi * (2.0 * turn_p - 1.0)
    duel.pose[EVADER, 0] = reach_x * (2.0 * ex - 1.0)
    duel.pose[EVADER, 1] = reach_y * (2.0 * ey - 1.0)
    duel.pose[EVADER, 2] = math.pi * (2.0 * turn_e - 1.0)
    dx = duel.pose[EVADER, 0] - duel.pose[PURSUER, 0]
    dy = duel.pose[EVADER, 1] - duel.pose[PURSUER, 1]
    square = dx * dx + dy * dy
    if square < duel.level[SPAWN_MIN] ** 2 or square > duel.level[SPAWN_MAX] ** 2:
        return False
    for side in range(2):
        if not clear_of_circles(duel, duel.pose[side, 0], duel.pose[side, 1], rules.robot_radius):
            return False
        filtered = rules.filters_p if side == PURSUER else rules.filters_e
        if filtered and least_barrier(duel, rules, side) < 0.0:
            return False
    return True


@inlined
def place_duel(duel, rules, key):  # type: ignore[no-untyped-def]
    """Circles and robots; a layout that leaves no room for them is drawn again, and `unplaced` tells if all failed."""
    for layout in range(LAYOUTS):
        place_circles(duel, rules, key, layout)
        for attempt in range(PLACE_TRIES):
            if try_places(duel, rules, key, layout * PLACE_TRIES + attempt):
                duel.unplaced = False
                return
    duel.unplaced = True


@kernel
def trial(duels, rules_row, keys, tries):  # type: ignore[no-untyped-def]
    """Lay out every duel once and try places in it: how many have all their circles, and how many tries worked. Their
    levels must be set."""
    complete = 0
    accepted = 0
    rules = rules_row[0]
    for n in range(keys.shape[0]):
        duel = duels[n]
        draw_body(duel, rules, keys[n])
        place_circles(duel, rules, keys[n], 0)
        if duel.missing == 0:
            complete += 1
        for attempt in range(tries):
            if try_places(duel, rules, keys[n], attempt):
                accepted += 1
    return complete, accepted

"""The predator's next move under either rule, from the state before anyone has moved; nothing is written here, so the
floor of unavoidable deaths can ask for it too."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.motion import drift_predator, glide
from holdfast.kit.compiled import inlined

NOBODY = -1
MIRROR = 1.0  # a hunter loses no speed at the wall


@inlined
def wrapped(angle):  # type: ignore[no-untyped-def]
    """The same direction in [-pi, pi)."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@inlined
def clipped(value, limit):  # type: ignore[no-untyped-def]
    return max(-limit, min(limit, value))


@inlined
def bearing_of(school, n, i):  # type: ignore[no-untyped-def]
    dx = np.float64(school.fish_pos[n, i, 0]) - np.float64(school.pred_pos[n, 0])
    dy = np.float64(school.fish_pos[n, i, 1]) - np.float64(school.pred_pos[n, 1])
    return math.atan2(dy, dx)


@inlined
def find_target(school, alive, rules, n):  # type: ignore[no-untyped-def]
    """The nearest living fish in view, the first of equals, or `NOBODY`. It remembers no one from step to step."""
    heading = np.float64(school.pred_heading[n])
    best = rules.view_radius * rules.view_radius
    target = NOBODY
    for i in range(school.n_fish[n]):
        if not alive[n, i]:
            continue
        dx = np.float64(school.fish_pos[n, i, 0]) - np.float64(school.pred_pos[n, 0])
        dy = np.float64(school.fish_pos[n, i, 1]) - np.float64(school.pred_pos[n, 1])
        gap = dx * dx + dy * dy
        if gap < best and abs(wrapped(math.atan2(dy, dx) - heading)) <= rules.view_angle:
            best = gap
            target = i
    return target


@inlined
def hunt_move(school, alive, rules, n):  # type: ignore[no-untyped-def]
    """Turn towards the target, at most so far; speed up while there is one."""
    heading = np.float64(school.pred_heading[n])
    goal = rules.cruise_speed
    target = NOBODY if school.digest_left[n] > 0 else find_target(school, alive, rules, n)
    if target != NOBODY:
        heading += clipped(wrapped(bearing_of(school, n, target) - heading), rules.turn_max)
        goal = rules.chase_speed
    vx = np.float64(school.pred_vel[n, 0])
    vy = np.float64(school.pred_vel[n, 1])
    speed = math.sqrt(vx * vx + vy * vy)
    speed += clipped(goal - speed, rules.accel)
    along_x = speed * math.cos(heading)
    along_y = speed * math.sin(heading)
    x = np.float64(school.pred_pos[n, 0])
    y = np.float64(school.pred_pos[n, 1])
    x, y, vx, vy = glide(x, y, along_x, along_y, MIRROR, rules.pool_radius)
    if vx != along_x or vy != along_y:
        heading = math.atan2(vy, vx)
    return x, y, vx, vy, wrapped(heading)


@inlined
def drift_move(school, rules, n):  # type: ignore[no-untyped-def]
    x, y, vx, vy = drift_predator(
        np.float64(school.pred_pos[n, 0]),
        np.float64(school.pred_pos[n, 1]),
        np.float64(school.pred_vel[n, 0]),
        np.float64(school.pred_vel[n, 1]),
        rules.pool_radius,
    )
    return x, y, vx, vy, math.atan2(vy, vx)


@inlined
def next_predator(school, alive, rules, n):  # type: ignore[no-untyped-def]
    """Position, velocity and heading after the coming step, in the precision they are stored in."""
    if rules.hunts:
        x, y, vx, vy, heading = hunt_move(school, alive, rules, n)
    else:
        x, y, vx, vy, heading = drift_move(school, rules, n)
    return np.float32(x), np.float32(y), np.float32(vx), np.float32(vy), np.float32(heading)

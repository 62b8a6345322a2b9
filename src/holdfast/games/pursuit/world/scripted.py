"""Scripted players, as yardsticks and opponents: they read the true state and turn towards where they want to go."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.duel import EVADER, PURSUER, SCRIPT_STREAM
from holdfast.games.pursuit.world.geometry import clip, wrap
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import uniform4

RANDOM, STILL, GREEDY, INTERCEPT, FLEE, CORNER, ORBIT, WALL_SLIDE = range(8)
SCRIPTS: dict[str, dict[str, int]] = {
    "pursuer": {"random": RANDOM, "still": STILL, "greedy": GREEDY, "intercept": INTERCEPT},
    "evader": {
        "random": RANDOM,
        "still": STILL,
        "flee": FLEE,
        "corner": CORNER,
        "orbit": ORBIT,
        "wall_slide": WALL_SLIDE,
    },
}
PANEL = {"pursuer": ("greedy", "intercept"), "evader": ("random", "flee", "corner", "orbit", "wall_slide")}

GAIN, SHARP_GAIN = 3.0, 10.0  # turn rate per radian of error
LONGEST_LEAD = 5.0  # s
CORNER_INSET = 0.5  # m
ORBIT_RADIUS = 0.35  # of the arena's shorter side
WALL_NEAR = 1.5  # m
LITTLE = 0.2  # of a unit vector


@inlined
def sign(value):  # type: ignore[no-untyped-def]
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@inlined
def lead_time(dx, dy, ex, ey, v):  # type: ignore[no-untyped-def]
    """The least positive T with |d + e T| = v T: when a straight run at speed v meets a target at d that keeps its
    velocity e; `LONGEST_LEAD` if that is never or later."""
    a = ex * ex + ey * ey - v * v
    b = 2.0 * (dx * ex + dy * ey)
    c = dx * dx + dy * dy
    best = LONGEST_LEAD
    if abs(a) < 1e-12:
        if b < 0.0:
            best = min(best, -c / b)
        return best
    inside = b * b - 4.0 * a * c
    if inside < 0.0:
        return best
    root = math.sqrt(inside)
    for turn in (-1.0, 1.0):
        t = (-b + turn * root) / (2.0 * a)
        if t > 0.0:
            best = min(best, t)
    return best


@inlined
def away_along_walls(duel, rules, x, y, ux, uy):  # type: ignore[no-untyped-def]
    """Where a robot at (x, y) goes that wants along u: not into near walls, out of corners, to the middle of walls."""
    gap_x = duel.half[0] - rules.robot_radius - abs(x)
    gap_y = duel.half[1] - rules.robot_radius - abs(y)
    no_x = gap_x < WALL_NEAR and ux * x > 0.0
    no_y = gap_y < WALL_NEAR and uy * y > 0.0
    if no_x and no_y:
        if abs(ux) > abs(uy):
            return 0.0, -sign(y)
        return -sign(x), 0.0
    if no_x:
        return 0.0, uy if abs(uy) >= LITTLE else -sign(y)
    if no_y:
        return ux if abs(ux) >= LITTLE else -sign(x), 0.0
    return ux, uy


@inlined
def pursue(duel, rules, script):  # type: ignore[no-untyped-def]
    """The point a pursuer aims at, from where it is."""
    dx = duel.pose[EVADER, 0] - duel.pose[PURSUER, 0]
    dy = duel.pose[EVADER, 1] - duel.pose[PURSUER, 1]
    if script == INTERCEPT:
        ex = duel.moved[EVADER, 0] / rules.dt
        ey = duel.moved[EVADER, 1] / rules.dt
        ahead = lead_time(dx, dy, ex, ey, duel.v_max[PURSUER])
        aim_x = clip(duel.pose[EVADER, 0] + ahead * ex, -duel.half[0], duel.half[0])
        aim_y = clip(duel.pose[EVADER, 1] + ahead * ey, -duel.half[1], duel.half[1])
        dx = aim_x - duel.pose[PURSUER, 0]
        dy = aim_y - duel.pose[PURSUER, 1]
    return dx, dy


@inlined
def evade(duel, rules, script):  # type: ignore[no-untyped-def]
    """The direction an evader wants."""
    x = duel.pose[EVADER, 0]
    y = duel.pose[EVADER, 1]
    dx = x - duel.pose[PURSUER, 0]
    dy = y - duel.pose[PURSUER, 1]
    if script == CORNER:
        to_x = duel.half[0] - CORNER_INSET
        to_y = duel.half[1] - CORNER_INSET
        return (to_x if x >= 0.0 else -to_x) - x, (to_y if y >= 0.0 else -to_y) - y
    if script == ORBIT:
        wanted = ORBIT_RADIUS * 2.0 * min(duel.half[0], duel.half[1])
        radius = max(math.sqrt(x * x + y * y), 1e-9)
        outward = clip(wanted - radius, -1.0, 1.0)
        turn = duel.orbit
        return (-turn * y + outward * x) / radius, (turn * x + outward * y) / radius
    if script == WALL_SLIDE:
        distance = max(math.sqrt(dx * dx + dy * dy), 1e-9)
        return away_along_walls(duel, rules, x, y, dx / distance, dy / distance)
    return dx, dy


@inlined
def command(key, t, duel, rules, script, side):  # type: ignore[no-untyped-def]
    """Speed and turn rate a script wants."""
    v_max = duel.v_max[side]
    if script == RANDOM:
        v, turn, _, _ = uniform4(key, SCRIPT_STREAM, 2 * t + side)
        return v * v_max, (2.0 * turn - 1.0) * rules.omega_max
    if script == STILL:
        return 0.0, 0.0
    if side == PURSUER:
        wx, wy = pursue(duel, rules, script)
    else:
        wx, wy = evade(duel, rules, script)
    error = wrap(math.atan2(wy, wx) - duel.pose[side, 2])
    gain = SHARP_GAIN if script == INTERCEPT else GAIN
    v = v_max * max(0.0, math.cos(error)) if side == PURSUER else v_max
    return v, clip(gain * error, -rules.omega_max, rules.omega_max)


@kernel
def decide(clock, duels, rules_row, script, side, lanes, actions):  # type: ignore[no-untyped-def]
    """Write a script's actions for these lanes, in a policy's units and sight, to [N, 1, K] float32."""
    last = actions.shape[2] - 1
    for n in lanes:
        duel = duels[n]
        rules = rules_row[0]
        v, omega = command(clock.episode_key[n], np.int64(clock.t[n]), duel, rules, script, side)
        actions[n, 0, last] = duel.mirror[side, 2] * (omega / rules.omega_max)
        if last > 0:
            actions[n, 0, 0] = 2.0 * v / duel.v_max[side] - 1.0

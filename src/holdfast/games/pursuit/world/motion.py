"""How robots move: from a policy's numbers to commands, through motors, to a place outside walls and circles."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.duel import CIRCLE, EVADER, PATH, PURSUER, SPEED, WALL
from holdfast.games.pursuit.world.geometry import clip, pushed_out, wrap
from holdfast.kit.compiled import inlined, kernel

OVERSHOOT = 1e-9  # less than this beyond the limit is rounding, not contact


@inlined
def intended(duel, rules, actions, side):  # type: ignore[no-untyped-def]
    """Speed and turn rate that a policy asks for; its [K] numbers are within -1 and 1."""
    v_max = duel.v_max[side]
    last = actions.shape[0] - 1
    omega = duel.mirror[side, 2] * rules.omega_max * clip(np.float64(actions[last]), -1.0, 1.0)
    v = v_max if rules.fixed_speed else v_max * (clip(np.float64(actions[0]), -1.0, 1.0) + 1.0) / 2.0
    if side == PURSUER and duel.step < rules.prep_steps:
        v = 0.0
    return v, omega


@inlined
def through_motors(duel, rules, v, omega, side):  # type: ignore[no-untyped-def]
    """What the motors make of a command: their gain, then their lag."""
    if rules.randomises:
        v = v * duel.gain[side]
        omega = omega * duel.gain[side]
        v = duel.command[side, 0] + duel.lag[side] * (v - duel.command[side, 0])
        omega = duel.command[side, 1] + duel.lag[side] * (omega - duel.command[side, 1])
    return v, omega


@inlined
def advanced(x, y, heading, c, s, v, omega, dt):  # type: ignore[no-untyped-def]
    """One explicit Euler step of a unicycle; (c, s): its heading again."""
    return x + v * c * dt, y + v * s * dt, wrap(heading + omega * dt)


@kernel
def drive(duel, rules, v, omega, c, s, side):  # type: ignore[no-untyped-def]
    """Move one robot by its command; a delayed one still follows the old command for a part of the step."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    heading = duel.pose[side, 2]
    late = duel.delay[side]
    rest = rules.dt
    if late > 0.0:
        old_v = duel.command[side, 0]
        x, y, heading = advanced(x, y, heading, c, s, old_v, duel.command[side, 1], late * rules.dt)
        rest = (1.0 - late) * rules.dt
        c = math.cos(heading)
        s = math.sin(heading)
    x, y, heading = advanced(x, y, heading, c, s, v, omega, rest)
    settle(duel, rules, x, y, heading, side)
    duel.command[side, 0] = v
    duel.command[side, 1] = omega


@inlined
def settle(duel, rules, x, y, heading, side):  # type: ignore[no-untyped-def]
    """Put a robot to where walls and circles let it be, and count what it touched."""
    limit_x = duel.half[0] - rules.robot_radius
    limit_y = duel.half[1] - rules.robot_radius
    wall = abs(x) - limit_x > OVERSHOOT or abs(y) - limit_y > OVERSHOOT
    x = clip(x, -limit_x, limit_x)
    y = clip(y, -limit_y, limit_y)
    if duel.n_circles > 0:
        x, y, touched = pushed_out(x, y, heading, rules.robot_radius, duel.circles, duel.n_circles)
        if touched:
            x = clip(x, -limit_x, limit_x)
            y = clip(y, -limit_y, limit_y)
            duel.tally[side, CIRCLE] += 1.0
    if wall:
        duel.tally[side, WALL] += 1.0
    dx = x - duel.pose[side, 0]
    dy = y - duel.pose[side, 1]
    duel.moved[side, 0] = dx
    duel.moved[side, 1] = dy
    duel.tally[side, PATH] += math.sqrt(dx * dx + dy * dy)
    duel.pose[side, 0] = x
    duel.pose[side, 1] = y
    duel.pose[side, 2] = heading


@inlined
def measure_distance(duel):  # type: ignore[no-untyped-def]
    dx = duel.pose[EVADER, 0] - duel.pose[PURSUER, 0]
    dy = duel.pose[EVADER, 1] - duel.pose[PURSUER, 1]
    return math.sqrt(dx * dx + dy * dy)


@inlined
def count_speed(duel, v, side):  # type: ignore[no-untyped-def]
    duel.tally[side, SPEED] += v / duel.v_max[side]

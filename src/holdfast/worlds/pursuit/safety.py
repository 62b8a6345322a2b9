"""The safety filter: the action nearest to the intended one that keeps away from walls and circles.

A discrete control barrier (Agrawal and Sreenath 2017) on a point q ahead of the robot's centre, which both controls
move at once. Each guarded thing has a barrier value h that must not fall by more than the share `decay` in a step:
dt (a_v v + a_omega omega) + decay h >= 0. The nearest such action is found among the projections onto the lines where
one condition is tight and the crossings of two of them; then the true step is checked, and shortened if need be.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.compiled import inlined, kernel
from holdfast.worlds.pursuit.duel import CHANGED, INFEASIBLE, LEAST_H, VIOLATED
from holdfast.worlds.pursuit.geometry import clip

WALLS = 4
TOLERANCE = 1e-7  # of a condition, for candidates that lie on its line
BISECTIONS = 20
VIOLATION = -1e-6
CHANGE = 1e-9
PARALLEL = 1e-14


@inlined
def guarded(duel, rules):  # type: ignore[no-untyped-def]
    """How many things are guarded against: walls, circles, and the other robot if that is asked for."""
    return WALLS + duel.n_circles + (1 if rules.guards_robot else 0)


@inlined
def barrier(duel, rules, x, y, c, s, k, side):  # type: ignore[no-untyped-def]
    """(h, a_v, a_omega) of guarded thing k for a robot at (x, y) with heading (c, s)."""
    d = rules.point
    qx = x + d * c
    qy = y + d * s
    if k == 0:
        return duel.half[0] - rules.robot_radius - qx, -c, d * s
    if k == 1:
        return duel.half[0] - rules.robot_radius + qx, c, -d * s
    if k == 2:
        return duel.half[1] - rules.robot_radius - qy, -s, -d * c
    if k == 3:
        return duel.half[1] - rules.robot_radius + qy, s, d * c
    if k < WALLS + duel.n_circles:
        dx = qx - duel.circles[k - WALLS, 0]
        dy = qy - duel.circles[k - WALLS, 1]
        reach = duel.circles[k - WALLS, 2] + rules.robot_radius
        least = reach * reach + rules.body_margin
    else:
        other = 1 - side
        dx = qx - (duel.pose[other, 0] + d * math.cos(duel.pose[other, 2]))
        dy = qy - (duel.pose[other, 1] + d * math.sin(duel.pose[other, 2]))
        least = rules.robot_gap * rules.robot_gap
    return dx * dx + dy * dy - least, 2.0 * (dx * c + dy * s), 2.0 * d * (dy * c - dx * s)


@inlined
def least_barrier(duel, rules, side):  # type: ignore[no-untyped-def]
    """The least h of walls and circles."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    c = math.cos(duel.pose[side, 2])
    s = math.sin(duel.pose[side, 2])
    least = math.inf
    for k in range(WALLS + duel.n_circles):
        h, _, _ = barrier(duel, rules, x, y, c, s, k, side)
        least = min(least, h)
    return least


@inlined
def survey(duel, rules, v, omega, side):  # type: ignore[no-untyped-def]
    """The least h of walls and circles, the least slack of all conditions under an action, and whether everything is
    so far away that no action within the limits could break one."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    c = math.cos(duel.pose[side, 2])
    s = math.sin(duel.pose[side, 2])
    reach = rules.dt * (duel.v_max[side] + rules.point * rules.omega_max)  # q moves at most this far in a step
    least = math.inf
    slack = math.inf
    remote = True
    for k in range(guarded(duel, rules)):
        h, a_v, a_omega = barrier(duel, rules, x, y, c, s, k, side)
        slack = min(slack, rules.dt * (a_v * v + a_omega * omega) + rules.decay * h)
        change = reach
        if k < WALLS + duel.n_circles:
            least = min(least, h)
        if k >= WALLS:
            change = reach * (2.0 * math.sqrt(max(h, 0.0) + reach_square(duel, rules, k)) + reach)
        remote = remote and rules.decay * h > change
    return least, slack, remote


@inlined
def reach_square(duel, rules, k):  # type: ignore[no-untyped-def]
    """The square distance at which h of a circle or the other robot is 0."""
    if k < WALLS + duel.n_circles:
        reach = duel.circles[k - WALLS, 2] + rules.robot_radius
        return reach * reach + rules.body_margin
    return rules.robot_gap * rules.robot_gap


@kernel
def nearest_safe(conditions, v_max, omega_max, root_w_v, root_w_omega, v, omega):  # type: ignore[no-untyped-def]
    """(v, omega, found): the cheapest change of an action such that a v + b omega + c >= 0 for all conditions [M, 3]
    and the limits hold. The limits' four lines are added here; lines and action are scaled by the prices' roots."""
    count = conditions.shape[0]
    lines = np.empty((count + 4, 3))
    for k in range(count):
        lines[k, 0] = conditions[k, 0] / root_w_v
        lines[k, 1] = conditions[k, 1] / root_w_omega
        lines[k, 2] = conditions[k, 2]
    for k in range(4):
        sign = 1.0 if k % 2 == 0 else -1.0
        lines[count + k, 0] = sign / root_w_v if k < 2 else 0.0
        lines[count + k, 1] = sign / root_w_omega if k >= 2 else 0.0
    lines[count, 2] = 0.0
    lines[count + 1, 2] = v_max
    lines[count + 2, 2] = omega_max
    lines[count + 3, 2] = omega_max
    x = root_w_v * v
    y = root_w_omega * omega
    best = math.inf
    best_x = 0.0
    best_y = 0.0
    for i in range(count + 4):
        a, b, c = lines[i, 0], lines[i, 1], lines[i, 2]
        length = a * a + b * b
        if length < PARALLEL:
            continue
        share = (a * x + b * y + c) / length
        px = x - share * a
        py = y - share * b
        cost = (px - x) * (px - x) + (py - y) * (py - y)
        if cost < best and holds(lines, px, py):
            best, best_x, best_y = cost, px, py
        for j in range(i):
            crossing = a * lines[j, 1] - b * lines[j, 0]
            if abs(crossing) < PARALLEL:
                continue
            px = (b * lines[j, 2] - c * lines[j, 1]) / crossing
            py = (c * lines[j, 0] - a * lines[j, 2]) / crossing
            cost = (px - x) * (px - x) + (py - y) * (py - y)
            if cost < best and holds(lines, px, py):
                best, best_x, best_y = cost, px, py
    return clip(best_x / root_w_v, 0.0, v_max), clip(best_y / root_w_omega, -omega_max, omega_max), best < math.inf


@inlined
def holds(lines, x, y):  # type: ignore[no-untyped-def]
    least = math.inf
    for k in range(lines.shape[0]):
        least = min(least, lines[k, 0] * x + lines[k, 1] * y + lines[k, 2])
    return least >= -TOLERANCE


@kernel
def step_is_safe(duel, rules, v, omega, side):  # type: ignore[no-untyped-def]
    """Whether the true step, not its linear forecast, keeps every wall and circle far enough."""
    heading = duel.pose[side, 2]
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    c = math.cos(heading)
    s = math.sin(heading)
    next_x = x + v * c * rules.dt
    next_y = y + v * s * rules.dt
    next_c = math.cos(heading + omega * rules.dt)
    next_s = math.sin(heading + omega * rules.dt)
    for k in range(WALLS + duel.n_circles):
        h, _, _ = barrier(duel, rules, x, y, c, s, k, side)
        after, _, _ = barrier(duel, rules, next_x, next_y, next_c, next_s, k, side)
        if after < min((1.0 - rules.decay) * h, h):
            return False
    return True


@inlined
def shortened(duel, rules, v, omega, side):  # type: ignore[no-untyped-def]
    """The largest part of an action whose true step is safe; standing still always is."""
    if step_is_safe(duel, rules, v, omega, side):
        return v, omega
    low = 0.0
    high = 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if step_is_safe(duel, rules, middle * v, middle * omega, side):
            low = middle
        else:
            high = middle
    return low * v, low * omega


@kernel
def corrected(duel, rules, v, omega, slack, side):  # type: ignore[no-untyped-def]
    """(v, omega, found) for a robot that is near something."""
    found = True
    if slack < 0.0:
        x = duel.pose[side, 0]
        y = duel.pose[side, 1]
        c = math.cos(duel.pose[side, 2])
        s = math.sin(duel.pose[side, 2])
        conditions = np.empty((guarded(duel, rules), 3))
        for k in range(guarded(duel, rules)):
            h, a_v, a_omega = barrier(duel, rules, x, y, c, s, k, side)
            conditions[k, 0] = rules.dt * a_v
            conditions[k, 1] = rules.dt * a_omega
            conditions[k, 2] = rules.decay * h
        v_max = duel.v_max[side]
        v, omega, found = nearest_safe(conditions, v_max, rules.omega_max, rules.root_w_v, rules.root_w_omega, v, omega)
        if not found:
            return 0.0, 0.0, False
    v, omega = shortened(duel, rules, v, omega, side)
    return v, omega, found


@kernel
def filtered(duel, rules, v, omega, side):  # type: ignore[no-untyped-def]
    """(v, omega, least h, slack of the intention): what a filtered robot does instead, counted in its tally."""
    least, slack, remote = survey(duel, rules, v, omega, side)
    duel.tally[side, LEAST_H] = min(duel.tally[side, LEAST_H], least)
    if least < VIOLATION:
        duel.tally[side, VIOLATED] += 1.0
    if remote:
        return v, omega, least, slack
    safe_v, safe_omega, found = corrected(duel, rules, v, omega, slack, side)
    if not found:
        duel.tally[side, INFEASIBLE] += 1.0
    if abs(safe_v - v) > CHANGE or abs(safe_omega - omega) > CHANGE:
        duel.tally[side, CHANGED] += 1.0
    return safe_v, safe_omega, least, slack

"""The safety filter: the action nearest to the intended one that keeps away from walls and circles.

A discrete control barrier (Agrawal and Sreenath 2017) on a point q ahead of the robot's centre, which both controls
move at once. Each guarded thing has a barrier value h that must not fall by more than the share `decay` in a step:
dt (a_v v + a_omega omega) + decay h >= 0. The nearest such action is found among the projections onto the lines where
one condition is tight and the crossings of two of them; then the true step is checked, and shortened if need be.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.pursuit.world.duel import CHANGED, INFEASIBLE, LEAST_H, VIOLATED
from holdfast.games.pursuit.world.geometry import clip
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import short_turn

WALLS = 4
TOLERANCE = 1e-7  # of a condition, for candidates that lie on its line
LOOKS, FINEST = 40, 1e-6  # at most so many, or until the part of an action is known so well
AIM = 5e-10  # margin that a shortened action should have
VIOLATION = -1e-6
CHANGE = 1e-9
PARALLEL = 1e-14
SHORT = 0.25 * math.pi  # rad


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
def is_near(rules, reach, h, square):  # type: ignore[no-untyped-def]
    """Whether an action within the limits could take more than its share of a circle's h, which is 0 at the square
    distance `square`. Squares are compared instead of roots: reach (2 root of (h + square) + reach) >= decay h."""
    spare = rules.decay * h - reach * reach
    return spare <= 0.0 or spare * spare <= 4.0 * reach * reach * (max(h, 0.0) + square)


@inlined
def survey(duel, rules, v, omega, c, s, side):  # type: ignore[no-untyped-def]
    """The least h of walls and circles, the least slack of all conditions under an action, and a bit for each guarded
    thing that is near enough for some action within the limits to break its condition. (c, s): the heading."""
    d = rules.point
    qx = duel.pose[side, 0] + d * c
    qy = duel.pose[side, 1] + d * s
    reach = rules.dt * (duel.v_max[side] + d * rules.omega_max)  # q moves at most this far in a step
    room_x = duel.half[0] - rules.robot_radius
    room_y = duel.half[1] - rules.robot_radius
    push_x = rules.dt * (c * v - d * s * omega)
    push_y = rules.dt * (s * v + d * c * omega)
    least = min(room_x - abs(qx), room_y - abs(qy))
    slack_x = min(rules.decay * (room_x - qx) - push_x, rules.decay * (room_x + qx) + push_x)
    slack_y = min(rules.decay * (room_y - qy) - push_y, rules.decay * (room_y + qy) + push_y)
    slack = min(slack_x, slack_y)
    near = 0
    if rules.decay * least <= reach:
        near |= 1 if rules.decay * (room_x - qx) <= reach else 0
        near |= 2 if rules.decay * (room_x + qx) <= reach else 0
        near |= 4 if rules.decay * (room_y - qy) <= reach else 0
        near |= 8 if rules.decay * (room_y + qy) <= reach else 0
    for k in range(WALLS, guarded(duel, rules)):
        h, a_v, a_omega = barrier(duel, rules, duel.pose[side, 0], duel.pose[side, 1], c, s, k, side)
        slack = min(slack, rules.dt * (a_v * v + a_omega * omega) + rules.decay * h)
        if k < WALLS + duel.n_circles:
            least = min(least, h)
        if is_near(rules, reach, h, reach_square(duel, rules, k)):
            near |= 1 << k
    return least, slack, near


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


@inlined
def turn_by(angle):  # type: ignore[no-untyped-def]
    """(cosine, sine) of what a robot turns in a step, which is little unless steps are long."""
    if abs(angle) < SHORT:
        return short_turn(angle)
    return math.cos(angle), math.sin(angle)


@kernel
def margin(duel, rules, v, omega, c, s, near, side):  # type: ignore[no-untyped-def]
    """By how much the true step, not its linear forecast, keeps every wall and circle far enough; only near ones could
    be too near after it."""
    x = duel.pose[side, 0]
    y = duel.pose[side, 1]
    next_x = x + v * c * rules.dt
    next_y = y + v * s * rules.dt
    turned_c, turned_s = turn_by(omega * rules.dt)
    next_c = c * turned_c - s * turned_s
    next_s = s * turned_c + c * turned_s
    least = math.inf
    for k in range(WALLS + duel.n_circles):
        if near & (1 << k):
            h, _, _ = barrier(duel, rules, x, y, c, s, k, side)
            after, _, _ = barrier(duel, rules, next_x, next_y, next_c, next_s, k, side)
            least = min(least, after - min((1.0 - rules.decay) * h, h))
    return least


@inlined
def shortened(duel, rules, v, omega, c, s, near, side):  # type: ignore[no-untyped-def]
    """The largest part of an action whose true step is safe; standing still always is. Found by false position (the
    Illinois rule), whose aim is a little to the safe side: the margin is nearly straight, so a few looks are enough."""
    over = margin(duel, rules, v, omega, c, s, near, side)
    if over >= 0.0:
        return v, omega
    low = 0.0
    high = 1.0
    kept = under = margin(duel, rules, 0.0, 0.0, c, s, near, side)
    moved = 0  # the end of the bracket that moved last
    for _ in range(LOOKS):
        if kept <= 2.0 * AIM or high - low < FINEST:
            break
        middle = low + (high - low) * clip((under - AIM) / (under - over), 0.0, 1.0)
        found = margin(duel, rules, middle * v, middle * omega, c, s, near, side)
        if found >= 0.0:
            low = middle
            kept = under = found
            over *= 0.5 if moved == 1 else 1.0
            moved = 1
        else:
            high = middle
            over = found
            under *= 0.5 if moved == 2 else 1.0
            moved = 2
    return low * v, low * omega


@kernel
def corrected(duel, rules, v, omega, slack, c, s, near, side):  # type: ignore[no-untyped-def]
    """(v, omega, found) for a robot that is near something."""
    found = True
    if slack < 0.0:
        x = duel.pose[side, 0]
        y = duel.pose[side, 1]
        conditions = np.empty((guarded(duel, rules), 3))
        count = 0
        for k in range(guarded(duel, rules)):
            if near & (1 << k):  # no action breaks the others
                h, a_v, a_omega = barrier(duel, rules, x, y, c, s, k, side)
                conditions[count, 0] = rules.dt * a_v
                conditions[count, 1] = rules.dt * a_omega
                conditions[count, 2] = rules.decay * h
                count += 1
        v, omega, found = nearest_safe(
            conditions[:count], duel.v_max[side], rules.omega_max, rules.root_w_v, rules.root_w_omega, v, omega
        )
        if not found:
            return 0.0, 0.0, False
    v, omega = shortened(duel, rules, v, omega, c, s, near, side)
    return v, omega, found


@kernel
def filtered(duel, rules, v, omega, c, s, side):  # type: ignore[no-untyped-def]
    """(v, omega, least h, slack of the intention): what a filtered robot does instead, counted in its tally."""
    least, slack, near = survey(duel, rules, v, omega, c, s, side)
    duel.tally[side, LEAST_H] = min(duel.tally[side, LEAST_H], least)
    if least < VIOLATION:
        duel.tally[side, VIOLATED] += 1.0
    if near == 0:
        return v, omega, least, slack
    safe_v, safe_omega, found = corrected(duel, rules, v, omega, slack, c, s, near, side)
    if not found:
        duel.tally[side, INFEASIBLE] += 1.0
    if abs(safe_v - v) > CHANGE or abs(safe_omega - omega) > CHANGE:
        duel.tally[side, CHANGED] += 1.0
    return safe_v, safe_omega, least, slack

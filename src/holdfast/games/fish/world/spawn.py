"""How an episode begins. Every draw is addressed by (fish, quantity), so fish i is the same in a school of 15 and of
96; the predator swims alone for 16 steps before the first fish is there."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.motion import drift_predator
from holdfast.games.fish.world.school import MAX_SPEED, START
from holdfast.kit.compiled import inlined
from holdfast.kit.rng import normal, uniform4

FISH_STREAM, ESCAPE_STREAM, PREDATOR_STREAM, PREROLL_STREAM = 1, 2, 3, 4
REDRAW = 1 << 20  # distance between the addresses of one fish's draws

FISH_SHARE = 0.8  # of the pool's radius
ESCAPE_SPREAD_RAD = 0.35
PREDATOR_RADIUS = 1.6
PREDATOR_SPEED = 1.5
PREROLL_STEPS = 16
PREROLL_TURN_RAD = 0.3

# Edges and weights of the predator's first heading, in degrees. The sector 330-360 was configured in the project this
# world comes from, but a modulo bug there lost it; `heading_bias_fixed` brings it back.
HEADING_EDGES = (0.0, 60.0, 90.0, 120.0, 150.0, 210.0, 270.0, 330.0, 360.0)
HEADING_WEIGHTS = (1.1, 0.8, 0.08, 0.05, 0.9, 1.3, 1.2, 0.95)
SPEED_EDGES = (0.0, 1.0, 1.6, 2.0, 2.4, 3.0)
SPEED_WEIGHTS = (1.6, 1.3, 0.7, 0.35, 0.2)


@inlined
def from_bins(edges, weights, bins, choice, place):  # type: ignore[no-untyped-def]
    """A bin by weight among the first `bins`, then a uniform place inside it; both draws are in [0, 1)."""
    whole = 0.0
    for k in range(bins):
        whole += weights[k]
    left = choice * whole
    chosen = 0
    while chosen < bins - 1 and left >= weights[chosen]:
        left -= weights[chosen]
        chosen += 1
    return edges[chosen] + place * (edges[chosen + 1] - edges[chosen])


@inlined
def spawn_predator(school, key, rules, n):  # type: ignore[no-untyped-def]
    _, _, choice, place = uniform4(key, PREDATOR_STREAM, 0)
    bins = len(HEADING_WEIGHTS) if rules.heading_bias_fixed else len(HEADING_WEIGHTS) - 1
    heading = math.radians(from_bins(HEADING_EDGES, HEADING_WEIGHTS, bins, choice, place))
    roll_predator(school, key, heading, rules.pool_radius, n)


@inlined
def roll_predator(school, key, heading, pool, n):  # type: ignore[no-untyped-def]
    """Its way from a random place near the centre, begun with this heading, up to the first step."""
    distance, bearing, _, _ = uniform4(key, PREDATOR_STREAM, 0)
    x = PREDATOR_RADIUS * distance * math.cos(2.0 * math.pi * bearing)
    y = PREDATOR_RADIUS * distance * math.sin(2.0 * math.pi * bearing)
    vx = PREDATOR_SPEED * math.cos(heading)
    vy = PREDATOR_SPEED * math.sin(heading)
    for k in range(PREROLL_STEPS):
        turn, _, choice, place = uniform4(key, PREROLL_STREAM, k)
        heading = math.atan2(vy, vx) + PREROLL_TURN_RAD * (2.0 * turn - 1.0)
        # The speed is drawn anew each time. (The original first scales the old one at random, which changes nothing.)
        speed = from_bins(SPEED_EDGES, SPEED_WEIGHTS, len(SPEED_WEIGHTS), choice, place)
        x, y, vx, vy = drift_predator(x, y, speed * math.cos(heading), speed * math.sin(heading), pool)
    school.pred_pos[n, 0] = np.float32(x)
    school.pred_pos[n, 1] = np.float32(y)
    school.digest_left[n] = 0
    school.start[n, 2] = np.float32(math.sqrt(x * x + y * y))
    for k in range(3, len(START)):
        school.start[n, k] = 0.0
    launch_predator(school, vx, vy, n)


@inlined
def launch_predator(school, vx, vy, n):  # type: ignore[no-untyped-def]
    """The velocity it has at the first step."""
    school.pred_vel[n, 0] = np.float32(vx)
    school.pred_vel[n, 1] = np.float32(vy)
    school.pred_heading[n] = np.float32(math.atan2(vy, vx))
    school.start[n, 0] = school.pred_heading[n]
    school.start[n, 1] = np.float32(math.sqrt(vx * vx + vy * vy))


@inlined
def spawn_fish(school, key, rules, n, i):  # type: ignore[no-untyped-def]
    """Place fish i, uniform in radius, on its way outwards; draw again while it is too near to the predator."""
    reach = FISH_SHARE * rules.pool_radius
    clearance = rules.spawn_clearance
    address = i
    while True:
        bearing, distance, course, pace = uniform4(key, FISH_STREAM, address)
        out_x = math.cos(2.0 * math.pi * bearing)
        out_y = math.sin(2.0 * math.pi * bearing)
        x = reach * distance * out_x
        y = reach * distance * out_y
        dx = x - np.float64(school.pred_pos[n, 0])
        dy = y - np.float64(school.pred_pos[n, 1])
        if dx * dx + dy * dy >= clearance * clearance:
            break
        address += REDRAW
    boost = np.float64(school.boost[n])
    if boost > 0.0:
        speed = MAX_SPEED * boost
        heading = 2.0 * math.pi * bearing + ESCAPE_SPREAD_RAD * normal(key, ESCAPE_STREAM, address)
    else:
        speed = pace
        heading = 2.0 * math.pi * course
    school.fish_pos[n, i, 0] = np.float32(x)
    school.fish_pos[n, i, 1] = np.float32(y)
    school.fish_vel[n, i, 0] = np.float32(speed * math.cos(heading))
    school.fish_vel[n, i, 1] = np.float32(speed * math.sin(heading))

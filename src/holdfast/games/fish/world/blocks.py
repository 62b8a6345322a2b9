"""The neighbour terms of a large school, where comparing every fish with every other one would take most of the time.

They are computed for a tile of `WIDE` fish at a time, as in `sight`, against quads of fish. A quad out of the tile's
reach is skipped, one wholly within reach adds its speeds as sums, and only one in between is compared fish by fish.
The same neighbours count. What grows with the school is the direction to every single neighbour, which no sum over a
quad can stand for. Speeds are summed as differences from the usual speed around the tile, so that the same pass gives
their spread; only where that would lose digits is there a second pass.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.curve import (
    GROUP,
    OWN_QUADS,
    QUAD,
    QUADS,
    line_up,
    list_own,
    list_quads,
    measure_boxes,
    sum_speeds,
)
from holdfast.games.fish.world.school import MAX_SPEED, NEAREST, NEIGHBOUR_RADIUS
from holdfast.games.fish.world.sight import FAR, ONE, REACH, TOUCHING, WIDE, ZERO
from holdfast.kit.compiled import inlined, kernel

X, Y, PLACE, COUNT, SPEED, SPREAD, RADIAL, PART, SUM_X, SUM_Y, TAKEN, NEAR = (row * WIDE for row in range(12))
TILE = NEAR + NEAREST * WIDE
TOUCHING_2 = TOUCHING * TOUCHING
SAFE_SQUARES = 20.0  # mean square over root of the variance: 1e-7 of the one is then at most 1e-6 of the other
LAST_NEAR = TILE - WIDE


@inlined
def clear_tile(tile, box, swim, first, count):  # type: ignore[no-untyped-def]
    """Columns that no fish uses repeat the first one."""
    for k in range(COUNT, NEAR):
        tile[k] = ZERO
    for k in range(NEAR, TILE):
        tile[k] = FAR
    box[0], box[1], box[2], box[3] = FAR, -FAR, FAR, -FAR
    for i in range(WIDE):
        j = first + i if first + i < count else first
        tile[X + i] = swim[j, 0]
        tile[Y + i] = swim[j, 1]
        tile[PLACE + i] = j
        box[0] = min(box[0], swim[j, 0])
        box[1] = max(box[1], swim[j, 0])
        box[2] = min(box[2], swim[j, 1])
        box[3] = max(box[3], swim[j, 1])


@kernel
def add_near(tile, swim, quads):  # type: ignore[no-untyped-def]
    """Keep the `NEAREST` smallest squared distances of each fish of the tile in order."""
    for quad in quads:
        for j in range(quad * QUAD, quad * QUAD + QUAD):
            x, y = swim[j, 0], swim[j, 1]
            place = np.float32(j)
            for i in range(WIDE):
                dx = x - tile[X + i]
                dy = y - tile[Y + i]
                gap = dx * dx + dy * dy
                gap = gap if tile[PLACE + i] != place else FAR
                for row in range(NEAR, TILE, WIDE):
                    held = tile[row + i]
                    tile[row + i] = gap if gap < held else held
                    gap = held if gap < held else gap


@inlined
def farthest_of_the_nearest(tile):  # type: ignore[no-untyped-def]
    """Beyond this squared distance nobody in the tile has one of its nearest neighbours."""
    bound = ZERO
    for i in range(WIDE):
        bound = max(bound, tile[LAST_NEAR + i])
    return min(bound, REACH)


@inlined
def radial(x, y, vx, vy, tile, i):  # type: ignore[no-untyped-def]
    """How fast the fish at (x, y) swims away from fish i of the tile."""
    dx = x - tile[X + i]
    dy = y - tile[Y + i]
    gap = dx * dx + dy * dy
    return (vx * dx + vy * dy) / np.sqrt(gap if gap > TOUCHING_2 else TOUCHING_2)


@inlined
def is_near(x, y, tile, i):  # type: ignore[no-untyped-def]
    dx = x - tile[X + i]
    dy = y - tile[Y + i]
    return dx * dx + dy * dy <= REACH


@inlined
def fold(tile):  # type: ignore[no-untyped-def]
    """Sums of sums lose less than one long sum."""
    for i in range(WIDE):
        tile[RADIAL + i] += tile[PART + i]
        tile[PART + i] = ZERO


@kernel
def add_own(tile, swim, quads, usual):  # type: ignore[no-untyped-def]
    """A quad of the tile itself: a fish is not its own neighbour."""
    for quad in quads:
        for j in range(quad * QUAD, quad * QUAD + QUAD):
            x, y, vx, vy, off = swim[j, 0], swim[j, 1], swim[j, 2], swim[j, 3], swim[j, 4] - usual
            place = np.float32(j)
            for i in range(WIDE):
                near = is_near(x, y, tile, i) & (tile[PLACE + i] != place)
                away = radial(x, y, vx, vy, tile, i)
                tile[COUNT + i] += ONE if near else ZERO
                tile[SPEED + i] += off if near else ZERO
                tile[SPREAD + i] += off * off if near else ZERO
                tile[PART + i] += away if near else ZERO


# The next two take a quad at once: a sum that is stored after every fish makes the next one wait for it.


@kernel
def add_inside(tile, swim, quads):  # type: ignore[no-untyped-def]
    """A quad of neighbours of the whole tile."""
    for k in range(len(quads)):
        j = quads[k] * QUAD
        x0, y0, vx0, vy0 = swim[j, 0], swim[j, 1], swim[j, 2], swim[j, 3]
        x1, y1, vx1, vy1 = swim[j + 1, 0], swim[j + 1, 1], swim[j + 1, 2], swim[j + 1, 3]
        x2, y2, vx2, vy2 = swim[j + 2, 0], swim[j + 2, 1], swim[j + 2, 2], swim[j + 2, 3]
        x3, y3, vx3, vy3 = swim[j + 3, 0], swim[j + 3, 1], swim[j + 3, 2], swim[j + 3, 3]
        for i in range(WIDE):
            one = radial(x0, y0, vx0, vy0, tile, i) + radial(x1, y1, vx1, vy1, tile, i)
            other = radial(x2, y2, vx2, vy2, tile, i) + radial(x3, y3, vx3, vy3, tile, i)
            tile[PART + i] += one + other
        if k % QUADS == 0:
            fold(tile)
    fold(tile)


@kernel
def add_edge(tile, swim, quads, usual):  # type: ignore[no-untyped-def]
    """A quad of which some fish may be neighbours of some fish of the tile."""
    for k in range(len(quads)):
        j = quads[k] * QUAD
        x0, y0, vx0, vy0, off0 = swim[j, 0], swim[j, 1], swim[j, 2], swim[j, 3], swim[j, 4] - usual
        x1, y1, vx1, vy1, off1 = swim[j + 1, 0], swim[j + 1, 1], swim[j + 1, 2], swim[j + 1, 3], swim[j + 1, 4] - usual
        x2, y2, vx2, vy2, off2 = swim[j + 2, 0], swim[j + 2, 1], swim[j + 2, 2], swim[j + 2, 3], swim[j + 2, 4] - usual
        x3, y3, vx3, vy3, off3 = swim[j + 3, 0], swim[j + 3, 1], swim[j + 3, 2], swim[j + 3, 3], swim[j + 3, 4] - usual
        for i in range(WIDE):
            near0, near1 = is_near(x0, y0, tile, i), is_near(x1, y1, tile, i)
            near2, near3 = is_near(x2, y2, tile, i), is_near(x3, y3, tile, i)
            away0, away1 = radial(x0, y0, vx0, vy0, tile, i), radial(x1, y1, vx1, vy1, tile, i)
            away2, away3 = radial(x2, y2, vx2, vy2, tile, i), radial(x3, y3, vx3, vy3, tile, i)
            one = (away0 if near0 else ZERO) + (away1 if near1 else ZERO)
            other = (away2 if near2 else ZERO) + (away3 if near3 else ZERO)
            tile[PART + i] += one + other
            one = (ONE if near0 else ZERO) + (ONE if near1 else ZERO)
            other = (ONE if near2 else ZERO) + (ONE if near3 else ZERO)
            tile[COUNT + i] += one + other
            one = (off0 if near0 else ZERO) + (off1 if near1 else ZERO)
            other = (off2 if near2 else ZERO) + (off3 if near3 else ZERO)
            tile[SPEED + i] += one + other
            one = (off0 * off0 if near0 else ZERO) + (off1 * off1 if near1 else ZERO)
            other = (off2 * off2 if near2 else ZERO) + (off3 * off3 if near3 else ZERO)
            tile[SPREAD + i] += one + other
        if k % QUADS == 0:
            fold(tile)
    fold(tile)


@inlined
def usual_speed(swim, first, quad_sum, inner, whole):  # type: ignore[no-untyped-def]
    """The mean speed of the quads within reach of the whole tile, or if there are none that of its first fish; the sums
    of those quads go into `whole`."""
    whole[:] = 0.0
    for quad in inner:
        for part in range(3):
            whole[part] += quad_sum[quad, part]
    return np.float32(whole[1] / whole[0]) if whole[0] > 0.0 else swim[first, 4]


@inlined
def spread_of_whole(whole, speed):  # type: ignore[no-untyped-def]
    """Sum of the squared differences from a speed."""
    return max(whole[2] - 2.0 * speed * whole[1] + speed * speed * whole[0], 0.0)


@inlined
def find_means(tile, usual, whole):  # type: ignore[no-untyped-def]
    """Turn the sums about the usual speed into mean speeds and sums about these. Returns whether that is good enough:
    squares of about 1e-7 are lost, which the root of a small spread would show."""
    good = True
    base = np.float64(usual)
    for i in range(WIDE):
        count = max(np.float64(tile[COUNT + i]) + whole[0], 1.0)
        off = (np.float64(tile[SPEED + i]) + whole[1] - base * whole[0]) / count
        squares = (np.float64(tile[SPREAD + i]) + spread_of_whole(whole, base)) / count
        spread = max(squares - off * off, 0.0)
        good = good and squares <= SAFE_SQUARES * math.sqrt(spread)
        tile[SPEED + i] = np.float32(base + off)
        tile[SPREAD + i] = np.float32(spread * count)
    return good


@kernel
def add_spread(tile, swim, quads, whole):  # type: ignore[no-untyped-def]
    """The sums about the mean speeds once more, from the differences themselves."""
    for i in range(WIDE):
        tile[SPREAD + i] = np.float32(spread_of_whole(whole, np.float64(tile[SPEED + i])))
    for quad in quads:
        for j in range(quad * QUAD, quad * QUAD + QUAD):
            x, y, speed = swim[j, 0], swim[j, 1], swim[j, 4]
            place = np.float32(j)
            for i in range(WIDE):
                near = is_near(x, y, tile, i) & (tile[PLACE + i] != place)
                off = speed - tile[SPEED + i]
                tile[SPREAD + i] += off * off if near else ZERO


@kernel
def add_nearest(tile, swim, quads):  # type: ignore[no-untyped-def]
    """Relative positions of the nearest; fish that tie for the last place all count."""
    for quad in quads:
        for j in range(quad * QUAD, quad * QUAD + QUAD):
            x, y = swim[j, 0], swim[j, 1]
            place = np.float32(j)
            for i in range(WIDE):
                dx = x - tile[X + i]
                dy = y - tile[Y + i]
                gap = dx * dx + dy * dy
                nearest = (gap <= min(REACH, tile[LAST_NEAR + i])) & (tile[PLACE + i] != place)
                tile[SUM_X + i] += dx if nearest else ZERO
                tile[SUM_Y + i] += dy if nearest else ZERO
                tile[TAKEN + i] += ONE if nearest else ZERO


@inlined
def conclude(tile, i, whole, crowd, fish):  # type: ignore[no-untyped-def]
    """Turn the sums of one fish into its numbers, as `sight.conclude`; `whole` is what all of the tile share."""
    count = np.float64(tile[COUNT + i]) + whole[0]
    taken = np.float64(tile[TAKEN + i])
    if count > 0.0:
        crowd[fish, 0] = count
        crowd[fish, 1] = np.float64(tile[SUM_X + i]) / taken / NEIGHBOUR_RADIUS
        crowd[fish, 2] = np.float64(tile[SUM_Y + i]) / taken / NEIGHBOUR_RADIUS
        crowd[fish, 3] = math.sqrt(np.float64(tile[NEAR + i])) / NEIGHBOUR_RADIUS
        crowd[fish, 4] = np.float64(tile[SPEED + i]) / MAX_SPEED
        crowd[fish, 5] = math.sqrt(np.float64(tile[SPREAD + i]) / count) / MAX_SPEED
        crowd[fish, 6] = np.float64(tile[RADIAL + i]) / count / MAX_SPEED


@kernel
def look_around_blocks(position, velocity, alive, pool, crowd):  # type: ignore[no-untyped-def]
    """As `sight.look_around`: fill row i of `crowd` [C, 7], which must be zero, for every living fish i of a school."""
    who = np.empty(alive.shape[0], np.int64)
    swim, count = line_up(position, velocity, alive, pool, who)
    quads = swim.shape[0] // QUAD
    quad_box = np.empty((4, quads), np.float32)
    group_box = np.empty((4, swim.shape[0] // GROUP), np.float32)
    quad_sum = np.zeros((quads, 3))
    measure_boxes(swim, count, QUAD, quad_box)
    measure_boxes(swim, count, GROUP, group_box)
    sum_speeds(swim, count, quad_sum)
    tile, box, whole = np.empty(TILE, np.float32), np.empty(4, np.float32), np.empty(3)
    boxes = (box, group_box, quad_box, np.empty(QUADS, np.float32), np.empty(QUADS, np.float32))
    room = quads + 1  # a list's end is written before it is known to be used
    close, inner, edge = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    for first in range(0, count, WIDE):
        own = first // QUAD
        clear_tile(tile, box, swim, first, count)
        seeds = list_own(own, quads, close, edge)
        known = seeds[1] - seeds[0]
        add_near(tile, swim, close[:known])
        bound = farthest_of_the_nearest(tile)
        closes, inners, edges = list_quads(boxes, bound, seeds, own, close, inner, edge)
        add_near(tile, swim, close[known:closes])
        usual = usual_speed(swim, first, quad_sum, inner[:inners], whole)
        add_own(tile, swim, edge[:OWN_QUADS], usual)
        add_inside(tile, swim, inner[:inners])
        add_edge(tile, swim, edge[OWN_QUADS:edges], usual)
        if not find_means(tile, usual, whole):
            add_spread(tile, swim, edge[:edges], whole)
        add_nearest(tile, swim, close[:closes])
        for i in range(min(WIDE, count - first)):
            conclude(tile, i, whole, crowd, who[first + i])

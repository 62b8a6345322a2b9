"""What a fish sees: 11 numbers of itself and the predator, and 7 of the living fish around it.

The neighbour terms are the world's hottest loop. They are computed for `WIDE` fish at a time against every other one,
without a branch, in rows of a fixed width inside one array: so that the compiler turns them into vector instructions.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.school import (
    CROWD_NUMBERS,
    MAX_SPEED,
    NEAREST,
    NEIGHBOUR_RADIUS,
    OWN_NUMBERS,
    VISION,
)
from holdfast.kit.compiled import inlined, kernel

WIDE = 16
X, Y, PLACE, COUNT, SPEED, SPREAD, RADIAL, SUM_X, SUM_Y, TAKEN, NEAR = (row * WIDE for row in range(11))
TILE = NEAR + NEAREST * WIDE
LAST_NEAR = TILE - WIDE

# Single precision throughout: twice as many fish per instruction. A plain 0.0 would turn it all into double.
ZERO, ONE = np.float32(0.0), np.float32(1.0)
FAR = np.float32(1e6)  # where the columns of a tile that no fish uses are placed; its own distance from any fish
REACH = np.float32(NEIGHBOUR_RADIUS * NEIGHBOUR_RADIUS)
TOUCHING = np.float32(1e-6)


@inlined
def gather(position, velocity, alive, swim, who):  # type: ignore[no-untyped-def]
    """Copy the living fish into rows of `swim` (x, y, vx, vy, speed) and return how many."""
    count = 0
    for i in range(alive.shape[0]):
        if alive[i]:
            vx = velocity[i, 0]
            vy = velocity[i, 1]
            swim[count, 0] = position[i, 0]
            swim[count, 1] = position[i, 1]
            swim[count, 2] = vx
            swim[count, 3] = vy
            swim[count, 4] = np.sqrt(vx * vx + vy * vy)
            who[count] = i
            count += 1
    return count


@inlined
def clear_tile(tile, swim, first, count):  # type: ignore[no-untyped-def]
    for k in range(COUNT, NEAR):
        tile[k] = ZERO
    for k in range(NEAR, TILE):
        tile[k] = FAR
    for i in range(WIDE):
        used = first + i < count
        tile[X + i] = swim[first + i, 0] if used else FAR
        tile[Y + i] = swim[first + i, 1] if used else FAR
        tile[PLACE + i] = first + i


@inlined
def add_neighbours(tile, swim, count):  # type: ignore[no-untyped-def]
    """Sums over all neighbours of each fish of the tile, and its `NEAREST` smallest squared distances in order."""
    for j in range(count):
        x, y, vx, vy, speed = swim[j, 0], swim[j, 1], swim[j, 2], swim[j, 3], swim[j, 4]
        place = np.float32(j)
        for i in range(WIDE):
            dx = x - tile[X + i]
            dy = y - tile[Y + i]
            gap = dx * dx + dy * dy
            gap = gap if tile[PLACE + i] != place else FAR
            near = gap <= REACH
            tile[COUNT + i] += ONE if near else ZERO
            tile[SPEED + i] += speed if near else ZERO
            distance = np.sqrt(gap)
            away = (vx * dx + vy * dy) / (distance if distance > TOUCHING else TOUCHING)
            tile[RADIAL + i] += away if near else ZERO
            for row in range(NEAR, TILE, WIDE):
                held = tile[row + i]
                tile[row + i] = gap if gap < held else held
                gap = held if gap < held else gap


@inlined
def add_nearest(tile, swim, count):  # type: ignore[no-untyped-def]
    """With the sums known: relative positions of the nearest (fish that tie for the last place all count), and how far
    the neighbours' speeds are from their mean."""
    for i in range(WIDE):
        tile[SPEED + i] /= max(tile[COUNT + i], ONE)
    for j in range(count):
        x, y, speed = swim[j, 0], swim[j, 1], swim[j, 4]
        place = np.float32(j)
        for i in range(WIDE):
            dx = x - tile[X + i]
            dy = y - tile[Y + i]
            gap = dx * dx + dy * dy
            gap = gap if tile[PLACE + i] != place else FAR
            off = speed - tile[SPEED + i]
            tile[SPREAD + i] += off * off if gap <= REACH else ZERO
            nearest = gap <= min(REACH, tile[LAST_NEAR + i])
            tile[SUM_X + i] += dx if nearest else ZERO
            tile[SUM_Y + i] += dy if nearest else ZERO
            tile[TAKEN + i] += ONE if nearest else ZERO


@inlined
def conclude(tile, i, crowd, fish):  # type: ignore[no-untyped-def]
    """Turn the sums of one fish into its numbers: the uncapped count first, then observations 12 to 17."""
    count = np.float64(tile[COUNT + i])
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
def look_around(position, velocity, alive, crowd):  # type: ignore[no-untyped-def]
    """Fill row i of `crowd` [C, 7], which must be zero, for every living fish i of one school."""
    capacity = alive.shape[0]
    swim = np.empty((capacity, 5), np.float32)
    who = np.empty(capacity, np.int64)
    tile = np.empty(TILE, np.float32)
    count = gather(position, velocity, alive, swim, who)
    for first in range(0, count, WIDE):
        clear_tile(tile, swim, first, count)
        add_neighbours(tile, swim, count)
        add_nearest(tile, swim, count)
        for i in range(min(WIDE, count - first)):
            conclude(tile, i, crowd, who[first + i])


@inlined
def observe_self(school, obs, pool, n, i):  # type: ignore[no-untyped-def]
    x = np.float64(school.fish_pos[n, i, 0])
    y = np.float64(school.fish_pos[n, i, 1])
    obs[n, i, 0] = np.float32(x / pool)
    obs[n, i, 1] = np.float32(y / pool)
    obs[n, i, 2] = np.float32(np.float64(school.fish_vel[n, i, 0]) / MAX_SPEED)
    obs[n, i, 3] = np.float32(np.float64(school.fish_vel[n, i, 1]) / MAX_SPEED)
    obs[n, i, 4] = np.float32((pool - math.sqrt(x * x + y * y)) / pool)
    dx = np.float64(school.pred_pos[n, 0]) - x
    dy = np.float64(school.pred_pos[n, 1]) - y
    distance = math.sqrt(dx * dx + dy * dy)
    if distance < VISION:
        obs[n, i, 5] = 1.0
        obs[n, i, 6] = np.float32(dx / VISION)
        obs[n, i, 7] = np.float32(dy / VISION)
        obs[n, i, 8] = np.float32(np.float64(school.pred_vel[n, 0]) / MAX_SPEED)
        obs[n, i, 9] = np.float32(np.float64(school.pred_vel[n, 1]) / MAX_SPEED)
        obs[n, i, 10] = np.float32(distance / VISION)
    else:
        for k in range(5, OWN_NUMBERS):
            obs[n, i, k] = 0.0


@inlined
def observe(school, fish, crowd, rules, n):  # type: ignore[no-untyped-def]
    """The rows of all fish of a lane; dead and absent ones see zeros."""
    for i in range(fish.alive.shape[1]):
        if not fish.alive[n, i]:
            for k in range(fish.obs.shape[2]):
                fish.obs[n, i, k] = 0.0
            continue
        observe_self(school, fish.obs, rules.pool_radius, n, i)
        if rules.neighbours:
            fish.obs[n, i, OWN_NUMBERS] = np.float32(min(crowd[i, 0] / NEAREST, 1.0))
            for k in range(1, CROWD_NUMBERS):
                fish.obs[n, i, OWN_NUMBERS + k] = np.float32(crowd[i, k])

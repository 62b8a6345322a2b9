"""Policies that need no learning: single actions, and rules that see the predator's velocity and step aside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from holdfast.games.fish.world.school import BRAKE, FORWARD, KEEP, KILL_DISTANCE, LEFT, POOL_RADIUS, RIGHT, VISION
from holdfast.kit.compiled import inlined, kernel
from holdfast.worlds.api import Act, World

if TYPE_CHECKING:
    from holdfast.games.fish.world.fish import Fish

AIM_RAD = math.radians(15.0)  # a heading this near to the wanted one is good enough
WALL_SHARE = 0.9  # beyond this share of the pool's radius the wanted direction bends inwards
WALL_PULL = 0.07  # so strongly per unit of length, in a pool of the usual size
SHELTER_SHARE, REST_SHARE = 0.3, 0.6  # the predator drifts upwards: so far below the centre a fish may rest


@inlined
def steer(vx, vy, wx, wy):  # type: ignore[no-untyped-def]
    """The action that turns velocity v towards direction w."""
    angle = math.atan2(vx * wy - vy * wx, vx * wx + vy * wy)
    if angle > AIM_RAD:
        return LEFT
    if angle < -AIM_RAD:
        return RIGHT
    return FORWARD


@inlined
def dodge_direction(rx, ry, pvx, pvy):  # type: ignore[no-untyped-def]
    """Across the predator's path while it may still hit, straight away once it has passed; r points to it."""
    distance = max(math.sqrt(rx * rx + ry * ry), 1e-9)
    speed = max(math.sqrt(pvx * pvx + pvy * pvy), 1e-9)
    ux = pvx / speed
    uy = pvy / speed
    if -(rx * ux + ry * uy) <= -KILL_DISTANCE:
        return -rx, -ry
    side = 1.0 if rx * uy - ry * ux >= 0.0 else -1.0
    return -side * uy - 0.5 * rx / distance, side * ux - 0.5 * ry / distance


@inlined
def evade(x, y, vx, vy, wx, wy, pool):  # type: ignore[no-untyped-def]
    """Steer towards w, but not into the wall."""
    length = max(math.sqrt(wx * wx + wy * wy), 1e-9)
    wx /= length
    wy /= length
    if math.sqrt(x * x + y * y) > WALL_SHARE * pool:
        pull = WALL_PULL * (POOL_RADIUS / pool)
        wx -= pull * x
        wy -= pull * y
    return steer(vx, vy, wx, wy)


@inlined
def shelter(x, y, vx, vy, pool):  # type: ignore[no-untyped-def]
    return BRAKE if y < -SHELTER_SHARE * pool else steer(vx, vy, 0.5 * x - x, -REST_SHARE * pool - y)


@kernel
def decide(school, alive, pool, dodges, calm, shelters):  # type: ignore[no-untyped-def]
    """Actions [N, C]: flee or dodge the predator in sight; out of sight the `calm` action, or seek shelter."""
    actions = np.zeros(alive.shape, np.int64)
    for n in range(alive.shape[0]):
        pvx = np.float64(school.pred_vel[n, 0])
        pvy = np.float64(school.pred_vel[n, 1])
        for i in range(alive.shape[1]):
            x = np.float64(school.fish_pos[n, i, 0])
            y = np.float64(school.fish_pos[n, i, 1])
            vx = np.float64(school.fish_vel[n, i, 0])
            vy = np.float64(school.fish_vel[n, i, 1])
            rx = np.float64(school.pred_pos[n, 0]) - x
            ry = np.float64(school.pred_pos[n, 1]) - y
            if not alive[n, i]:
                actions[n, i] = KEEP
            elif rx * rx + ry * ry < VISION * VISION:
                wx = -rx
                wy = -ry
                if dodges:
                    wx, wy = dodge_direction(rx, ry, pvx, pvy)
                actions[n, i] = evade(x, y, vx, vy, wx, wy, pool)
            else:
                actions[n, i] = shelter(x, y, vx, vy, pool) if shelters else calm
    return actions


def always(action: int) -> Act:
    def act(world: World) -> dict[str, np.ndarray]:
        return {"fish": np.full(world.roles["fish"].alive.shape, action, np.int64)}

    return act


def watchful(dodges: bool, calm: int = KEEP, shelters: bool = False) -> Act:
    def act(world: World) -> dict[str, np.ndarray]:
        pool = cast("Fish", world)
        return {"fish": decide(pool.state, pool.fish.alive, pool.rules.pool_radius, dodges, calm, shelters)}

    return act


POLICIES: dict[str, Act] = {
    "forward": always(FORWARD),
    "turn": always(LEFT),
    "brake": always(BRAKE),
    "keep": always(KEEP),
    "flee_brake": watchful(dodges=False, calm=BRAKE),
    "flee_keep": watchful(dodges=False),
    "dodge_keep": watchful(dodges=True),
    "dodge_shelter": watchful(dodges=True, shelters=True),
}

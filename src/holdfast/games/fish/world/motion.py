"""How fish and predator move in one step. Numbers in, numbers out; the arrays are the callers' business."""

from __future__ import annotations

import math

import numpy as np

from holdfast.games.fish.world.school import BRAKE, FORWARD, LEFT, MAX_SPEED, RIGHT, TIME_STEP
from holdfast.kit.compiled import inlined

FISH_PUSH = 1.0 * TIME_STEP  # acceleration 1.0
BRAKE_FACTOR = 0.9
COS_TURN, SIN_TURN = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))
STANDSTILL = 0.01  # a slower fish has no heading of its own and faces +x
FISH_BOUNCE, PREDATOR_BOUNCE = 0.5, 0.85  # share of the speed across the wall that is kept
PREDATOR_DRIFT = 0.05  # added to v_y in every step, so the predator gathers at the top of the pool


@inlined
def glide(x, y, vx, vy, kept, pool):  # type: ignore[no-untyped-def]
    """Move for one time step in a pool of this radius; at the wall the velocity across it is reversed and only `kept`
    of it remains."""
    x += TIME_STEP * vx
    y += TIME_STEP * vy
    square = x * x + y * y
    if square > pool * pool:
        radius = math.sqrt(square)
        nx = x / radius
        ny = y / radius
        across = (1.0 + kept) * (vx * nx + vy * ny)
        vx -= across * nx
        vy -= across * ny
        x = pool * nx
        y = pool * ny
    return x, y, vx, vy


@inlined
def steer_fish(vx, vy, action):  # type: ignore[no-untyped-def]
    """A fish's velocity after its action, at most `MAX_SPEED`."""
    if action == BRAKE:
        vx *= BRAKE_FACTOR
        vy *= BRAKE_FACTOR
    elif action <= RIGHT:  # the actions that need a heading
        speed = math.sqrt(vx * vx + vy * vy)
        ux = 1.0
        uy = 0.0
        if speed > STANDSTILL:
            ux = vx / speed
            uy = vy / speed
        if action == FORWARD:
            vx += FISH_PUSH * ux
            vy += FISH_PUSH * uy
        else:
            sine = SIN_TURN if action == LEFT else -SIN_TURN
            vx = speed * (COS_TURN * ux - sine * uy)
            vy = speed * (sine * ux + COS_TURN * uy)
    square = vx * vx + vy * vy
    if square > MAX_SPEED * MAX_SPEED:
        scale = MAX_SPEED / math.sqrt(square)
        vx *= scale
        vy *= scale
    return vx, vy


@inlined
def swim(x, y, vx, vy, action, pool):  # type: ignore[no-untyped-def]
    """Where a fish is after its action and how it moves there, in the precision it is stored in."""
    vx, vy = steer_fish(vx, vy, action)
    x, y, vx, vy = glide(x, y, vx, vy, FISH_BOUNCE, pool)
    return np.float32(x), np.float32(y), np.float32(vx), np.float32(vy)


@inlined
def drift_predator(x, y, vx, vy, pool):  # type: ignore[no-untyped-def]
    """The classic predator: it chases nobody, it falls upwards and bounces."""
    return glide(x, y, vx, vy + PREDATOR_DRIFT, PREDATOR_BOUNCE, pool)

"""The navigation task, a first lesson for one side: reach goals, or keep away from a slow pursuer.

The opponent stands on the goal, so the numbers that tell of the opponent in a duel tell of the goal here, and weights
can go on to duels as they are.
"""

from __future__ import annotations

import math

from holdfast.games.pursuit.world.duel import EVADER, PURSUER, TASK, TASK_STREAM
from holdfast.games.pursuit.world.geometry import clip, wrap
from holdfast.games.pursuit.world.rewards import note
from holdfast.games.pursuit.world.spawn import clear_of_circles
from holdfast.kit.compiled import inlined, kernel
from holdfast.kit.rng import uniform, uniform4

GOALS = 3  # reached: the lesson is over
GOAL_INSET = 1.0  # m, from walls
GOAL_CLEARANCE = 0.5  # m, from circles
GOAL_REACHED = 0.5  # m
GOAL_TRIES = 64
NEAR_WALL = 0.5  # m
GOAL_REWARD, DISTANCE_WEIGHT, WALL_COST, CAUGHT = 10.0, 0.5, 0.1, -10.0
CHASE_GAIN = 3.0
MODE_INDEX = 1 << 40  # far from the indices of goals


@kernel
def place_goal(duel, rules, key):  # type: ignore[no-untyped-def]
    """Put the opponent to a new goal. If none of the tries is clear of circles, the last one has to do."""
    other = 1 - rules.task_side
    for attempt in range(GOAL_TRIES):
        ux, uy, _, _ = uniform4(key, TASK_STREAM, duel.goals * GOAL_TRIES + attempt)
        x = (duel.half[0] - GOAL_INSET) * (2.0 * ux - 1.0)
        y = (duel.half[1] - GOAL_INSET) * (2.0 * uy - 1.0)
        duel.pose[other, 0] = x
        duel.pose[other, 1] = y
        if clear_of_circles(duel, x, y, GOAL_CLEARANCE):
            break
    duel.pose[other, 2] = 0.0


@inlined
def begin_task(duel, rules, key):  # type: ignore[no-untyped-def]
    duel.fleeing = uniform(key, TASK_STREAM, MODE_INDEX) < rules.flee_share
    duel.goals = 0
    if not duel.fleeing:
        place_goal(duel, rules, key)


@inlined
def opponent_command(duel, rules):  # type: ignore[no-untyped-def]
    """A goal stands still; the slow pursuer turns towards the evader."""
    if not duel.fleeing:
        return 0.0, 0.0
    dx = duel.pose[EVADER, 0] - duel.pose[PURSUER, 0]
    dy = duel.pose[EVADER, 1] - duel.pose[PURSUER, 1]
    error = wrap(math.atan2(dy, dx) - duel.pose[PURSUER, 2])
    return rules.flee_speed * duel.v_max[PURSUER], clip(CHASE_GAIN * error, -rules.omega_max, rules.omega_max)


@inlined
def task_reward(duel, rules, captured):  # type: ignore[no-untyped-def]
    """The learner's reward; counts a goal that is reached, whose place `next_goal` then changes."""
    side = rules.task_side
    diagonal = 2.0 * math.sqrt(duel.half[0] ** 2 + duel.half[1] ** 2)
    near = DISTANCE_WEIGHT * duel.distance / diagonal
    if duel.fleeing:
        return note(duel, side, TASK, near + (CAUGHT if captured else 0.0))
    amount = -near
    to_wall_x = duel.half[0] - abs(duel.pose[side, 0])
    to_wall_y = duel.half[1] - abs(duel.pose[side, 1])
    if to_wall_x < NEAR_WALL or to_wall_y < NEAR_WALL:
        amount -= WALL_COST
    if duel.distance <= GOAL_REACHED:
        amount += GOAL_REWARD
        duel.goals += 1
    return note(duel, side, TASK, amount)

"""Reward: the game's own part frame by frame (as gym-super-mario-bros pays it), then shaping once per step.

reward = scale · (base + score + distance + milestones) + end. Weights that change do so by the lane's own count of
steps, so that they are part of the state and equal in every lane.
"""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world.play import (
    BASE,
    CASTLE,
    DEATH,
    DISTANCE,
    END,
    FLAG,
    MAX_X,
    MAZE,
    MILESTONE,
    MILESTONES,
    PIT,
    RAW_TOTAL,
    SCORE,
)
from holdfast.kit.compiled import inlined, kernel

FASTEST_PX = 5  # per frame; what moves further was moved by the game
FRAME_LIMIT = 15.0
DEATH_POINTS = -25.0


@inlined
def frame_points(dx, clock_change, died):  # type: ignore[no-untyped-def]
    """r = clip(dx + min(0, change of clock) - 25 if a life was lost, -15, 15)."""
    points = np.float64(dx) if abs(dx) <= FASTEST_PX else 0.0
    points += np.float64(min(clock_change, 0))
    if died:
        points += DEATH_POINTS
    return min(max(points, -FRAME_LIMIT), FRAME_LIMIT)


@inlined
def annealed(start, final, steps, over):  # type: ignore[no-untyped-def]
    """From start to final over so many steps; with 0 it is final from the first step on."""
    if over <= 0 or steps >= over:
        return final
    return start + (final - start) * (np.float64(steps) / np.float64(over))


@inlined
def distance_weight(rules, start, steps):  # type: ignore[no-untyped-def]
    """Pay for a pixel after so many steps of the lane."""
    if steps < rules.early_steps:
        return rules.early_distance_weight
    if rules.distance_weight_final < 0.0:
        return start
    return annealed(start, rules.distance_weight_final, steps, rules.distance_anneal)


@inlined
def end_points(rules, reason, steps):  # type: ignore[no-untyped-def]
    """What an end pays; cuts by a limit and warps pay nothing."""
    if reason in (FLAG, CASTLE):
        return rules.flag_reward
    if PIT <= reason <= DEATH or reason == MAZE:
        return annealed(rules.death_start, rules.death_final, steps, rules.death_anneal)
    return 0.0


@inlined
def milestones_passed(track, every):  # type: ignore[no-untyped-def]
    """How many multiples of so many pixels were passed for the first time in this episode."""
    if every <= 0:
        return np.int64(0)
    new = max(track[MAX_X] // every - track[MILESTONES], 0)
    track[MILESTONES] += new
    return new


@inlined
def balance(paid):  # type: ignore[no-untyped-def]
    return paid[BASE] + paid[SCORE] + paid[DISTANCE] + paid[MILESTONE] + paid[END]


@kernel
def pay(track, paid, rules, steps, weight, base, points, distance, reason):  # type: ignore[no-untyped-def]
    """Reward of a step, with each of its terms added to the episode's accounts."""
    scale = annealed(rules.scale_start, rules.scale_final, steps, rules.scale_anneal)
    before = balance(paid)
    paid[BASE] += scale * rules.base_weight * base
    paid[SCORE] += scale * rules.score_weight * np.float64(points)
    paid[DISTANCE] += scale * distance_weight(rules, weight, steps) * np.float64(distance)
    paid[MILESTONE] += scale * rules.milestone_bonus * np.float64(milestones_passed(track, rules.milestone_every))
    paid[END] += end_points(rules, reason, steps)
    paid[RAW_TOTAL] += base
    return np.float32(balance(paid) - before)

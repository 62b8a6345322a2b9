"""What each side earns, term by term. Every amount goes to a duel's `terms` as well, so that shares can be told."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from holdfast.games.pursuit.world.constants import ANY_DISTANCE
from holdfast.games.pursuit.world.duel import (
    APPROACH,
    CELLS_ACROSS,
    CIRCLE,
    CONTACT,
    DISTANCE,
    EVADER,
    HIDDEN,
    OCCLUSION,
    OUTCOME,
    PURSUER,
    SAFETY,
    SEARCH,
    SEEN,
    SURVIVAL,
    WALL,
)
from holdfast.games.pursuit.world.geometry import clip, sight_blocked
from holdfast.kit.compiled import inlined, kernel

INTERVENTION_SCALE = 0.1
NO_RADIUS = 100.0  # m, of the search without a sensing radius


class Before(NamedTuple):
    """A duel as the decision found it."""

    distance: float
    circle_distance: float
    wall_p: float  # contacts so far
    wall_e: float
    circle_p: float
    circle_e: float


class Guard(NamedTuple):
    """What the filter met in the last world step of a decision, for one side."""

    least: float
    slack: float
    change: float  # square length of the correction


@inlined
def note(duel, side, term, amount):  # type: ignore[no-untyped-def]
    duel.terms[side, term] += amount
    return amount


@inlined
def shaped(rules, before, now, over):  # type: ignore[no-untyped-def]
    """The reward for a distance that shrinks: with a discount, that of the potential -distance, 0 where it is over
    (Ng, Harada and Russell 1999); without, the plain difference."""
    if rules.discounted:
        return before if over else before - rules.gamma * now
    return before - now


@inlined
def contact_cost(duel, rules, wall_before, circle_before, side):  # type: ignore[no-untyped-def]
    wall = duel.tally[side, WALL] - wall_before
    circle = duel.tally[side, CIRCLE] - circle_before
    return note(duel, side, CONTACT, -rules.w_wall * wall - rules.w_collision * circle)


@inlined
def safety_reward(duel, rules, guard, side):  # type: ignore[no-untyped-def]
    if not (rules.filters_p if side == PURSUER else rules.filters_e):
        return 0.0
    amount = rules.w_safety * clip(guard.least / rules.h_ref, 0.0, 1.0)
    amount -= rules.w_cbf * max(0.0, -guard.slack)
    amount -= rules.w_interv * (1.0 - math.exp(-guard.change / INTERVENTION_SCALE))
    return note(duel, side, SAFETY, amount)


@inlined
def cell_centre(half, cell):  # type: ignore[no-untyped-def]
    return half * ((2.0 * cell + 1.0) / CELLS_ACROSS - 1.0)


@kernel
def search(duel, rules):  # type: ignore[no-untyped-def]
    """Mean staleness of the cells the pursuer looks at now, which then are fresh."""
    x = duel.pose[PURSUER, 0]
    y = duel.pose[PURSUER, 1]
    radius = NO_RADIUS if rules.sense_radius == ANY_DISTANCE else rules.sense_radius
    count = 0
    stale = 0.0
    for row in range(CELLS_ACROSS):
        cy = cell_centre(duel.half[1], row)
        for column in range(CELLS_ACROSS):
            cx = cell_centre(duel.half[0], column)
            if (cx - x) * (cx - x) + (cy - y) * (cy - y) > radius * radius:
                continue
            if sight_blocked(x, y, cx, cy, duel.circles, duel.n_circles):
                continue
            cell = row * CELLS_ACROSS + column
            age = np.float64(duel.step - duel.seen_at[cell])
            stale += clip(age / rules.t_stale, 0.0, 1.0)
            count += 1
            duel.seen_at[cell] = duel.step
    return stale / count if count > 0 else 0.0


@inlined
def reward_both(duel, rules, before, guard_p, guard_e, seen, is_blocked, captured, escaped):  # type: ignore[no-untyped-def]
    """(pursuer's, evader's) reward of one decision; `seen` is by the rule of the seen reward."""
    diagonal = 2.0 * math.sqrt(duel.half[0] ** 2 + duel.half[1] ** 2)
    ended = captured or escaped
    over = captured or (escaped and not rules.timeout_truncates)
    distance = rules.distance_scale * shaped(rules, before.distance, duel.distance, over) / diagonal
    outcome = rules.capture_bonus if captured else (rules.timeout_penalty if escaped else 0.0)
    sighting = rules.w_vis if seen and not ended else 0.0
    pursuer = note(duel, PURSUER, DISTANCE, distance)
    pursuer += note(duel, PURSUER, OUTCOME, outcome)
    pursuer += note(duel, PURSUER, SEEN, sighting)
    if rules.w_search > 0.0:
        staleness = search(duel, rules)
        if not duel.visible[PURSUER]:
            pursuer += note(duel, PURSUER, SEARCH, rules.w_search * staleness)
    pursuer += contact_cost(duel, rules, before.wall_p, before.circle_p, PURSUER)
    pursuer += safety_reward(duel, rules, guard_p, PURSUER)
    evader = reward_evader(duel, rules, before, distance, outcome, sighting, is_blocked, captured, over, ended)
    evader += contact_cost(duel, rules, before.wall_e, before.circle_e, EVADER)
    evader += safety_reward(duel, rules, guard_e, EVADER)
    return pursuer, evader


@kernel
def reward_evader(duel, rules, before, distance, outcome, sighting, is_blocked, captured, over, ended):  # type: ignore[no-untyped-def]
    """Its own terms and the negative of the pursuer's."""
    evader = 0.0
    if rules.visibility_weight > 0.0 and duel.n_circles > 0 and not ended:
        hidden = is_blocked or not duel.visible[PURSUER]
        evader += note(duel, EVADER, HIDDEN, rules.visibility_weight if hidden else -rules.visibility_weight)
    else:
        evader += note(duel, EVADER, DISTANCE, -distance)
        evader += note(duel, EVADER, OUTCOME, -outcome)
        evader += note(duel, EVADER, SEEN, -sighting)
    if is_blocked and not captured:
        evader += note(duel, EVADER, OCCLUSION, rules.w_occlusion)
    if not ended:
        evader += note(duel, EVADER, SURVIVAL, rules.survival_bonus)
    if duel.n_circles > 0 and (rules.discounted or not ended):
        diagonal = 2.0 * math.sqrt(duel.half[0] ** 2 + duel.half[1] ** 2)
        nearer = shaped(rules, before.circle_distance, duel.circle_distance, over)
        evader += note(duel, EVADER, APPROACH, rules.w_approach * nearer / diagonal)
    return evader

"""The numbers an ended duel leaves behind, in the order of the spec's columns."""

from __future__ import annotations

import numpy as np

from holdfast.games.pursuit.world.duel import (
    DUEL_COLUMNS,
    EVADER,
    FIRST_SIGHT,
    LEAST_H,
    PATH,
    PURSUER,
    SIDE_COLUMNS,
    SPAWN_MAX,
    SPAWN_MIN,
    TALLIES,
    TERMS,
    VISIBLE,
)
from holdfast.games.pursuit.world.opening import WORD
from holdfast.kit.compiled import inlined, kernel


@inlined
def bits(word):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(WORD):
        if (word >> np.uint64(k)) & np.uint64(1):
            count += 1
    return count


@inlined
def write_duel(duel, captured, row):  # type: ignore[no-untyped-def]
    """DUEL_COLUMNS."""
    row[0] = 1.0 if captured else 0.0
    row[1] = 0.0 if captured else 1.0
    row[2] = duel.step
    row[3] = duel.spawn_distance
    row[4] = duel.distance
    row[5] = duel.least_distance
    row[6] = duel.n_circles
    row[7] = duel.missing
    row[8] = duel.level[SPAWN_MIN]
    row[9] = duel.level[SPAWN_MAX]
    row[10] = duel.goals
    row[11] = 1.0 if duel.fleeing else 0.0


@inlined
def write_side(duel, decisions, side, row):  # type: ignore[no-untyped-def]
    """SIDE_COLUMNS: sums over steps become means, but for the path, the first sight and the least h."""
    steps = np.float64(duel.step)
    for k in range(TALLIES):
        if k in (PATH, FIRST_SIGHT, LEAST_H):
            row[k] = duel.tally[side, k]
        elif k == VISIBLE:
            row[k] = duel.tally[side, k] / (decisions + 1.0)  # sight is judged at the start as well
        else:
            row[k] = duel.tally[side, k] / steps
    row[TALLIES] = bits(duel.visited[side, 0]) + bits(duel.visited[side, 1])
    row[TALLIES + 1] = duel.pose[side, 0]
    row[TALLIES + 2] = duel.pose[side, 1]


@kernel
def write_numbers(duel, rules, decisions, captured, row):  # type: ignore[no-untyped-def]
    row[0] = decisions
    place = 1
    if rules.plays_p:
        row[place] = duel.total[PURSUER]
        place += 1
    if rules.plays_e:
        row[place] = duel.total[EVADER]
        place += 1
    write_duel(duel, captured, row[place:])
    place += len(DUEL_COLUMNS)
    for side in range(2):
        write_side(duel, decisions, side, row[place:])
        place += len(SIDE_COLUMNS)
    for side in range(2):
        for k in range(len(TERMS)):
            row[place + k] = duel.terms[side, k]
        place += len(TERMS)


@inlined
def keep_sight(role, n):  # type: ignore[no-untyped-def]
    for k in range(role.obs.shape[2]):
        role.final_obs[n, 0, k] = role.obs[n, 0, k]
    role.final_alive[n, 0] = True

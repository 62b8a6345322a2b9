"""What a duel is: its streams of randomness, the arrays that hold N duels, and the names of its numbers.

Lengths are metres, times seconds, angles radians. The origin is the centre of the arena, for every part of the world.
World state is float64; only what policies see and earn is float32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import SETTINGS

PURSUER, EVADER = 0, 1
SIDES = ("pursuer", "evader")

# Streams of randomness: each feature draws from its own, so that switching one on changes no other's draws.
LAYOUT_STREAM, NOISE_STREAM, SCRIPT_STREAM, MASK_STREAM = 0, 1, 3, 4  # noise: 1 pursuer, 2 evader
RANDOMISE_STREAM, TASK_STREAM, MIRROR_STREAM, SPAWN_STREAM = 5, 6, 7, 9

# Places of the level parameters; the last two exist only where sight is masked.
SPAWN_MIN, SPAWN_MAX, OBSTACLES, MAX_STEPS, FULL_PURSUER, FULL_EVADER = 0, 1, 2, 3, 4, 5

ROOM = 8  # circles a duel has room for: fixed, as the size of a record is part of the kernels' types
FARTHEST_START = 0.8  # of the diagonal
CELLS_ACROSS = 10  # of the grid for coverage and the search reward
CELLS = CELLS_ACROSS * CELLS_ACROSS
SEEN_STEP, NEVER = 3, -1.0  # place of the step in `last_seen`
UNTOLD = 9.0  # no angle: how the opponent moved cannot be told from a single sight
TRAIL = 128  # places kept of each robot's way, spread over the whole episode

# Places in `tally`, summed over an episode per side.
SPEED, PATH, VISIBLE, FIRST_SIGHT, WALL, CIRCLE, CHANGED, VIOLATED, INFEASIBLE, LEAST_H = range(10)
TALLIES = 10

# Reward terms, summed over an episode per side.
TERMS = (
    "distance",
    "outcome",
    "seen",
    "search",
    "occlusion",
    "hidden",
    "survival",
    "approach",
    "contact",
    "safety",
    "task",
)
DISTANCE, OUTCOME, SEEN, SEARCH, OCCLUSION, HIDDEN, SURVIVAL, APPROACH, CONTACT, SAFETY, TASK = range(len(TERMS))

# Numbers of an ended duel: of the duel, then of each side, then of each side's rewards.
DUEL_COLUMNS = (
    "captured",
    "escaped",
    "steps",
    "spawn_distance",
    "final_distance",
    "least_distance",
    "obstacles",
    "obstacles_missing",
    "spawn_min",
    "spawn_max",
    "goals",
    "fled",
)
SIDE_COLUMNS = (
    "speed",
    "path",
    "visible",
    "first_sight",
    "wall",
    "circle",
    "changed",
    "violated",
    "infeasible",
    "least_h",
    "cells",
    "end_x",
    "end_y",
)


def side_columns() -> tuple[str, ...]:
    """`pursuer_speed`, …: what the probes read."""
    return tuple(f"{side}_{name}" for side in SIDES for name in SIDE_COLUMNS)


def term_columns() -> tuple[str, ...]:
    """`pursuer_reward_distance`, …: the sum of each reward term."""
    return tuple(f"{side}_reward_{term}" for side in SIDES for term in TERMS)


# One duel as a record, so that a kernel passes it as a pointer; see `Duel` for what the fields mean.
DUEL = np.dtype(
    [
        ("pose", np.float64, (2, 3)),
        ("command", np.float64, (2, 2)),
        ("moved", np.float64, (2, 2)),
        ("distance", np.float64),
        ("circle_distance", np.float64),
        ("spawn_distance", np.float64),
        ("least_distance", np.float64),
        ("half", np.float64, (2,)),
        ("v_max", np.float64, (2,)),
        ("gain", np.float64, (2,)),
        ("lag", np.float64, (2,)),
        ("delay", np.float64, (2,)),
        ("level", np.float64, (6,)),
        ("orbit", np.float64),
        ("tally", np.float64, (2, TALLIES)),
        ("terms", np.float64, (2, len(TERMS))),
        ("total", np.float64, (2,)),
        ("circles", np.float64, (ROOM, 3)),
        ("circle_shift", np.float64, (ROOM, 2)),
        ("last_seen", np.float64, (2, 4)),
        ("mirror", np.float64, (2, 3)),
        ("visited", np.uint64, (2, 2)),
        ("step", np.int64),
        ("n_circles", np.int64),
        ("missing", np.int64),
        ("goals", np.int64),
        ("seen_at", np.int32, (CELLS,)),
        ("trail", np.float32, (2, TRAIL, 2)),
        ("unplaced", np.bool_),
        ("fleeing", np.bool_),
        ("visible", np.uint8, (2,)),
        ("exchanged", np.uint8, (2,)),
    ],
    align=True,
)


class Duel(NamedTuple):
    """The state of N lanes beyond their clocks, as views of their records; [2] is pursuer, evader."""

    pose: np.ndarray  # [N, 2, 3] x, y, heading in [-pi, pi)
    command: np.ndarray  # [N, 2, 2] speed and turn rate last applied
    moved: np.ndarray  # [N, 2, 2] displacement of the last step
    distance: np.ndarray  # [N] between the centres
    circle_distance: np.ndarray  # [N] evader to the surface of the nearest circle; 0 without circles
    spawn_distance: np.ndarray  # [N]
    least_distance: np.ndarray  # [N]
    half: np.ndarray  # [N, 2] half width and half height of the arena
    v_max: np.ndarray  # [N, 2]
    gain: np.ndarray  # [N, 2] of the motors
    lag: np.ndarray  # [N, 2] share of a new command reached in one step
    delay: np.ndarray  # [N, 2] share of a step in which the old command still acts
    level: np.ndarray  # [N, 6] level parameters of the current episode
    orbit: np.ndarray  # [N] +1 the orbiting script goes counter-clockwise, -1 clockwise
    tally: np.ndarray  # [N, 2, TALLIES]
    terms: np.ndarray  # [N, 2, TERMS]
    total: np.ndarray  # [N, 2] return so far
    circles: np.ndarray  # [N, ROOM, 3] x, y, radius
    circle_shift: np.ndarray  # [N, ROOM, 2] error of observed circles
    last_seen: np.ndarray  # [N, 2, 4] x, y, heading or UNTOLD at the last sight of who recalls; its step or NEVER
    mirror: np.ndarray  # [N, 2, 3] signs of x, of y and of turns in what a side is told and asks for
    visited: np.ndarray  # [N, 2, 2] a bit for each cell entered
    step: np.ndarray  # [N] world steps since the start (the clock counts decisions)
    n_circles: np.ndarray  # [N]
    missing: np.ndarray  # [N] circles that found no place
    goals: np.ndarray  # [N] goals reached in the navigation task
    seen_at: np.ndarray  # [N, 100] step at which the pursuer last saw each cell, for the search reward
    trail: np.ndarray  # [N, 2, TRAIL, 2] places on the way so far
    unplaced: np.ndarray  # [N] no start was found
    fleeing: np.ndarray  # [N] the navigation task is to flee
    visible: np.ndarray  # [N, 2] 1: the pursuer sees the evader, the evader the pursuer
    exchanged: np.ndarray  # [N, 2] whether a side is told x and y exchanged


def make_rows(lanes: int) -> np.ndarray:
    """Empty records, as kernels take them."""
    return for_kernels(aligned((lanes,), DUEL))


def for_kernels(rows: np.ndarray) -> np.ndarray:
    """Kernels name fields as attributes; without the compiler that takes a view of NumPy's."""
    return rows.view(np.recarray) if SETTINGS.DISABLE_JIT else rows


def views(rows: np.ndarray) -> Duel:
    plain = rows.view(np.ndarray)
    return Duel(*(plain[name] for name in Duel._fields))

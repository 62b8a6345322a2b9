"""What a school is: the pool's constants, the arrays that hold N schools, and the rules a run has chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.worlds.memory import aligned

POOL_RADIUS = 10.0  # a disc around (0, 0)
TIME_STEP = 0.1
KILL_DISTANCE = 0.7
VISION = 10.0 / 3.0
NEIGHBOUR_RADIUS = 3.0
NEAREST = 6  # neighbours whose mean position a fish sees

MAX_SPEED = 2.0
FORWARD, LEFT, RIGHT, BRAKE, KEEP = 0, 1, 2, 3, 4
ACTIONS = 5

OWN_NUMBERS = 11  # observations of the fish itself and the predator
CROWD_NUMBERS = 7  # observations of the neighbours, after those

COLUMNS = ("length", "return", "survival", "first_death", "step_one", "n_fish")
FISH, STEPS, BOOST, DENSITY = 0, 1, 2, 3  # places of the level parameters


class School(NamedTuple):
    """The state of N lanes beyond their clocks, with room for C fish each; fish from n_fish on are absent."""

    fish_pos: np.ndarray  # [N, C, 2] f32; a dead fish stays where it died
    fish_vel: np.ndarray  # [N, C, 2] f32
    death_step: np.ndarray  # [N, C] i16, -1 while living (and where absent)
    ended_death_step: np.ndarray  # [N, C] i16, of the episode that ended last
    pred_pos: np.ndarray  # [N, 2] f32
    pred_vel: np.ndarray  # [N, 2] f32
    spawn_heading: np.ndarray  # [N] f32, rad: the predator's after its pre-roll
    spawn_speed: np.ndarray  # [N] f32
    n_fish: np.ndarray  # [N] i32, level of the current episode, as the next three
    step_limit: np.ndarray  # [N] i32
    boost: np.ndarray  # [N] f32
    density_coef: np.ndarray  # [N] f32
    density_target: np.ndarray  # [N] f32
    total: np.ndarray  # [N] f64, rewards so far of all fish together


class Rules(NamedTuple):
    """The settings that kernels need and that no level changes."""

    neighbours: bool
    classic_reward: bool
    density_target: float
    divergence_coef: float
    heading_bias_fixed: bool
    spawn_clearance: float


def make_school(lanes: int, capacity: int) -> School:
    return School(
        fish_pos=aligned((lanes, capacity, 2), np.float32),
        fish_vel=aligned((lanes, capacity, 2), np.float32),
        death_step=aligned((lanes, capacity), np.int16),
        ended_death_step=aligned((lanes, capacity), np.int16),
        pred_pos=aligned((lanes, 2), np.float32),
        pred_vel=aligned((lanes, 2), np.float32),
        spawn_heading=np.zeros(lanes, np.float32),
        spawn_speed=np.zeros(lanes, np.float32),
        n_fish=np.zeros(lanes, np.int32),
        step_limit=np.zeros(lanes, np.int32),
        boost=np.zeros(lanes, np.float32),
        density_coef=np.zeros(lanes, np.float32),
        density_target=np.zeros(lanes, np.float32),
        total=np.zeros(lanes, np.float64),
    )

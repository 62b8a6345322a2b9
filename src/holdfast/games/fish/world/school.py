"""What a school is: the pool's constants, the arrays that hold N schools, and the rules a run has chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.kit.aligned import aligned

POOL_RADIUS = 10.0  # of a disc around (0, 0), unless another is chosen
TIME_STEP = 0.1
KILL_DISTANCE = 0.7
VISION = 10.0 / 3.0
NEIGHBOUR_RADIUS = 3.0
NEAREST = 6  # neighbours whose mean position a fish sees
LARGE_SCHOOL = 128  # from here on blocks of fish are compared first; fewer are quicker compared one by one

MAX_SPEED = 2.0
FORWARD, LEFT, RIGHT, BRAKE, KEEP = 0, 1, 2, 3, 4
ACTIONS = 5

OWN_NUMBERS = 11  # observations of the fish itself and the predator
CROWD_NUMBERS = 7  # observations of the neighbours, after those

COLUMNS = ("length", "return", "survival", "first_death", "step_one", "n_fish")
START = (  # of the predator: after its pre-roll (rad; distance from the centre), and after the first step
    "spawn_heading",
    "spawn_speed",
    "spawn_radius",
    "first_pred_x",
    "first_pred_y",
    "first_pred_vx",
    "first_pred_vy",
)
FISH, STEPS, BOOST, DENSITY = 0, 1, 2, 3  # places of the level parameters


class School(NamedTuple):
    """The state of N lanes beyond their clocks, with room for C fish each; fish from n_fish on are absent."""

    fish_pos: np.ndarray  # [N, C, 2] f32; a dead fish stays where it died
    fish_vel: np.ndarray  # [N, C, 2] f32
    death_step: np.ndarray  # [N, C] i16, -1 while living (and where absent)
    pred_pos: np.ndarray  # [N, 2] f32
    pred_vel: np.ndarray  # [N, 2] f32
    pred_heading: np.ndarray  # [N] f32, rad: of its velocity, kept at a standstill
    digest_left: np.ndarray  # [N] i16, steps in which a hunter that has eaten looks at nobody
    start: np.ndarray  # [N, 7] f32, how the predator began: see `START`
    n_fish: np.ndarray  # [N] i32, level of the current episode, as the next three
    step_limit: np.ndarray  # [N] i32
    boost: np.ndarray  # [N] f32
    density_coef: np.ndarray  # [N] f32
    density_target: np.ndarray  # [N] f32
    total: np.ndarray  # [N] f64, rewards so far of all fish together
    ended_death_step: np.ndarray  # [N, C] i16, of the episode that ended last, as the next two
    ended_fish_pos: np.ndarray  # [N, C, 2] f32, the last place of every fish: of a dead one, where it died
    ended_start: np.ndarray  # [N, 7] f32


class Rules(NamedTuple):
    """The settings that kernels need and that no level changes."""

    hunts: bool
    neighbours: bool
    classic_reward: bool
    density_target: float
    divergence_coef: float
    large_school: int
    heading_bias_fixed: bool
    spawn_clearance: float
    pool_radius: float
    view_radius: float  # of a hunter, as all that follow
    view_angle: float  # rad
    turn_max: float  # rad per step
    cruise_speed: float
    chase_speed: float
    accel: float  # per step
    digest_steps: int


def make_school(lanes: int, capacity: int) -> School:
    each, points, point = (lanes, capacity), (lanes, capacity, 2), (lanes, 2)
    return School(
        fish_pos=aligned(points, np.float32),
        fish_vel=aligned(points, np.float32),
        death_step=aligned(each, np.int16),
        pred_pos=aligned(point, np.float32),
        pred_vel=aligned(point, np.float32),
        pred_heading=np.zeros(lanes, np.float32),
        digest_left=np.zeros(lanes, np.int16),
        start=aligned((lanes, len(START)), np.float32),
        n_fish=np.zeros(lanes, np.int32),
        step_limit=np.zeros(lanes, np.int32),
        boost=np.zeros(lanes, np.float32),
        density_coef=np.zeros(lanes, np.float32),
        density_target=np.zeros(lanes, np.float32),
        total=np.zeros(lanes, np.float64),
        ended_death_step=aligned(each, np.int16),
        ended_fish_pos=aligned(points, np.float32),
        ended_start=aligned((lanes, len(START)), np.float32),
    )

"""The numbers kernels take from the settings, and how a side's observation is laid out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from holdfast.games.pursuit.world.duel import EVADER, PURSUER, for_kernels
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.worlds.spaces import HISTORY, LIDAR

ALL_ROUND = 4.0  # rad, beyond any bearing: no cone
ANY_DISTANCE = 1e9
FLAT, SENSOR = 0, 1  # kinds of observation
NO_TASK = -1

DT = 0.05  # s, length of a world step
ROBOT_RADIUS = 0.15  # m
LIDAR_RANGE = 5.0  # m
OMEGA_MAX = 2.84  # rad/s, largest turn rate
CIRCLE_GAP = 0.5  # m, least gap between circles, and from circles to walls
FLEE_SHARE, FLEE_SPEED = 0.5, 0.5  # of an evader's lessons of navigation; of the slow pursuer's largest speed in them
NOISE_LIDAR, NOISE_POSITION, NOISE_HEADING_DEG = 0.015, 0.005, 0.5  # m, m and degrees, under domain randomisation
NOISE_CIRCLES = 0.1  # m, largest error of observed circles per axis
SPEED_PRICE, TURN_PRICE = 150.0, 1.0  # of changes by the safety filter
GUARDED_POINT = 0.1  # m ahead of the centre
ROBOT_GAP = 0.35  # m, least distance of the centres where robots are kept apart
SAFETY_REFERENCE = 1.0  # barrier value that earns all of world.reward.safety

# How far arena and speed spread, as shares of their settings: 18-22 m and 0.85-1.15 m/s in the 20 m arena; 4.0-4.8 m
# and 0.18-0.26 m/s for a robot of 0.22 m/s in one of 4.4 m.
SPREAD = {
    "off": ((1.0, 1.0), (1.0, 1.0)),
    "arena": ((0.9, 1.1), (0.85, 1.15)),
    "robot": ((4.0 / 4.4, 4.8 / 4.4), (0.18 / 0.22, 0.26 / 0.22)),
}


class Rules(NamedTuple):
    """The settings that kernels need and that no level changes; `_p` and `_e` are pursuer and evader."""

    plays_p: bool  # somebody learns this side: its observation is needed
    plays_e: bool
    task_side: int  # the side that learns to navigate, or NO_TASK
    flee_share: float
    flee_speed: float
    half_w: float
    half_h: float
    dt: float
    hold: int
    capture_radius: float
    robot_radius: float
    v_max_p: float
    v_max_e: float
    omega_max: float
    prep_steps: int
    timeout_truncates: bool
    fixed_speed: bool
    obstacles_least: int  # -1: always all
    circle_r_min: float
    circle_r_max: float
    circle_gap: float
    sight: int  # FLAT or SENSOR
    masks_p: bool
    masks_e: bool
    sense_radius: float
    half_cone: float  # rad
    occludes: bool
    mask_by_step: bool
    circles_seen: int
    time_left: bool
    sincos: bool
    recalls_p: bool  # what was last seen is told
    recalls_e: bool
    judges: bool  # where the opponent is is told to the critic
    believed: int  # numbers at the end of a sight that nobody is shown
    mirrors: bool
    history: int
    remembers_lidar: bool
    rays: int
    lidar_range: float
    lidar_noise: float
    distance_scale: float
    capture_bonus: float
    timeout_penalty: float
    discounted: bool
    gamma: float
    w_vis: float
    vis_ignores_cone: bool
    w_search: float
    t_stale: int
    w_occlusion: float
    visibility_weight: float  # 0: off
    survival_bonus: float
    w_approach: float
    w_collision: float
    w_wall: float
    w_safety: float
    h_ref: float
    w_cbf: float
    w_interv: float
    randomises: bool
    arena_low: float
    arena_high: float
    speed_low: float
    speed_high: float
    gain_spread: float
    delay_max: float
    tau0: float
    position_noise: float
    heading_noise: float  # rad
    circle_shift: float
    filters_p: bool
    filters_e: bool
    decay: float
    root_w_v: float  # square roots of the prices of changes
    root_w_omega: float
    point: float
    body_margin: float  # added to the square of a circle's radius
    guards_robot: bool
    robot_gap: float


def make_rules(settings: PursuitSettings) -> Rules:
    s = settings
    masked, randomises, filters = s.obs != "flat", s.randomise != "off", s.filter
    arena, speed = SPREAD[s.randomise]
    return Rules(
        plays_p=s.play != "evader",
        plays_e=s.play != "pursuer",
        task_side=NO_TASK if s.task == "duel" else (PURSUER if s.play == "pursuer" else EVADER),
        flee_share=FLEE_SHARE if s.play == "evader" else 0.0,
        flee_speed=FLEE_SPEED,
        half_w=s.arena_w / 2.0,
        half_h=s.arena_h / 2.0,
        dt=DT,
        hold=s.hold,
        capture_radius=s.capture_radius,
        robot_radius=ROBOT_RADIUS,
        v_max_p=s.v_max_pursuer,
        v_max_e=s.v_max_evader,
        omega_max=OMEGA_MAX,
        prep_steps=s.prep_steps,
        timeout_truncates=s.timeout_as == "truncated",
        fixed_speed=s.fixed_speed,
        obstacles_least=-1 if s.circles_least is None else s.circles_least,
        circle_r_min=s.circles_radius[0],
        circle_r_max=s.circles_radius[1],
        circle_gap=CIRCLE_GAP,
        sight=SENSOR if s.obs == "sensor" else FLAT,
        masks_p=masked,
        masks_e=masked and s.mask_roles == "both",
        sense_radius=ANY_DISTANCE if s.sense_radius is None else s.sense_radius,
        half_cone=ALL_ROUND if s.fov_deg >= 360.0 else math.radians(s.fov_deg) / 2.0,
        occludes=s.occlusion,
        mask_by_step=s.mask_unit == "step",
        circles_seen=s.circles_observed,
        time_left=s.time_left,
        sincos=s.heading == "sincos",
        recalls_p=recalled_size(s, PURSUER) > 0,
        recalls_e=recalled_size(s, EVADER) > 0,
        judges=s.critic == "full" and masked,
        believed=believed_size(s),
        mirrors=s.mirror,
        history=s.history,
        remembers_lidar=s.history_lidar,
        rays=s.lidar_rays,
        lidar_range=LIDAR_RANGE,
        lidar_noise=NOISE_LIDAR if randomises else s.lidar_noise,
        distance_scale=s.reward_distance,
        capture_bonus=s.reward_capture,
        timeout_penalty=s.reward_timeout,
        discounted=s.reward_shaping == "discounted",
        gamma=s.reward_shaping_gamma if s.reward_shaping == "discounted" else 1.0,
        w_vis=s.reward_visibility,
        vis_ignores_cone=s.reward_visibility_rule == "range_los",
        w_search=s.reward_search,
        t_stale=s.reward_search_stale,
        w_occlusion=s.reward_occlusion,
        visibility_weight=s.reward_hiding,
        survival_bonus=s.reward_survival,
        w_approach=s.reward_approach,
        w_collision=s.reward_collision,
        w_wall=s.reward_wall,
        w_safety=s.reward_safety,
        h_ref=SAFETY_REFERENCE,
        w_cbf=s.reward_unsafe,
        w_interv=s.reward_intervention,
        randomises=randomises,
        arena_low=arena[0],
        arena_high=arena[1],
        speed_low=speed[0],
        speed_high=speed[1],
        gain_spread=s.noise_gain,
        delay_max=s.noise_delay,
        tau0=s.noise_time_constant,
        position_noise=NOISE_POSITION if randomises else 0.0,
        heading_noise=math.radians(NOISE_HEADING_DEG) if randomises else 0.0,
        circle_shift=NOISE_CIRCLES,
        filters_p=filters in ("both", "pursuer"),
        filters_e=filters in ("both", "evader"),
        decay=s.safety_decay,
        root_w_v=math.sqrt(SPEED_PRICE),
        root_w_omega=math.sqrt(TURN_PRICE),
        point=GUARDED_POINT,
        body_margin=GUARDED_POINT**2 if s.safety_body else 0.0,
        guards_robot=s.safety_robots,
        robot_gap=ROBOT_GAP,
    )


def as_record(rules: Rules) -> np.ndarray:
    """[1] the same as a record, which kernels pass as a pointer."""
    dtype = np.dtype([(name, np.dtype(type(value))) for name, value in rules._asdict().items()], align=True)
    return for_kernels(np.array([tuple(rules)], dtype))


def masked(settings: PursuitSettings, side: int) -> bool:
    return settings.obs != "flat" and (side == PURSUER or settings.mask_roles == "both")


def sensor_size(settings: PursuitSettings) -> int:
    """Numbers of one sensor vector: pose, speed, turn rate, distance and bearing, then the lidar."""
    return (8 if settings.heading == "sincos" else 7) + settings.lidar_rays


def observation_parts(settings: PursuitSettings, side: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Name and shape of the parts of a side's observation, in their order."""
    if settings.obs == "sensor":
        one = sensor_size(settings)
        state, lidar = one - settings.lidar_rays + settings.time_left, settings.lidar_rays
        state += recalled_size(settings, side)
        parts: list[tuple[str, tuple[int, ...]]] = [("state", (state,)), (LIDAR, (lidar,))]
        if settings.history:
            parts.append((HISTORY, (settings.history, one if settings.history_lidar else one - lidar)))
        believed = (("belief", (believed_size(settings),)),) if believed_size(settings) else ()
        return (*parts, *_judging_part(settings, side), *believed)
    poses = 17 if settings.heading == "sincos" else 14
    numbers = poses + masked(settings, side) + settings.time_left + 2 * settings.circles_observed
    return (("state", (numbers + recalled_size(settings, side),)), *_judging_part(settings, side))


def recalled_size(settings: PursuitSettings, side: int) -> int:
    """Numbers about where the opponent was last seen."""
    if not settings.recall or not masked(settings, side) or (side != PURSUER and settings.recall_roles == "pursuer"):
        return 0
    return 6 if settings.heading == "sincos" else 4


def _judging_part(settings: PursuitSettings, side: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    numbers = judging_size(settings, side)
    return (("critic", (numbers,)),) if numbers else ()


def judging_size(settings: PursuitSettings, side: int) -> int:
    """Numbers only values are learned from: the opponent's, and whether it sees this side."""
    if settings.critic == "own" or not masked(settings, side):
        return 0
    return 10 if settings.heading == "sincos" else 8


def believed_size(settings: PursuitSettings) -> int:
    """Numbers that beliefs are about: how far ahead and how far to the left the opponent is."""
    return 2 if settings.belief and settings.obs == "sensor" else 0


def observation_size(settings: PursuitSettings, side: int) -> int:
    return sum(math.prod(shape) for _, shape in observation_parts(settings, side))

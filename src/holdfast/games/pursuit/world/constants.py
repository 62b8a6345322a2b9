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
        flee_share=s.flee_share if s.play == "evader" else 0.0,
        flee_speed=s.flee_speed,
        half_w=s.arena_w / 2.0,
        half_h=s.arena_h / 2.0,
        dt=s.dt,
        hold=s.hold,
        capture_radius=s.capture_radius,
        robot_radius=s.robot_radius,
        v_max_p=s.v_max_pursuer,
        v_max_e=s.v_max_evader,
        omega_max=s.omega_max,
        prep_steps=s.prep_steps,
        timeout_truncates=s.timeout_as == "truncated",
        fixed_speed=s.fixed_speed,
        obstacles_least=-1 if s.obstacles_least is None else s.obstacles_least,
        circle_r_min=s.circle_r_min,
        circle_r_max=s.circle_r_max,
        circle_gap=s.circle_gap,
        sight=SENSOR if s.obs == "sensor" else FLAT,
        masks_p=masked,
        masks_e=masked and s.mask_roles == "both",
        sense_radius=ANY_DISTANCE if s.sense_radius is None else s.sense_radius,
        half_cone=ALL_ROUND if s.fov_deg >= 360.0 else math.radians(s.fov_deg) / 2.0,
        occludes=s.occlusion,
        mask_by_step=s.mask_unit == "step",
        circles_seen=s.circles_seen,
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
        lidar_range=s.lidar_range,
        lidar_noise=s.dr_lidar_noise if randomises else s.lidar_noise,
        distance_scale=s.distance_scale,
        capture_bonus=s.capture_bonus,
        timeout_penalty=s.timeout_penalty,
        discounted=s.shaping == "discounted",
        gamma=s.shaping_gamma if s.shaping == "discounted" else 1.0,
        w_vis=s.w_vis_pursuer,
        vis_ignores_cone=s.vis_rule == "range_los",
        w_search=s.w_search,
        t_stale=s.t_stale,
        w_occlusion=s.w_occlusion,
        visibility_weight=s.visibility_weight if s.use_visibility else 0.0,
        survival_bonus=s.survival_bonus,
        w_approach=s.w_obs_approach,
        w_collision=s.w_collision,
        w_wall=s.w_wall,
        w_safety=s.w_safety,
        h_ref=s.h_ref,
        w_cbf=s.w_cbf,
        w_interv=s.w_interv,
        randomises=randomises,
        arena_low=arena[0],
        arena_high=arena[1],
        speed_low=speed[0],
        speed_high=speed[1],
        gain_spread=s.dr_gain,
        delay_max=s.dr_delay,
        tau0=s.dr_tau0,
        position_noise=s.dr_position_noise if randomises else 0.0,
        heading_noise=math.radians(s.dr_heading_noise) if randomises else 0.0,
        circle_shift=s.dr_circle_shift,
        filters_p=filters in ("both", "pursuer"),
        filters_e=filters in ("both", "evader"),
        decay=s.cbf_decay,
        root_w_v=math.sqrt(s.cbf_w_v),
        root_w_omega=math.sqrt(s.cbf_w_omega),
        point=s.cbf_point,
        body_margin=s.cbf_point**2 if s.cbf_body else 0.0,
        guards_robot=s.cbf_robot,
        robot_gap=s.cbf_r_min,
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
    numbers = poses + masked(settings, side) + settings.time_left + 2 * settings.circles_seen
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

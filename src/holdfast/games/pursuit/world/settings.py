"""The options of the pursuit world, each with its meaning; `checks.py` tells which do not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.config.options import option
from holdfast.games.pursuit.world.duel import ROOM

MASKED = ("world.obs", ("flat_masked", "sensor"))
FLAT = ("world.obs", ("flat", "flat_masked"))
SENSOR = ("world.obs", ("sensor",))
FILTERED = ("world.filter", ("both", "pursuer", "evader"))
RANDOMISED = ("world.randomise", ("arena", "robot"))
NAVIGATION = ("world.task", ("navigate",))
ONE_SIDE = ("world.play", ("pursuer", "evader"))
HIDING = ("world.use_visibility", (True,))
DISCOUNTED = ("world.shaping", ("discounted",))
Sides = Literal["both", "pursuer", "evader"]


@dataclass(frozen=True)
class PursuitSettings:
    """A pursuer against an evader: caught within `capture_radius`, escaped at the end of the time."""

    play: Sides = option("both", "the sides that policies play; the other follows world.opponent")
    opponent: Literal["random", "still", "greedy", "intercept", "flee", "corner", "orbit", "wall_slide"] = option(
        "random", "script of the side that is not played", only=ONE_SIDE
    )
    task: Literal["duel", "navigate"] = option(
        "duel", "navigate: reach goals, or flee from a slow pursuer; a first lesson for one side with the same sight"
    )
    flee_share: float = option(
        0.5, "share of an evader's lessons that are about fleeing", low=0.0, high=1.0, only=NAVIGATION
    )
    flee_speed: float = option(
        0.5, "speed of the slow pursuer in them, as a share of its largest", low=0.0, high=1.0, only=NAVIGATION
    )

    arena_w: float = option(20.0, "width of the arena, m", low=2.0, high=1000.0)
    arena_h: float = option(20.0, "height of the arena, m", low=2.0, high=1000.0)
    dt: float = option(0.05, "length of a world step, s", low=0.001, high=1.0)
    max_steps: int = option(1200, "world steps after which the evader has escaped", low=1, high=1_000_000)
    hold: int = option(1, "world steps for which an action is kept", low=1, high=100)
    capture_radius: float = option(0.5, "centres this near: captured, m", low=0.01)
    robot_radius: float = option(0.15, "of both robots, m", low=0.01)
    v_max_pursuer: float = option(1.0, "largest speed of the pursuer, m/s", low=0.01, high=100.0)
    v_max_evader: float = option(1.0, "largest speed of the evader, m/s", low=0.01, high=100.0)
    omega_max: float = option(2.84, "largest turn rate, rad/s", low=0.01, high=100.0)
    prep_steps: int = option(0, "steps at the start in which the pursuer may only turn", low=0)
    timeout_as: Literal["terminated", "truncated"] = option(
        "terminated", "how an escape ends; truncated values what would follow, on top of the timeout's reward"
    )
    fixed_speed: bool = option(False, "policies choose the turn rate only and drive at their largest speed")

    spawn_min: float = option(3.0, "least distance at the start, m", low=0.0)
    spawn_max: float = option(15.0, "largest distance at the start, m", low=0.0)
    obstacles: int = option(0, "circles in the arena", low=0, high=ROOM)
    obstacles_least: int | None = option(
        None,
        "draw the number of circles from this to world.obstacles for each duel; none = always all",
        low=0,
        high=ROOM,
    )
    circle_r_min: float = option(0.3, "least radius of a circle, m", low=0.01)
    circle_r_max: float = option(1.0, "largest radius of a circle, m", low=0.01)
    circle_gap: float = option(0.5, "least gap between circles, and from circles to walls, m", low=0.0)

    obs: Literal["flat", "flat_masked", "sensor"] = option(
        "sensor", "flat: everything; flat_masked: the opponent only while visible; sensor: that and lidar, with history"
    )
    sense_radius: float | None = option(10.0, "how far the opponent is seen, m; none = any", low=0.1, only=MASKED)
    fov_deg: float = option(120.0, "whole angle of view, degrees; 360 = all round", low=1.0, high=360.0, only=MASKED)
    occlusion: bool = option(True, "circles hide the opponent", only=MASKED)
    mask_roles: Literal["both", "pursuer"] = option("both", "whose sight is limited", only=MASKED)
    mask_unit: Literal["step", "episode"] = option(
        "step", "how long a draw of the levels full_pursuer and full_evader holds", only=MASKED
    )
    recall: bool = option(
        False, "also tell where the opponent was last seen, how it faced or moved, and how long ago", only=MASKED
    )
    recall_roles: Literal["both", "pursuer"] = option("both", "who is told that", only=("world.recall", (True,)))
    critic: Literal["own", "full"] = option(
        "own", "full: values are learned from where the opponent is, seen or not; choices are not", only=MASKED
    )
    belief: bool = option(
        False,
        "give policies that believe something (policy.encoder) where the opponent is to learn from; nobody is shown it",
        only=SENSOR,
    )
    mirror: bool = option(
        False,
        "each side is told each duel as it is or as in a mirror, by chance: four ways, in a square arena eight",
    )
    circles_seen: int = option(3, "nearest circles in the observation", low=0, high=ROOM, only=FLAT)
    allow_blind: bool = option(False, "permit circles that nobody observes", only=FLAT)
    time_left: bool = option(True, "observe the share of the time that is left")
    heading: Literal["angle", "sincos"] = option(
        "angle", "how headings are observed; sincos, flat: bearings too, and the opponent's heading against the own"
    )
    history: int = option(10, "sensor vectors in the observation", low=0, high=100, only=SENSOR)
    history_lidar: bool = option(
        True, "those vectors hold their lidar; false: only pose, speed, turn rate, distance and bearing", only=SENSOR
    )
    lidar_rays: int = option(36, "rays of the lidar", low=1, high=360, only=SENSOR)
    lidar_range: float = option(5.0, "reach of the lidar, m", low=0.1, only=SENSOR)
    lidar_noise: float = option(0.02, "deviation of its ranges, m", low=0.0, only=SENSOR)

    distance_scale: float = option(1.0, "pay for closing in over the whole diagonal")
    capture_bonus: float = option(100.0, "the pursuer's reward for a capture")
    timeout_penalty: float = option(-100.0, "the pursuer's reward for an escape")
    shaping: Literal["discounted", "plain"] = option("discounted", "distance rewards as potentials; plain: differences")
    shaping_gamma: float = option(
        0.995, "discount of the potentials; give the learner's", low=0.5, high=1.0, only=DISCOUNTED
    )
    w_vis_pursuer: float = option(0.0, "the pursuer's reward for seeing the evader, per step")
    vis_rule: Literal["sensor", "range_los"] = option("sensor", "range_los: ignore the cone in that reward")
    w_search: float = option(0.0, "the pursuer's reward for looking where it has not looked lately", low=0.0)
    t_stale: int = option(50, "steps until a cell is wholly stale", low=1)
    w_occlusion: float = option(0.0, "the evader's reward while a circle is between", low=0.0)
    use_visibility: bool = option(False, "pay the evader for being hidden instead, in duels with circles")
    visibility_weight: float = option(1.0, "that reward: this hidden, minus this in sight", low=0.0, only=HIDING)
    survival_bonus: float = option(0.0, "the evader's reward per step")
    w_obs_approach: float = option(0.0, "pay the evader for nearing circles, over the whole diagonal")
    w_collision: float = option(0.0, "cost of a step against a circle", low=0.0)
    w_wall: float = option(0.0, "cost of a step against a wall", low=0.0)
    w_safety: float = option(0.0, "pay for distance from what the filter guards", low=0.0, only=FILTERED)
    h_ref: float = option(1.0, "barrier value that earns all of it", low=0.001, only=FILTERED)
    w_cbf: float = option(0.0, "cost of unsafe intentions", low=0.0, only=FILTERED)
    w_interv: float = option(0.0, "cost of actions the filter changed", low=0.0, only=FILTERED)
    allow_dominant: bool = option(False, "permit rewards that outweigh the outcome")

    randomise: Literal["off", "arena", "robot"] = option(
        "off", "draw motors, noise, arena and speeds for each duel; robot: with the spread of a 4.4 m arena"
    )
    dr_gain: float = option(0.2, "motor gain is within 1 plus or minus this", low=0.0, high=0.9, only=RANDOMISED)
    dr_delay: float = option(0.05, "largest delay of a command, s", low=0.0, high=1.0, only=RANDOMISED)
    dr_tau0: float = option(0.0, "time constant of the motors at mass 1 and friction 0.5, s", low=0.0, only=RANDOMISED)
    dr_lidar_noise: float = option(
        0.015, "deviation of lidar ranges instead of world.lidar_noise, m", low=0.0, only=RANDOMISED
    )
    dr_position_noise: float = option(
        0.005, "deviation of the own position seen, m", low=0.0, high=0.1, only=RANDOMISED
    )
    dr_heading_noise: float = option(
        0.5, "deviation of the own heading seen, degrees", low=0.0, high=10.0, only=RANDOMISED
    )
    dr_circle_shift: float = option(0.1, "largest error of observed circles per axis, m", low=0.0, only=RANDOMISED)

    filter: Literal["both", "pursuer", "evader", "none"] = option(
        "both", "whose actions are kept from walls and circles"
    )
    cbf_decay: float = option(0.2, "share of its distance a step may use up", low=0.001, high=1.0, only=FILTERED)
    cbf_w_v: float = option(150.0, "price of a changed speed", low=0.001, only=FILTERED)
    cbf_w_omega: float = option(1.0, "price of a changed turn rate", low=0.001, only=FILTERED)
    cbf_point: float = option(0.1, "the guarded point is this far ahead of the centre, m", low=0.001, only=FILTERED)
    cbf_body: bool = option(True, "circles are guarded for the whole body; false: for the point alone", only=FILTERED)
    cbf_robot: bool = option(False, "keep robots apart too, which hinders captures", only=FILTERED)
    cbf_r_min: float = option(0.35, "their least distance, m", low=0.01, only=("world.cbf_robot", (True,)))

"""The options of the pursuit world, each with its meaning; `checks.py` tells which do not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from holdfast.config.options import option
from holdfast.games.pursuit.world.duel import ROOM

MASKED = ("world.obs", ("flat_masked", "sensor"))
FLAT = ("world.obs", ("flat", "flat_masked"))
SENSOR = ("world.obs", ("sensor",))
FILTERED = ("world.filter", ("both", "pursuer", "evader"))
RANDOMISED = ("world.randomise", ("arena", "robot"))
NAVIGATION = ("world.task", ("navigate",))
ONE_SIDE = ("world.play", ("pursuer", "evader"))
DISCOUNTED = ("world.reward.shaping", ("discounted",))
Sides = Literal["both", "pursuer", "evader"]


@dataclass(frozen=True)
class PursuitSettings:
    """A pursuer against an evader: caught within `capture_radius`, escaped at the end of the time."""

    expert: ClassVar = True
    tables: ClassVar = ("circles", "lidar", "reward", "noise", "safety")

    play: Sides = option("both", "Sides that policies play; the other side follows world.opponent.")
    opponent: Literal["random", "still", "greedy", "intercept", "flee", "corner", "orbit", "wall_slide"] = option(
        "random",
        "Script of the side that no policy plays.",
        only=ONE_SIDE,
    )
    task: Literal["duel", "navigate"] = option(
        "duel",
        "Task. duel: pursuit and evasion; navigate: reach goals, or flee from a slow pursuer, as a first lesson "
        "for one side with the same observation.",
    )

    arena_w: float = option(20.0, "Width of the arena, along x.", low=2.0, high=1000.0, unit="m")
    arena_h: float = option(20.0, "Height of the arena, along y.", low=2.0, high=1000.0, unit="m")
    max_steps: int = option(
        1200,
        "Number of world steps of 0.05 s after which the evader has escaped.",
        low=1,
        high=1_000_000,
        unit="world steps",
    )
    hold: int = option(
        1,
        "Number of world steps that an action is held for. Raise it for fewer, longer decisions.",
        low=1,
        high=100,
        unit="world steps",
    )
    capture_radius: float = option(
        0.5,
        "Distance between the centres at which the evader is captured.",
        low=0.01,
        unit="m",
    )
    v_max_pursuer: float = option(1.0, "Largest speed of the pursuer.", low=0.01, high=100.0, unit="m/s")
    v_max_evader: float = option(
        1.0,
        "Largest speed of the evader. The ratio to the pursuer's decides who is favoured.",
        low=0.01,
        high=100.0,
        expert=False,
        unit="m/s",
    )
    prep_steps: int = option(
        0,
        "Number of initial world steps in which the pursuer may only turn.",
        low=0,
        unit="world steps",
        example="40",
    )
    timeout_as: Literal["terminated", "truncated"] = option(
        "terminated",
        "Whether an escape terminates the episode or truncates it; truncated bootstraps the value of what would "
        "follow, on top of the timeout's reward.",
    )
    fixed_speed: bool = option(False, "Let policies choose the turn rate only and drive at their largest speed.")

    spawn_min: float = option(3.0, "Smallest distance between the robots at the start.", low=0.0, unit="m")
    spawn_max: float = option(15.0, "Largest distance between the robots at the start.", low=0.0, unit="m")
    obstacles: int = option(
        0,
        "Number of circular obstacles in the arena.",
        low=0,
        high=ROOM,
        expert=False,
        example="3",
    )
    circles_least: int | None = option(
        None,
        "Draw the number of circles of each duel from this up to world.obstacles; none: always world.obstacles.",
        low=0,
        high=ROOM,
        example="1",
    )
    circles_radius: tuple[float, ...] = option(
        (0.3, 1.0), "Smallest and largest radius of a circle.", low=0.01, unit="m", example="0.5,0.8"
    )

    obs: Literal["flat", "flat_masked", "sensor"] = option(
        "sensor",
        "Observation. sensor: lidar, and the opponent while visible; flat: both poses and the nearest circles; "
        "flat_masked: flat, the opponent only while visible.",
        expert=False,
    )
    sense_radius: float | None = option(
        10.0,
        "Distance up to which the opponent is seen; none: any.",
        low=0.1,
        only=MASKED,
        unit="m",
    )
    fov_deg: float = option(120.0, "Field of view, the whole angle; 360: all round.", low=1.0, high=360.0, only=MASKED)
    occlusion: bool = option(True, "Let circles hide the opponent.", only=MASKED)
    mask_roles: Literal["both", "pursuer"] = option("both", "Sides whose view of the opponent is limited.", only=MASKED)
    mask_unit: Literal["step", "episode"] = option(
        "step",
        "How long a draw of whether the opponent is fully observed holds, in levels with full_pursuer and "
        "full_evader: one step or the episode.",
        only=MASKED,
    )
    recall: bool = option(
        False,
        "Also observe where the opponent was last seen, its heading or velocity then, and how long ago.",
        only=MASKED,
    )
    recall_roles: Literal["both", "pursuer"] = option(
        "both",
        "Sides that observe world.recall.",
        only=("world.recall", (True,)),
    )
    critic: Literal["own", "full"] = option(
        "own",
        "Observation of the value function. full: it also has the opponent's true pose, seen or not; the policy "
        "does not.",
        only=MASKED,
    )
    belief: bool = option(
        False,
        "Provide the opponent's true position as the training target of policy.encoder = belief; no policy "
        "observes it.",
        only=SENSOR,
    )
    mirror: bool = option(
        False,
        "Show each side each duel as it is or mirrored, by chance, so that no policy can rely on one direction: "
        "four symmetries, eight in a square arena.",
    )
    circles_observed: int = option(3, "Number of nearest circles in a flat observation.", low=0, high=ROOM, only=FLAT)
    time_left: bool = option(True, "Observe the fraction of the time that is left.")
    heading: Literal["angle", "sincos"] = option(
        "angle",
        "Encoding of angles: as numbers, or as sine and cosine (for flat also bearings, and the opponent's "
        "heading relative to the own).",
    )
    history: int = option(
        10,
        "Number of past sensor vectors in the observation.",
        low=0,
        high=100,
        only=SENSOR,
        unit="steps",
    )
    history_lidar: bool = option(
        True,
        "Keep the lidar in the past sensor vectors; false: only pose, speed, turn rate, distance and bearing.",
        only=SENSOR,
    )
    lidar_rays: int = option(36, "Number of rays of the lidar.", low=1, high=360, only=SENSOR)
    lidar_noise: float = option(0.02, "Standard deviation of lidar ranges.", low=0.0, only=SENSOR, unit="m")

    reward_distance: float = option(1.0, "Pursuer's reward for closing in over the whole diagonal of the arena.")
    reward_capture: float = option(100.0, "Pursuer's reward for a capture; the evader gets its negative.")
    reward_timeout: float = option(-100.0, "Pursuer's reward for an escape; the evader gets its negative.")
    reward_shaping: Literal["discounted", "plain"] = option(
        "discounted",
        "Form of the distance reward. discounted: potential differences, which change no optimal policy; plain: "
        "differences of distance.",
    )
    reward_shaping_gamma: float = option(
        0.995,
        "Discount factor of the potentials; use learner.gamma.",
        low=0.5,
        high=1.0,
        only=DISCOUNTED,
    )
    reward_visibility: float = option(0.0, "Pursuer's reward per step for seeing the evader.", example="0.01")
    reward_visibility_rule: Literal["sensor", "range_los"] = option(
        "sensor",
        "Test of whether the pursuer observes the evader, for world.reward.visibility: the sensor with its cone, or "
        "range and occlusion alone.",
    )
    reward_search: float = option(
        0.0,
        "Pursuer's reward for looking where it has not looked lately.",
        low=0.0,
        example="0.1",
    )
    reward_search_stale: int = option(
        50,
        "Number of steps until a cell of the arena counts as wholly unseen for world.reward.search.",
        low=1,
        unit="steps",
    )
    reward_occlusion: float = option(
        0.0,
        "Evader's reward per step while a circle is between the robots.",
        low=0.0,
        example="0.02",
    )
    reward_hiding: float = option(
        0.0,
        "Evader's reward per step in duels with circles: plus this while hidden, minus this while seen; 0 disables.",
        low=0.0,
        example="0.01",
    )
    reward_survival: float = option(0.0, "Evader's reward per step.", example="0.003")
    reward_approach: float = option(
        0.0,
        "Evader's reward for nearing circles, over the whole diagonal of the arena.",
        example="1",
    )
    reward_collision: float = option(0.0, "Cost of a step against a circle.", low=0.0, example="0.1")
    reward_wall: float = option(0.0, "Cost of a step against a wall.", low=0.0, example="0.1")
    reward_safety: float = option(
        0.0,
        "Reward for distance from what the safety filter guards.",
        low=0.0,
        only=FILTERED,
        example="0.01",
    )
    reward_unsafe: float = option(
        0.0,
        "Cost of intended actions that are unsafe.",
        low=0.0,
        only=FILTERED,
        example="0.1",
    )
    reward_intervention: float = option(
        0.0,
        "Cost of actions that the safety filter changed.",
        low=0.0,
        only=FILTERED,
        example="0.1",
    )
    reward_allow_dominant: bool = option(False, "Allow shaping rewards that outweigh the outcome of a duel.")

    randomise: Literal["off", "arena", "robot"] = option(
        "off",
        "Domain randomisation: draw motors, noise, arena and speeds for each duel. robot: with the spread of a "
        "4.4 m arena.",
    )
    noise_gain: float = option(
        0.2,
        "Spread of the motors' gain around 1 under domain randomisation.",
        low=0.0,
        high=0.9,
        only=RANDOMISED,
    )
    noise_delay: float = option(
        0.05,
        "Largest delay of a command under domain randomisation.",
        low=0.0,
        high=1.0,
        only=RANDOMISED,
        unit="s",
    )
    noise_time_constant: float = option(
        0.0,
        "Time constant of the motors at mass 1 and friction 0.5 under domain randomisation.",
        low=0.0,
        only=RANDOMISED,
        unit="s",
        example="0.1",
    )

    filter: Literal["both", "pursuer", "evader", "none"] = option(
        "both",
        "Sides whose actions a safety filter keeps away from walls and circles.",
    )
    safety_decay: float = option(
        0.2,
        "Fraction of its distance that a robot may use up per step under the safety filter. Lower is more cautious.",
        low=0.001,
        high=1.0,
        only=FILTERED,
    )
    safety_body: bool = option(
        True,
        "Guard the whole body against circles; false: only a point ahead of the centre.",
        only=FILTERED,
    )
    safety_robots: bool = option(False, "Keep the robots apart too, which hinders captures.", only=FILTERED)

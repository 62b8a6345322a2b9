"""The shell around the pool's rules: settings, spec, yardsticks and picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.config.options import option
from holdfast.games.fish.game import GAME
from holdfast.games.fish.world import dealt, decks, rules, scripted
from holdfast.games.fish.world.resized import resized
from holdfast.games.fish.world.school import (
    ACTIONS,
    COLUMNS,
    CROWD_NUMBERS,
    LARGE_SCHOOL,
    OWN_NUMBERS,
    POOL_RADIUS,
    START,
    Rules,
    School,
    make_school,
)
from holdfast.kit.compiled import announced, use_threads
from holdfast.kit.errors import SituationError
from holdfast.worlds.api import Act, ArrayWorld, Episodes, LevelParameter, Role, Situation, WorldSpec
from holdfast.worlds.bounds import Bounds
from holdfast.worlds.spaces import Discrete, Observations

LONGEST = 32767  # death steps are int16

# All observations are within 1 but the predator's velocity, which is in units of 2. A hunter's is bounded by options. A
# classic one's has no limit of its own: its energy v²/2 - y/2 begins below 8, falls by 0.00125 in a free step and grows
# by less than 0.004 in one at the wall, so its speed stays below 5.5 for 500 steps. In 2000 pools of 32767 steps it was
# never above 4.6. In a wider pool it falls further: half a unit of v²/2 for each of y.
SIGHT_BOUND = 3.0

FASTEST_HUNTER = 5.0

CLASSIC_REWARD = ("world.reward", ("classic",))
HUNT = ("world.rules", ("hunt",))


@dataclass(frozen=True)
class FishSettings:
    """A school in a round pool; one predator; every fish decides for itself."""

    expert: ClassVar = True

    rules: Literal["classic", "hunt"] = option(
        "classic",
        "Rules of the predator. classic: it drifts upwards and chases no fish; hunt: it turns towards the "
        "nearest fish.",
        expert=False,
    )
    fish: int = option(25, "Number of fish in each lane.", low=1, high=10_000, expert=False)
    steps: int = option(
        500,
        "Truncate episodes after this many steps.",
        low=1,
        high=LONGEST,
        expert=False,
        unit="steps",
    )
    neighbours: bool = option(True, "Let fish observe each other: 18 numbers instead of 11.")
    reward: Literal["survive", "classic"] = option(
        "survive",
        "Reward. survive: -1 on death; classic: a reward for distance to the predator, -50 on death.",
    )
    boost: float = option(
        0.75,
        "Initial speed of fish, away from the centre; 0: a random velocity.",
        low=0.0,
        high=1.0,
        unit="of the top speed 2",
    )
    density_coef: float = option(
        0.0,
        "Coefficient of the cost of crowding in the classic reward.",
        low=0.0,
        high=100.0,
        only=CLASSIC_REWARD,
    )
    density_target: float = option(
        0.4,
        "Number of neighbours / 6 that costs nothing.",
        low=0.0,
        high=200.0,
        only=CLASSIC_REWARD,
    )
    divergence_coef: float = option(
        0.0,
        "Coefficient of the reward for neighbours that swim away, in the classic reward.",
        low=-100.0,
        high=100.0,
        only=CLASSIC_REWARD,
    )
    heading_bias_fixed: bool = option(False, "Let the classic predator also start towards 330 to 360 degrees.")
    spawn_clearance: float = option(
        0.0,
        "Smallest initial distance of a fish to the predator.",
        low=0.0,
        high=5.0,
        unit="pool units",
    )
    pool_radius: float = option(
        POOL_RADIUS,
        "Radius of the round pool; fish start within 0.8 of it. Raise it for large schools.",
        low=5.0,
        high=1000.0,
        unit="pool units",
    )
    view_radius: float = option(
        4.0,
        "Distance up to which the hunting predator sees fish.",
        low=0.0,
        high=20.0,
        only=HUNT,
        unit="pool units",
    )
    view_angle: float = option(
        math.pi,
        "Angle to either side up to which the hunting predator sees fish.",
        low=0.0,
        high=math.pi,
        only=HUNT,
        unit="rad",
    )
    turn_max: float = option(
        0.12,
        "Largest turn of the hunting predator per step.",
        low=0.0,
        high=math.pi,
        only=HUNT,
        unit="rad",
    )
    cruise_speed: float = option(
        1.0,
        "Speed of the hunting predator without a target.",
        low=0.0,
        high=FASTEST_HUNTER,
        only=HUNT,
        unit="pool units per s",
    )
    chase_speed: float = option(
        2.4,
        "Speed of the hunting predator after a target.",
        low=0.0,
        high=FASTEST_HUNTER,
        only=HUNT,
        unit="pool units per s",
    )
    accel: float = option(
        0.2,
        "Largest change of the hunting predator's speed per step.",
        low=0.0,
        high=FASTEST_HUNTER,
        only=HUNT,
        unit="pool units per s",
    )
    digest_steps: int = option(
        0,
        "Number of steps after a kill in which the hunting predator follows no fish.",
        low=0,
        high=LONGEST,
        only=HUNT,
        unit="steps",
    )


def sight_bound(pool_radius: float) -> float:
    return math.sqrt(SIGHT_BOUND**2 + max(pool_radius - POOL_RADIUS, 0.0) / 4.0)


def fish_spec(settings: FishSettings) -> WorldSpec:
    numbers = OWN_NUMBERS + CROWD_NUMBERS if settings.neighbours else OWN_NUMBERS
    bound = sight_bound(settings.pool_radius)
    sight = Observations((numbers,), np.dtype(np.float32), -bound, bound)
    level = [
        LevelParameter("fish", settings.fish, 1, settings.fish, "how many fish swim"),
        LevelParameter("steps", settings.steps, 1, LONGEST, "step limit"),
        LevelParameter("boost", settings.boost, 0.0, 1.0, "first speed away from the centre, in units of 2"),
    ]
    if settings.reward == "classic":
        level.append(LevelParameter("density_coef", settings.density_coef, 0.0, 100.0, "cost of crowded water"))
    return WorldSpec(
        name="fish",
        version=2,
        roles=(Role("fish", settings.fish, sight, Discrete(ACTIONS)),),
        columns=COLUMNS,
        score="survival",
        level=tuple(level),
    )


def fish_rules(settings: FishSettings) -> Rules:
    return Rules(
        hunts=settings.rules == "hunt",
        neighbours=settings.neighbours,
        classic_reward=settings.reward == "classic",
        density_target=settings.density_target,
        divergence_coef=settings.divergence_coef,
        large_school=LARGE_SCHOOL,
        heading_bias_fixed=settings.heading_bias_fixed,
        spawn_clearance=settings.spawn_clearance,
        pool_radius=settings.pool_radius,
        view_radius=settings.view_radius,
        view_angle=settings.view_angle,
        turn_max=settings.turn_max,
        cruise_speed=settings.cruise_speed,
        chase_speed=settings.chase_speed,
        accel=settings.accel,
        digest_steps=settings.digest_steps,
    )


FARTHEST = 1e6


class Fish(ArrayWorld):
    """N schools with room for `settings.fish` fish each."""

    Settings = FishSettings
    game = GAME
    AGREE = ("rules", "pool_radius")
    LEFT = (*ArrayWorld.LEFT, "ended_death_step", "ended_fish_pos", "ended_start")
    state: School

    def __init__(self, settings: FishSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(fish_spec(settings), lanes, seed, threads, make_school(lanes, settings.fish))
        self.settings = settings
        self.fish = self.roles["fish"]
        self.rules = fish_rules(settings)
        with announced("fish", rules.__file__):
            self._begin(np.empty(0, np.int64))
            self.step({"fish": np.empty((0, settings.fish), np.int64)})

    @classmethod
    def spec_for(cls, settings: FishSettings) -> WorldSpec:
        return fish_spec(settings)

    def bounds(self) -> dict[str, Bounds]:
        """How many fish there are decides how far kernels go; -1 is the death step of who lives."""
        step = (0, np.iinfo(np.int16).max)
        far = (-FARTHEST, FARTHEST)  # beyond any pool: what a direction or a distance is computed from stays finite
        return {
            **dict.fromkeys(("fish_pos", "fish_vel", "pred_pos", "pred_vel"), far),
            "n_fish": (0, self.settings.fish),
            "death_step": (-1, step[1]),
            "ended_death_step": (-1, step[1]),
            "digest_left": step,
            "step_limit": (0, LONGEST),
        }

    def _begin(self, lanes: np.ndarray) -> None:
        rules.begin(self.clock, self.state, self.fish, self.rules, lanes)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        use_threads(self.threads)
        rules.step(self.clock, self.state, self.fish, actions["fish"], self.rules)

    def finished(self) -> Episodes:
        """Beside the numbers, per episode: when and where each fish died (or was at the end), how the predator began,
        and where it was after the first step."""
        table = super().finished()
        lanes = table["lane"]
        start = dict(zip(START, self.state.ended_start[lanes].T, strict=True))
        fates = {"death_step": self.state.ended_death_step[lanes], "fish_pos": self.state.ended_fish_pos[lanes]}
        return Episodes({**table.columns, **fates, **start})

    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        """As any world; the situation may come from one with room for more or fewer fish."""
        if (situation.world, situation.version) == (self.spec.name, self.spec.version):
            situation = resized(situation, self.settings.fish, exact)
        super().load(lanes, situation, exact)

    def begin_from(self, lanes: np.ndarray, situation: Situation) -> None:
        lanes = dealt.as_lanes(lanes)
        super().begin_from(lanes, self._unseen(situation))
        decks.obey_level(self, lanes)
        dealt.look_again(self.state, self.fish, self.rules, lanes)

    def begin_moving(self, lanes: np.ndarray, velocities: np.ndarray, pre_roll: bool) -> None:
        """A predator of these velocities: at the first step, or before its pre-roll."""
        lanes = dealt.as_lanes(lanes)
        if (self.clock.t[lanes] != 0).any():
            raise SituationError("a velocity can be given only to a lane that has just begun an episode")
        given = np.array(velocities, np.float64).reshape(len(lanes), 2)
        dealt.begin_moving(self.clock, self.state, self.fish, self.rules, lanes, given, bool(pre_roll))

    def scaled(self, situation: Situation, factor: float) -> Situation:
        return decks.scaled_schools(situation, factor)

    def opponent_velocities(self, situation: Situation) -> np.ndarray | None:
        return situation.rows["pred_vel"]

    def situation_facts(self, situation: Situation) -> dict[str, Any]:
        return decks.school_facts(self, situation)

    def check_situation(self, situation: Situation) -> None:
        decks.check_shapes(self, situation)
        decks.check_schools(situation, self.settings.pool_radius)
        super().check_situation(self._unseen(situation))

    def _completed(self, situation: Situation, lanes: np.ndarray) -> Situation:
        return resized(super()._completed(situation, lanes), self.settings.fish, exact=False)

    def _unseen(self, situation: Situation) -> Situation:
        return decks.without_sight(situation, self.fish.obs.shape[2])

    def yardsticks(self) -> dict[str, Act]:
        return {**super().yardsticks(), **scripted.POLICIES}

    def draw(self, lane: int) -> np.ndarray:
        """The pool from above; see `draw.picture`."""
        from holdfast.games.fish.world.draw import picture  # Pillow is only needed here

        return picture(self.state, self.fish.alive, self.settings.pool_radius, int(self.clock.t[lane]), lane)

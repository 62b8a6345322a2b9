"""A world of one's own in one file: rules, options, metrics and a curriculum, trained like the worlds that come along.

A lamp stands in a corridor, at most `distance` cells to the left or right; the walker sees where and must step onto it.
The curriculum begins with near lamps and moves them away as soon as enough of them are reached.

python examples/own_world.py            or, from this folder: holdfast train own_world:Corridor --ramp.goal 0.9
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import holdfast as hf

LEFT, STAY, RIGHT = 0, 1, 2
FARTHEST = 20  # cells between walker and lamp
DISTANCE_STREAM, SIDE_STREAM = 1, 2  # of random numbers


# --- options ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CorridorSettings:
    """Find the lamp: +1 on it, a small cost per step."""

    distance: int = hf.option(FARTHEST, "cells between walker and lamp, at most", low=1, high=FARTHEST)
    steps: int = hf.option(40, "an episode is truncated after this many steps", low=1)


@dataclass(frozen=True)
class RampSettings:
    """Lamps move away while they are reached."""

    start: int = hf.option(2, "largest distance at the beginning, in cells", low=1, high=FARTHEST)
    step: int = hf.option(3, "cells by which it grows", low=1)
    goal: float = hf.option(0.8, "share of an iteration's episodes that must reach the lamp", low=0.0, high=1.0)


# --- curriculum -------------------------------------------------------------------------------------------------------


class Ramp(hf.Curriculum):
    """The largest distance of new training episodes. Evaluations are always played at the world's own."""

    def __init__(self, settings: RampSettings, farthest: int) -> None:
        self.settings, self.farthest = settings, farthest
        self.distance = min(settings.start, farthest)

    def begin(self, run: Any, is_new: bool) -> list[str]:
        if is_new:
            self._set(run.state.world)
            run.state.world.reset()
        return []

    def plan(self, run: Any) -> Any:
        self._set(run.state.world)
        return super().plan(run)

    def _set(self, world: hf.World) -> None:
        world.plan(world.chosen(None), hf.LevelPlan({"distance": self.distance}))

    def observe(self, run: Any, played: Any, row: dict[str, float | int]) -> dict[str, float | int]:
        reached = row.get("episode.reached", 0.0)
        if reached >= self.settings.goal and self.distance < self.farthest:
            self.distance = min(self.distance + self.settings.step, self.farthest)
            run.decision("level", distance=self.distance, reached=reached)
        return {"curriculum.distance": self.distance}

    def facts(self) -> dict[str, Any]:
        return {"distance": self.distance}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.distance = facts["distance"]


def ramp(run: Any, state: Any) -> tuple[hf.Curriculum, hf.EpisodeJudge]:
    return Ramp(run.config.section(RampSettings), run.config.world.distance), hf.EpisodeJudge()


# --- world ------------------------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """The state of a lane beyond its clock."""

    lamp: np.ndarray  # [N] i64, cells to the right of the walker
    total: np.ndarray  # [N] f64, return so far


class Corridor(hf.ArrayWorld):
    """N corridors."""

    Settings = CorridorSettings
    game = hf.Game(
        sections={"ramp": RampSettings},
        curriculum=ramp,
        metrics=(hf.Metric("curriculum.distance", "cells", "largest distance of new training episodes"),),
    )

    def __init__(self, settings: CorridorSettings, lanes: int, seed: int, threads: int = 1) -> None:
        spec = hf.WorldSpec(
            name="corridor",
            version=1,
            roles=(hf.Role("walker", 1, hf.Observations((1,), np.dtype(np.float32), -2.0, 2.0), hf.Discrete(3)),),
            columns=("length", "return", "reached"),
            score="return",
            level=(hf.LevelParameter("distance", settings.distance, 1, FARTHEST, "largest distance of the lamp"),),
        )
        super().__init__(spec, lanes, seed, threads, Walk(np.zeros(lanes, np.int64), np.zeros(lanes)))
        self.settings = settings
        self.walker = self.roles["walker"]

    def _begin(self, lanes: np.ndarray) -> None:
        for lane in lanes.tolist():
            hf.next_episode(self.clock, lane)
            key = self.clock.episode_key[lane]
            away = 1 + hf.integer(key, DISTANCE_STREAM, 0, self.clock.level[lane, 0])
            self.state.lamp[lane] = away if hf.uniform(key, SIDE_STREAM, 0) < 0.5 else -away
            self.state.total[lane] = 0.0
            self.walker.alive[lane, 0] = True
        self._observe(lanes)

    def _observe(self, lanes: np.ndarray) -> None:
        self.walker.obs[lanes, 0, 0] = np.clip(self.state.lamp[lanes] / FARTHEST, -2.0, 2.0)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        clock, everyone = self.clock, self.chosen(None)
        clock.t[:] += 1
        self.state.lamp[:] -= actions["walker"][:, 0] - STAY
        clock.terminated[:] = self.state.lamp == 0
        clock.truncated[:] = ~clock.terminated & (clock.t >= self.settings.steps)
        self.walker.reward[:, 0] = clock.terminated - 0.02
        self.state.total[:] += self.walker.reward[:, 0]
        self._observe(everyone)
        self._end(np.flatnonzero(clock.terminated | clock.truncated))

    def _end(self, lanes: np.ndarray) -> None:
        """Keep what these episodes leave behind, and begin the next ones in the same step."""
        clock = self.clock
        clock.ended_key[lanes] = clock.episode_key[lanes]
        clock.ended[lanes] = np.stack([clock.t[lanes], self.state.total[lanes], clock.terminated[lanes]], 1)
        self.walker.final_obs[lanes] = self.walker.obs[lanes]
        self.walker.final_alive[lanes] = True
        self._begin(lanes)

    def bounds(self) -> dict[str, Any]:
        return {"lamp": (-FARTHEST - self.settings.steps, FARTHEST + self.settings.steps)}

    def yardsticks(self) -> dict[str, Any]:
        return {**super().yardsticks(), "straight": walk_straight}

    def draw(self, lane: int) -> np.ndarray:
        """The walker in the middle, the lamp where it is."""
        picture = np.full((24, 16 * (2 * FARTHEST + 1), 3), 24, np.uint8)
        for cell, colour in ((self.state.lamp[lane], (240, 180, 60)), (0, (90, 160, 250))):
            left = 16 * (int(np.clip(cell, -FARTHEST, FARTHEST)) + FARTHEST)
            picture[4:20, left + 2 : left + 14] = colour
        return picture


def walk_straight(world: hf.World) -> dict[str, np.ndarray]:
    assert isinstance(world, Corridor)
    return {"walker": (np.sign(world.state.lamp) + STAY)[:, None]}


if __name__ == "__main__":
    small = {"run.iterations": 20, "rollout.lanes": 64, "rollout.steps": 32, "learner.lr": 3e-3, "evaluation.every": 10}
    run = hf.train(Corridor, small, quiet=True)
    table = run.metrics()
    print("largest distance in training:", table.column("curriculum.distance").to_pylist())
    for name, score in run.result.scores.items():
        print(f"{name}: {score.mean:.3f} [{score.low:.3f}, {score.high:.3f}]")
    policy = run.policy()
    print("with the lamp five cells to the left it goes", ["left", "nowhere", "right"][policy.act(np.array([-5 / 20]))])

"""The shell around the track's rules: settings, spec, picture, and the answer that a learner must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holdfast.config.options import option
from holdfast.kit.compiled import announced, use_threads
from holdfast.worlds.api import Act, ArrayWorld, LevelParameter, Role, World, WorldSpec
from holdfast.worlds.bounds import LONGEST, Bounds
from holdfast.worlds.spaces import Discrete, Observations
from holdfast.worlds.template import rules
from holdfast.worlds.template.rules import CELLS


@dataclass(frozen=True)
class TrackSettings:
    """Walk to the marked cell: +1 on arrival, a small cost per step."""

    expert: ClassVar = True

    far: int = option(7, "Largest distance from start to target.", low=1, high=CELLS - 1, unit="cells")
    slip: float = option(0.0, "Probability that chance picks the action instead of the agent.", low=0.0, high=0.9)
    steps: int = option(32, "Truncate episodes after this many steps.", low=1, unit="steps")
    step_cost: float = option(0.01, "Cost of every step, subtracted from the reward.", low=0.0, high=1.0)


def track_spec(settings: TrackSettings) -> WorldSpec:
    sight = Observations((2 * CELLS,), np.dtype(np.float32), 0.0, 1.0)
    return WorldSpec(
        name="template",
        version=1,
        roles=(Role("player", 1, sight, Discrete(rules.ACTIONS)),),
        columns=("length", "return", "arrived"),
        score="return",
        level=(
            LevelParameter("far", settings.far, 1, CELLS - 1, "largest distance from start to target"),
            LevelParameter("slip", settings.slip, 0.0, 0.9, "probability of a chance action"),
            LevelParameter("steps", settings.steps, 1, 1e6, "step limit"),
        ),
    )


class Template(ArrayWorld):
    """N tracks. The optimal return is known exactly: `optimal_return`."""

    Settings = TrackSettings
    state: rules.Track

    def __init__(self, settings: TrackSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(track_spec(settings), lanes, seed, threads, rules.make_track(lanes))
        self.settings = settings
        self.player = self.roles["player"]
        with announced("template", rules.__file__):
            self._begin(np.empty(0, np.int64))
            self.step({"player": np.empty((0, 1), np.int64)})

    @classmethod
    def spec_for(cls, settings: TrackSettings) -> WorldSpec:
        return track_spec(settings)

    def _begin(self, lanes: np.ndarray) -> None:
        use_threads(self.threads)
        rules.begin(self.clock, self.state, self.player, lanes)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        use_threads(self.threads)
        rules.step(self.clock, self.state, self.player, actions["player"], self.settings.step_cost)

    def bounds(self) -> dict[str, Bounds]:
        cell = (0, CELLS - 1)
        return {"position": cell, "target": cell, "slip": (0.0, 0.9), "step_limit": (0, LONGEST)}

    def yardsticks(self) -> dict[str, Act]:
        return {**super().yardsticks(), "optimal": walk_to_target}

    def draw(self, lane: int) -> np.ndarray:
        """Eight cells; the target's frame is amber, the player blue."""
        cell = 32
        picture = np.full((cell + 8, CELLS * cell + 8, 3), 24, np.uint8)
        for place in range(CELLS):
            left = 4 + place * cell
            picture[6 : 2 + cell, left + 2 : left + cell - 2] = 60
            if place == self.state.target[lane]:
                picture[6 : 2 + cell, left + 2 : left + cell - 2] = (240, 180, 60)
                picture[10 : cell - 2, left + 6 : left + cell - 6] = 60
            if place == self.state.position[lane]:
                picture[12 : cell - 4, left + 8 : left + cell - 8] = (90, 160, 250)
        return picture


def walk_to_target(world: World) -> dict[str, np.ndarray]:
    assert isinstance(world, Template)
    direction = np.sign(world.state.target - world.state.position)
    return {"player": (direction + rules.STAY).astype(np.int64)[:, None]}


def optimal_return(settings: TrackSettings) -> float:
    """The expected return of walking straight to the target, by backward induction over the steps left."""
    pairs = [
        (start, target, 1.0)
        for start in range(CELLS)
        for target in range(max(0, start - settings.far), min(CELLS, start + settings.far + 1))
        if target != start
    ]
    total = 0.0
    for start in range(CELLS):
        targets = [target for first, target, _ in pairs if first == start]
        total += sum(_value(settings, start, target) for target in targets) / len(targets) / CELLS
    return total


def _value(settings: TrackSettings, start: int, target: int) -> float:
    value = np.zeros(CELLS)  # of each cell with no step left
    places = np.arange(CELLS)
    for _ in range(settings.steps):
        after = [np.clip(places + move, 0, CELLS - 1) for move in (-1, 0, 1)]
        gains = [np.where(place == target, 1.0, value[place]) - settings.step_cost for place in after]
        chosen = np.choose(np.sign(target - places) + 1, gains)
        value = (1.0 - settings.slip) * chosen + settings.slip * sum(gains) / rules.ACTIONS
    return float(value[start])

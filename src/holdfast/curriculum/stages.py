"""The curriculum of a game of stages, as the training loop uses it: where episodes begin.

`starts.py` decides; here is only which arrays of the world it reaches, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config import Config
from holdfast.curriculum.deck_files import Source, write_deck
from holdfast.curriculum.live import Curriculum, Numbers
from holdfast.curriculum.starts import Starts
from holdfast.worlds.api import Episodes, Situation, World
from holdfast.worlds.mario.world import Mario

NO_LANES = np.empty(0, np.int64)


class StageCurriculum(Curriculum):
    """Start states along the stage."""

    def __init__(self, config: Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.starts = Starts(config.starts, config.rollout.lanes)
        self.deal = self._deal if config.starts.share > 0.0 else None
        self.world: Mario | None = None

    def open(self, world: World) -> list[str]:
        assert isinstance(world, Mario)
        self.world = world
        return []

    def prepare(self, world: World, iteration: int) -> np.ndarray:
        """Keep the lanes as they stand; none is restarted."""
        assert isinstance(world, Mario)
        self.world = world
        if self.deal is not None and iteration > 1:
            self.starts.keep(world.standing(), world.of_episode(world.save(world.chosen(None))))
        return NO_LANES

    def _deal(self, world: World, lanes: np.ndarray) -> None:
        """What came of the ended episodes is noted before their lanes may begin elsewhere."""
        numbers = {name: world.clock.ended[:, index] for index, name in enumerate(world.spec.columns)}
        for lane in lanes.tolist():
            room, room_x = int(numbers["rooms"][lane]), int(numbers["room_x"][lane])
            self.starts.ended(lane, bool(numbers["cleared"][lane]), room, room_x)
        draws = self.starts.draw(lanes, world.clock.lane_key, world.clock.episode_index)
        if draws:
            situations = [Situation(world.spec.name, world.spec.version, moment.rows) for _, moment in draws]
            world.begin_from(np.array([lane for lane, _ in draws]), Situation.joined(situations))

    def learned(self, iteration: int, episodes: Episodes | None, learner: Mapping[str, float | int]) -> Numbers:
        if self.deal is None:
            return {}
        return {
            "starts.share": self.starts.share,
            "starts.clear_rate": self.starts.clear_rate,
            "starts.moments": len(self.starts.moments),
            "starts.bins": len({moment.place for moment in self.starts.moments}),
            "starts.dealt": self.starts.dealt,
        }

    def conclude(self, episodes: Episodes, settings: Any) -> None:
        """Leave the moments as a deck."""
        if self.world is None or not self.starts.moments:
            return
        moments = self.starts.moments
        situations = Situation(self.world.spec.name, self.world.spec.version, self.starts.arrays())
        per_item = {name: np.array([getattr(one, name) for one in moments]) for name in ("room", "x", "tried", "won")}
        (self.folder / "decks").mkdir(exist_ok=True)
        source = Source(self.folder.name, self.config.run.iterations)
        write_deck(
            self.folder / "decks" / "starts.npz",
            self.world,
            self.config.world,
            situations.take(np.arange(len(moments))),
            source,
            f"{len(moments)} moments along the stage",
            per_item,
        )

    def facts(self) -> dict[str, Any]:
        return {"starts": self.starts.facts()}

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"starts/{name}": array for name, array in self.starts.arrays().items()}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        mine = {name.removeprefix("starts/"): array for name, array in arrays.items() if name.startswith("starts/")}
        self.starts.restore(facts["starts"], mine)

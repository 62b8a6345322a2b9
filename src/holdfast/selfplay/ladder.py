"""The levels of a run as the world understands them: rows of level parameters for training, tables for evaluations."""

from __future__ import annotations

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError
from holdfast.selfplay.levels import Level, levels
from holdfast.selfplay.rota import full_sight
from holdfast.worlds.api import Plan, WorldSpec

NEEDED = ("spawn_min", "spawn_max", "obstacles")


class Ladder:
    """From the index of a level to level parameters; without levels there is one, the world as it is set."""

    def __init__(self, config: Config, spec: WorldSpec) -> None:
        self.config, self.spec = config, spec
        self.names = [parameter.name for parameter in spec.level]
        self.levels: tuple[Level, ...] = ()
        if config.levels.kind != "none":
            missing = [name for name in NEEDED if name not in self.names]
            if missing:
                lacks = f"world {spec.name} has no level parameter {', '.join(missing)}"
                raise ConfigError([f"levels.kind = {config.levels.kind}: {lacks}"])
            self.levels = levels(config.levels, config.world.arena_w, config.world.arena_h)
        if config.duel.mask_steps and not self.masks:
            raise ConfigError([f"duel.mask_steps: nobody's sight is limited in world {spec.name} as it is set"])

    @property
    def masks(self) -> list[str]:
        return [name for name in self.names if name.startswith("full_")]

    @property
    def top(self) -> int:
        return max(0, len(self.levels) - 1)

    def label(self, index: int) -> str:
        return self.levels[index].label if self.levels else "the world as set"

    def name_of(self, index: int) -> str:
        """For a table: how far up it is, and what it is like."""
        return f"{index} of {self.top} ({self.label(index)})" if self.levels else self.label(index)

    def has_obstacles(self, index: int) -> bool:
        if self.levels:
            return self.levels[index].obstacles > 0
        return getattr(self.config.world, "obstacles", 0) > 0

    def table(self, index: int, sight: float) -> dict[str, float]:
        """Level parameters by name; `sight` is the share of full sight."""
        found: dict[str, float] = {}
        if self.levels:
            level = self.levels[index]
            found = {"spawn_min": level.nearest, "spawn_max": level.farthest, "obstacles": float(level.obstacles)}
        if self.config.duel.mask_steps:
            found |= dict.fromkeys(self.masks, sight)
        return found

    def row(self, index: int, sight: float) -> np.ndarray:
        """[L] in the world's order."""
        table = self.table(index, sight)
        return np.array([table.get(parameter.name, parameter.default) for parameter in self.spec.level])

    def plan(self, index: int) -> Plan:
        """For the world's own check that duels can start like this."""
        return Plan(self.table(index, self.final_sight))

    @property
    def final_sight(self) -> float:
        """What evaluations are played with: the end of the masking curriculum."""
        return self.config.duel.mask_residual if self.config.duel.mask_steps else 0.0

    def sight_at(self, steps: int) -> float:
        return full_sight(self.config.duel, steps)

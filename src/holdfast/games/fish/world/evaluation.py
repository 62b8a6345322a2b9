"""From the played episodes of an evaluation to what is measured of them: the floors of the same starts are added."""

from __future__ import annotations

import numpy as np

from holdfast.games.fish.world.fish import FishSettings
from holdfast.games.fish.world.floor import spawn_floor
from holdfast.games.fish.world.measure import EvaluatedSchools
from holdfast.kit.errors import WorldError
from holdfast.worlds.api import Episodes


def evaluated_schools(episodes: Episodes, settings: FishSettings) -> EvaluatedSchools:
    """`episodes` are whole ones from `finished()`, begun by their keys under these settings."""
    if (episodes["n_fish"] != settings.fish).any():
        raise WorldError(f"an evaluation of {settings.fish} fish holds episodes of another number of fish")
    keys = episodes["key"]
    return EvaluatedSchools(
        death_step=episodes["death_step"],
        step_limit=settings.steps,
        first_pred_vel=np.stack([episodes["first_pred_vx"], episodes["first_pred_vy"]], axis=1),
        floor_step_one=spawn_floor(settings, keys, depth=1).doomed,
        floor=spawn_floor(settings, keys).doomed,
    )

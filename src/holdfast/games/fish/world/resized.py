"""Saved schools in a world with room for more fish, or for fewer if all of theirs find a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.games.fish.world.school import FISH
from holdfast.kit.errors import SituationError
from holdfast.worlds.api import Situation

PER_FISH = ("fish_pos", "fish_vel", "death_step", "ended_death_step", "ended_fish_pos", "fish.obs", "fish.alive")
ABSENT = {"death_step": -1, "ended_death_step": -1}  # what absent fish hold; 0 in all other arrays


def resized(situation: Situation, capacity: int, exact: bool) -> Situation:
    """The same lanes with rows for `capacity` fish. `exact` also takes over the level, so that the next school must fit
    as well."""
    rows = situation.rows
    if any(name not in rows for name in (*PER_FISH, "n_fish", "level")) or rows["fish.alive"].shape[1:] == (capacity,):
        return situation  # what is wrong with it, if anything is, `load` will say
    largest = max(rows["n_fish"].max(), rows["level"][:, FISH].max() if exact else 0)
    if largest > capacity:
        raise SituationError(f"a saved school of {largest:.0f} fish does not fit a world with room for {capacity}")
    return replace(situation, rows={name: _fitted(name, array, capacity) for name, array in rows.items()})


def with_room(situation: Situation, capacity: int) -> Situation:
    """A deck's schools with rows for `capacity` fish, so that those of different sizes can be joined."""
    return replace(situation, rows={name: _fitted(name, array, capacity) for name, array in situation.rows.items()})


def _fitted(name: str, array: np.ndarray, capacity: int) -> np.ndarray:
    if name not in PER_FISH:
        return array
    kept = min(array.shape[1], capacity)
    fitted = np.full((array.shape[0], capacity, *array.shape[2:]), ABSENT.get(name, 0), array.dtype)
    fitted[:, :kept] = array[:, :kept]
    return fitted

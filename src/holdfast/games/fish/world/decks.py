"""Fish situations in decks: whether they are sound, how they are slowed down, and what a deck's manifest says of them.

Everything a manifest says is computed here from the situations themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.games.fish.world.measure import SECTOR_DEG, SECTORS, SPEED_BIN
from holdfast.games.fish.world.resized import PER_FISH
from holdfast.games.fish.world.school import DENSITY, STEPS
from holdfast.kit.errors import SituationError
from holdfast.worlds.api import Situation

if TYPE_CHECKING:
    from holdfast.games.fish.world.fish import Fish

START_SPEED = 1  # place of the predator's first speed in `start`
NEARLY = 1e-4  # positions at the wall are rounded
NEEDED = ("fish_pos", "death_step", "fish.alive", "n_fish", "t", "step_limit", "pred_pos")


def headings_deg(velocities: np.ndarray) -> np.ndarray:
    """[K] in [0, 360)."""
    found = np.degrees(np.arctan2(velocities[:, 1], velocities[:, 0])) % 360.0
    return np.where(found >= 360.0, 0.0, found)  # the remainder of a tiny negative angle rounds up to 360


def velocity_bins(velocities: np.ndarray) -> np.ndarray:
    """[K, 2] heading sector of 30 degrees, and speed bin of 0.4."""
    velocities = velocities.astype(np.float64)
    speed = np.hypot(velocities[:, 0], velocities[:, 1])
    return np.stack([headings_deg(velocities) // SECTOR_DEG, speed // SPEED_BIN], axis=1).astype(np.int64)


def velocity_facts(velocities: np.ndarray) -> dict[str, Any]:
    """Histograms over 12 headings and over speeds, from 0 up, and how many of the velocities differ."""
    bins = velocity_bins(velocities)
    return {
        "distinct_velocities": len(np.unique(velocities, axis=0)),
        "heading_histogram": np.bincount(bins[:, 0], minlength=SECTORS).tolist(),
        "speed_histogram": np.bincount(bins[:, 1]).tolist(),
    }


def school_facts(world: Fish, situation: Situation) -> dict[str, Any]:
    """Of the situations as they are: histograms, how many fish live, and the share of them that is doomed."""
    from holdfast.games.fish.world.floor import CLASSIC_DEPTH, doomed_fish

    room = type(world)(replace(world.settings, fish=situation.rows["fish.alive"].shape[1]), len(situation), seed=0)
    room.reset()
    room.begin_from(np.arange(room.lanes), situation)
    doomed = doomed_fish(room, 1 if room.rules.hunts else CLASSIC_DEPTH).sum()
    living = room.fish.alive.sum()
    return {
        **velocity_facts(situation.rows["pred_vel"]),
        "fish": sorted(set(situation.rows["n_fish"].tolist())),
        "living_share": float(living / situation.rows["n_fish"].sum()),
        "floor_share": float(doomed / living),
    }


def scaled_schools(situation: Situation, factor: float) -> Situation:
    """A predator of this many times the velocity; where an episode has not begun yet, its first speed is told so."""
    rows = dict(situation.rows)
    rows["pred_vel"] = (rows["pred_vel"].astype(np.float64) * factor).astype(np.float32)
    start = rows["start"].copy()
    first = rows["t"] == 0
    start[first, START_SPEED] = np.hypot(*rows["pred_vel"][first].astype(np.float64).T)
    return replace(situation, rows={**rows, "start": start})


def without_sight(situation: Situation, numbers: int) -> Situation:
    """With empty observations of the world it goes to: they are filled anew from where everyone is."""
    if "fish.alive" not in situation.rows:
        return situation  # what is wrong with it will be told when it is loaded
    sight = np.zeros((*situation.rows["fish.alive"].shape, numbers), np.float32)
    return replace(situation, rows={**situation.rows, "fish.obs": sight})


def obey_level(world: Fish, lanes: np.ndarray) -> None:
    """Episodes from a deck last no longer than the lane's others, and crowding costs what it costs now."""
    state, level = world.state, world.clock.level[lanes]
    state.step_limit[lanes] = np.minimum(
        state.step_limit[lanes], world.clock.t[lanes] + level[:, STEPS].astype(np.int32)
    )
    if world.rules.classic_reward:
        state.density_coef[lanes] = level[:, DENSITY]
        state.density_target[lanes] = world.rules.density_target


def check_shapes(world: Fish, situation: Situation) -> None:
    """SituationError unless every array is of the kind the world has, for one number of fish."""
    rows, problems = situation.rows, []
    for name, mine in world.arrays().items():
        if name not in rows:
            continue
        if rows[name].dtype != mine.dtype or rows[name].ndim != mine.ndim:
            problems.append(f"{name} is {rows[name].dtype} of {rows[name].ndim} axes, not {mine.dtype} of {mine.ndim}")
    rooms = {rows[name].shape[1] for name in PER_FISH if name in rows and rows[name].ndim > 1}
    if len(rooms) > 1:
        problems.append(f"arrays of fish have room for {' and '.join(map(str, sorted(rooms)))} fish")
    if problems:
        raise SituationError("saved lanes do not fit fish: " + "; ".join(problems))


def check_schools(situation: Situation, pool: float) -> None:
    """SituationError for numbers no school can have: kernels trust these arrays."""
    rows = situation.rows
    if any(name not in rows for name in NEEDED):
        return  # `check_situation` names what is missing
    present = np.arange(rows["fish.alive"].shape[1]) < rows["n_fish"][:, None]
    sound = {
        "n_fish is not between 1 and the fish there is room for": (rows["n_fish"] >= 1)
        & (rows["n_fish"] <= present.shape[1]),
        "fish.alive counts fish that are absent": (present | ~rows["fish.alive"]).all(axis=1),
        "fish.alive has a school without living fish": rows["fish.alive"].any(axis=1),
        "t is not from 0 to the step before step_limit": (rows["t"] >= 0) & (rows["t"] < rows["step_limit"]),
        "step_limit is too large": rows["step_limit"] <= np.iinfo(rows["death_step"].dtype).max,
        "fish_pos is outside the pool": _inside(rows["fish_pos"], pool).all(axis=1),
        "pred_pos is outside the pool": _inside(rows["pred_pos"], pool),
    }
    problems = [text for text, holds in sound.items() if not holds.all()]
    problems += [f"{name} is not finite" for name, array in rows.items() if not np.isfinite(array).all()]
    if problems:
        raise SituationError("no school can be like this: " + "; ".join(problems))


def _inside(place: np.ndarray, pool: float) -> np.ndarray:
    return ~(np.hypot(place[..., 0], place[..., 1]) > pool + NEARLY)

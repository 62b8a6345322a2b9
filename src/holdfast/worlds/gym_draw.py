"""Pictures of foreign environments; where they have none, of what the agent sees."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np

from holdfast.kit.errors import SnapshotUnsupported
from holdfast.worlds.gym_make import Environment, copied

BAR, HEIGHT, GAP = 12, 120, 4
GROUND, MIDDLE, COLOUR = 24, 60, (90, 160, 250)


def rendered(environment: Environment, name: str) -> np.ndarray | None:
    """The environment's own picture, or None if it makes none.

    Drawing leaves windows and clocks behind that cannot be copied, so it is a copy that draws.
    """
    if environment.render_mode != "rgb_array":
        return None
    try:
        picture = _render_copy(environment, name)
    except gymnasium.error.DependencyNotInstalled as error:
        warnings.warn(f"{name} is drawn as bars: {error}", stacklevel=2)
        return None
    return as_picture(picture)


def _render_copy(environment: Environment, name: str) -> Any:
    try:
        twin = copied(environment, name)
    except SnapshotUnsupported:
        return environment.render()  # it could not be saved before, so nothing is lost
    try:
        return twin.render()
    finally:
        twin.close()


def as_picture(picture: Any) -> np.ndarray | None:
    array = np.asarray(picture)
    if array.ndim != 3 or array.shape[2] != 3:
        return None
    return array.astype(np.uint8)


def sight_picture(seen: np.ndarray) -> np.ndarray:
    """An image as it is, anything else as one bar per number, up for positive."""
    if seen.ndim == 3:
        first = seen[:, :, : 3 if seen.shape[2] >= 3 else 1]
        return np.ascontiguousarray(np.broadcast_to(first, (*seen.shape[:2], 3)), np.uint8)
    return _bars(np.nan_to_num(seen.astype(np.float64)))


def _bars(values: np.ndarray) -> np.ndarray:
    """Heights relative to the largest number."""
    picture = np.full((HEIGHT, max(1, len(values)) * (BAR + GAP) + GAP, 3), GROUND, np.uint8)
    middle = HEIGHT // 2
    picture[middle] = MIDDLE
    tallest = max(1.0, float(np.abs(values).max(initial=0.0)))
    for index, value in enumerate(values):
        left = GAP + index * (BAR + GAP)
        top, bottom = sorted((middle, middle - round(value / tallest * (middle - GAP))))
        picture[top:bottom, left : left + BAR] = COLOUR
    return picture

"""Foreign spaces as ours: what a Gymnasium environment shows becomes one array, what it expects is made of one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from holdfast.kit.errors import WorldError
from holdfast.worlds.spaces import Actions, Continuous, Discrete, MultiDiscrete, Observations


class Sight(NamedTuple):
    """Our observation space, and how a foreign observation becomes a row of it."""

    space: Observations
    convert: Callable[[Any], np.ndarray]


class Controls(NamedTuple):
    """Our action space, and how a row of it becomes a foreign action."""

    space: Actions
    convert: Callable[[Any], Any]


def sight_of(space: gymnasium.Space, name: str) -> Sight:
    """Byte images stay [height, width, channels]; everything else becomes a vector of float32."""
    if _is_image(space):
        return _image_sight(space)
    if isinstance(space, gymnasium.spaces.Box):
        return _box_sight(space)
    if not space.is_np_flattenable:
        raise WorldError(f"{name}: observation space {space} cannot be made one array; wrap the environment")
    flat = gymnasium.spaces.flatten_space(space)
    assert isinstance(flat, gymnasium.spaces.Box)

    def convert(seen: Any) -> np.ndarray:
        return numeric(gymnasium.spaces.flatten(space, seen)).astype(np.float32)

    return Sight(_vector(flat), convert)


def _is_image(space: gymnasium.Space) -> bool:
    return isinstance(space, gymnasium.spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3


def _image_sight(space: gymnasium.Space) -> Sight:
    """Stacked grey frames come with the channels first, as the smallest axis: they are moved to the end."""
    assert space.shape is not None
    wanted = space.shape
    height, width, channels = wanted
    channels_first = height < min(width, channels)
    shape = (width, channels, height) if channels_first else wanted

    def convert(seen: Any) -> np.ndarray:
        picture = numeric(seen)
        if picture.shape != wanted:
            raise ValueError(f"the observation has shape {picture.shape}, the space says {wanted}")
        return np.moveaxis(picture, 0, -1) if channels_first else picture

    return Sight(Observations(shape, np.dtype(np.uint8), 0.0, 255.0), convert)


def _box_sight(space: gymnasium.spaces.Box) -> Sight:
    wanted = space.shape

    def convert(seen: Any) -> np.ndarray:
        array = numeric(seen)
        if array.shape != wanted:
            raise ValueError(f"the observation has shape {array.shape}, the space says {wanted}")
        return array.reshape(-1)

    return Sight(_vector(space), convert)


def numeric(seen: Any) -> np.ndarray:
    """An observation as an array of numbers."""
    array = np.asarray(seen)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the observation is of type {array.dtype}, not of numbers")
    return array


def _vector(space: gymnasium.spaces.Box) -> Observations:
    size = int(np.prod(space.shape))
    low, high = np.float32(space.low.min()), np.float32(space.high.max())  # rounded as the observations will be
    return Observations((size,), np.dtype(np.float32), float(low), float(high))


def controls_of(space: gymnasium.Space, name: str) -> Controls:
    """Choices keep their number, several choices and numbers are one flat row."""
    match space:
        case gymnasium.spaces.Discrete():
            start = space.start
            return Controls(Discrete(int(space.n)), lambda chosen: start + chosen)
        case gymnasium.spaces.MultiDiscrete():
            starts, shape = space.start, space.shape
            counts = tuple(int(count) for count in space.nvec.ravel())
            return Controls(MultiDiscrete(counts), lambda row: row.reshape(shape).astype(space.dtype) + starts)
        case gymnasium.spaces.MultiBinary():
            shape = space.shape
            bits = (2,) * int(np.prod(shape))
            return Controls(MultiDiscrete(bits), lambda row: row.reshape(shape).astype(space.dtype))
        case gymnasium.spaces.Box() if np.issubdtype(space.dtype, np.floating):
            return _box_controls(space, name)
    raise WorldError(
        f"{name}: action space {space} is not supported; Discrete, MultiDiscrete, MultiBinary and Box of floats are"
    )


def _box_controls(space: gymnasium.spaces.Box, name: str) -> Controls:
    if not space.is_bounded():
        raise WorldError(f"{name}: action space {space} has no bounds; wrap the environment so that it has")
    low, high = space.low, space.high
    bounds = Continuous(tuple(low.ravel().astype(float).tolist()), tuple(high.ravel().astype(float).tolist()))

    def convert(row: Any) -> np.ndarray:
        # rounding a bound of float64 to float32 may leave the space by a hair
        return np.clip(row.reshape(space.shape).astype(space.dtype), low, high)

    return Controls(bounds, convert)

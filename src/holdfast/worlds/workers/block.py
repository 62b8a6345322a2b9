"""Memory that a worker and its supervisor both map: one action in, one observation and its numbers out.

It is an anonymous file handed to the worker when it starts, so there is no name that could be left behind. The worker
gives it its size once it has built its environment and knows the spaces.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, NamedTuple

import numpy as np

from holdfast.worlds.spaces import Actions, Continuous, Discrete, MultiDiscrete, Observations

LINE = 64
REWARD, TERMINATED, TRUNCATED, NUMBERS = 0, 1, 2, 3


class Layout(NamedTuple):
    """The spaces of a foreign environment, and how many bytes of RAM it shows."""

    observations: Observations
    actions: Actions
    ram_bytes: int

    def as_json(self) -> dict[str, Any]:
        sight = self.observations
        return {
            "observations": [list(sight.shape), sight.dtype.str, sight.low, sight.high],
            "actions": [type(self.actions).__name__, *self.actions],
            "ram_bytes": self.ram_bytes,
        }


def layout_from(table: dict[str, Any]) -> Layout:
    shape, kind, low, high = table["observations"]
    sight = Observations(tuple(shape), np.dtype(kind), low, high)
    return Layout(sight, _actions_from(*table["actions"]), table["ram_bytes"])


def _actions_from(kind: str, *parts: Any) -> Actions:
    if kind == "Discrete":
        return Discrete(parts[0])
    if kind == "MultiDiscrete":
        return MultiDiscrete(tuple(parts[0]))
    return Continuous(tuple(parts[0]), tuple(parts[1]))


def action_row(actions: Actions) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of one action."""
    if isinstance(actions, Discrete):
        return (), np.dtype(np.int64)
    return (len(actions),), np.dtype(np.float32 if isinstance(actions, Continuous) else np.int64)


def _padded(size: int) -> int:
    return -(-size // LINE) * LINE


class Block:
    """Views of the shared memory."""

    def __init__(self, file: int, layout: Layout) -> None:
        shape, kind = action_row(layout.actions)
        sight = layout.observations
        parts: list[tuple[tuple[int, ...], np.dtype]] = [
            (shape, kind),
            ((NUMBERS,), np.dtype(np.float64)),
            (sight.shape, sight.dtype),
            ((layout.ram_bytes,), np.dtype(np.uint8)),
        ]
        sizes = [_padded(int(np.prod(part)) * each.itemsize) for part, each in parts]
        self.size = sum(sizes)
        if os.fstat(file).st_size < self.size:
            os.ftruncate(file, self.size)
        memory = mmap.mmap(file, self.size)
        starts = np.cumsum([0, *sizes])[:-1]
        views = [
            np.ndarray(part, each, memory, offset=int(start)) for (part, each), start in zip(parts, starts, strict=True)
        ]
        self.action, self.numbers, self.obs, self.ram = views


def is_picture_size(size: Any) -> bool:
    """Height and width that a worker may say its picture has."""
    return isinstance(size, list) and len(size) == 2 and all(type(one) is int and 0 < one <= 1 << 14 for one in size)


def write_picture(file: int, block: Block, picture: np.ndarray) -> None:
    os.pwrite(file, np.ascontiguousarray(picture).tobytes(), block.size)


def read_picture(file: int, block: Block, height: int, width: int) -> np.ndarray:
    content = os.pread(file, height * width * 3, block.size)
    return np.frombuffer(content, np.uint8).reshape(height, width, 3).copy()

"""What agents see and may do: three kinds of action, a way to learn one of them, and one kind of observation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LIDAR, HISTORY = "lidar", "history"  # names of parts: ranges all round; vectors, the newest last


class Observations(NamedTuple):
    """An array of this shape; `low` and `high` hold for every number in it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    low: float
    high: float
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()  # names and shapes of what a vector is made of, in its order
    judging: int = 0  # numbers at the end for learning values only: whoever acts does not see them
    believed: int = 0  # numbers behind them that a belief learns to tell: nobody is shown them

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def acting(self) -> int:
        """How many numbers choices are made from."""
        return self.judged - self.judging

    @property
    def judged(self) -> int:
        """How many numbers values are learned from."""
        return self.size - self.believed

    @property
    def is_image(self) -> bool:
        """Images are [height, width, channels] of bytes."""
        return len(self.shape) == 3 and self.dtype == np.uint8


class Discrete(NamedTuple):
    """One choice of n; actions are int64 [N, A]."""

    n: int


class MultiDiscrete(NamedTuple):
    """Several choices at once; actions are int64 [N, A, K]."""

    counts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.counts)


class Continuous(NamedTuple):
    """Numbers between bounds; actions are float32 [N, A, K], already clipped to the bounds."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.low)


class Grid(NamedTuple):
    """One choice of the points of a box: learned as a number (int64 [N, A]), told to a world as `Continuous`."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]  # evenly spaced values of each number, both ends among them

    @property
    def n(self) -> int:
        return int(np.prod(self.counts))

    def points(self) -> np.ndarray:
        """[n, K] float32, the last number changing first."""
        values = [np.linspace(*ends) for ends in zip(self.low, self.high, self.counts, strict=True)]
        return np.stack(np.meshgrid(*values, indexing="ij"), -1).reshape(self.n, -1).astype(np.float32)


Actions = Discrete | MultiDiscrete | Continuous | Grid

"""What agents see and may do: three kinds of action and one kind of observation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Observations(NamedTuple):
    """An array of this shape; `low` and `high` hold for every number in it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    low: float
    high: float
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()  # names and shapes of what a vector is made of, in its order

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

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


Actions = Discrete | MultiDiscrete | Continuous

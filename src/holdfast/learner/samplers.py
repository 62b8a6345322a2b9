"""Draw places with probability in proportion to priority ** alpha: twins in torch and in NumPy.

A running sum in float64 and a binary search: one pass over the priorities, which at 200,000 of them takes less than the
gradient it feeds, and needs no tree that must be kept in step. Both get their chances from one saved generator.
"""

from __future__ import annotations

import numpy as np
import torch


def draw_with_torch(priority: np.ndarray, alpha: float, chances: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Places [M] for chances [M] in [0, 1), and the probability of each."""
    shares = torch.from_numpy(priority).double().pow_(alpha)
    sums = shares.cumsum(0)
    places = torch.searchsorted(sums, chances * sums[-1], right=True).clamp_(max=len(shares) - 1)
    return places.numpy(), (shares[places] / sums[-1]).numpy()


def draw_with_numpy(priority: np.ndarray, alpha: float, chances: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    shares = priority.astype(np.float64) ** alpha
    sums = np.cumsum(shares)
    places = np.minimum(np.searchsorted(sums, chances.numpy() * sums[-1], side="right"), len(shares) - 1)
    return places, shares[places] / sums[-1]


SAMPLERS = {"device": draw_with_torch, "numpy": draw_with_numpy}

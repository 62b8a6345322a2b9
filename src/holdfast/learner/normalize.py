"""Running mean and deviation of observations and returns, saved with the weights they belong to.

Sums are merged batch by batch (Chan, Golub and LeVeque 1979). The numbers change only between rollouts, so one
scale holds for a whole batch. Scaled observations are kept as they are; the policy clips them to `CLIP` deviations.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.kit.compiled import announced, kernel
from holdfast.learner.batch import Batch, array

CLIP = 10.0
EPSILON = 1e-8


@kernel
def add_distances(obs, chosen, scale, around, sums, squares):  # type: ignore[no-untyped-def]
    """Add up the distances of the chosen rows [M, D] from `around`, and their squares; `scale` undoes the
    normalisation. One pass over a batch as it lies, where torch would write three copies of it."""
    mean, deviation = scale[0], scale[1]
    for m in range(obs.shape[0]):
        if chosen[m]:
            row = obs[m]
            for j in range(row.shape[0]):
                away = np.float64(row[j] * deviation[j] + mean[j]) - around[j]
                sums[j] += away
                squares[j] += away * away


class Moments:
    """Mean and variance of all numbers so far, per number."""

    def __init__(self, size: int) -> None:
        self.count = torch.zeros(1, dtype=torch.float64)
        self.mean = torch.zeros(size, dtype=torch.float64)
        self.variance = torch.ones(size, dtype=torch.float64)
        self._refresh()
        with announced("learner", __file__):
            self._add(torch.zeros(0, size), torch.zeros(0, dtype=torch.bool), torch.zeros(2, size), self.mean)

    def _refresh(self) -> None:
        self.mean32 = self.mean.float()
        self.std32 = (self.variance + EPSILON).sqrt().float()
        self.inverse32 = 1.0 / self.std32

    def update(self, rows: torch.Tensor) -> None:
        """Take in [rows, size] raw numbers."""
        if len(rows) == 0:
            return
        wide = rows.double()
        self._merge(len(rows), wide.mean(0), wide.var(0, unbiased=False))

    def update_from(self, batch: Batch) -> None:
        """Take in the observations of a batch, as the world gave them."""
        obs, chosen = batch.obs.flatten(0, 1).flatten(1), batch.valid.flatten()
        count = int(chosen.sum())
        if count == 0:
            return
        first = obs[int(chosen.int().argmax())]
        around = (first * batch.scale[1] + batch.scale[0]).double()  # near all others, so that squares stay small
        sums, squares = self._add(obs, chosen, batch.scale, around)
        away = sums / count
        self._merge(count, around + away, (squares / count - away**2).clamp(min=0.0))

    def _add(
        self, obs: torch.Tensor, chosen: torch.Tensor, scale: torch.Tensor, around: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        sums, squares = torch.zeros_like(self.mean), torch.zeros_like(self.mean)
        add_distances(*map(array, (obs, chosen, scale, around, sums, squares)))
        return sums, squares

    def _merge(self, count: int, mean: torch.Tensor, variance: torch.Tensor) -> None:
        total = self.count + count
        shift = mean - self.mean
        squares = self.variance * self.count + variance * count + shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.variance = squares / total
        self.count = total
        self._refresh()

    def scale(self, raw: torch.Tensor, out: torch.Tensor) -> None:
        """Write (raw - mean) / deviation to `out`."""
        torch.sub(raw, self.mean32, out=out)
        out.mul_(self.inverse32)

    def unscale(self, scaled: torch.Tensor) -> torch.Tensor:
        """From the network's units back to the world's."""
        return scaled * self.std32 + self.mean32

    def scaled(self, raw: torch.Tensor) -> torch.Tensor:
        return (raw - self.mean32) * self.inverse32

    def arrays(self) -> dict[str, np.ndarray]:
        return {"count": self.count.numpy(), "mean": self.mean.numpy(), "variance": self.variance.numpy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.count, self.mean, self.variance = (
            torch.from_numpy(np.array(arrays[name])) for name in ("count", "mean", "variance")
        )
        self._refresh()

"""Running mean and deviation of observations and returns, saved with the weights they belong to.

Sums are merged batch by batch (Chan, Golub and LeVeque 1979). The numbers change only between rollouts, so a policy
sees one scale for a whole batch. Scaled observations are kept as they are; the policy itself looks no further than
`CLIP` deviations.
"""

from __future__ import annotations

import numpy as np
import torch

CLIP = 10.0
EPSILON = 1e-8


class Moments:
    """Mean and variance of everything seen so far, per number."""

    def __init__(self, size: int) -> None:
        self.count = torch.zeros(1, dtype=torch.float64)
        self.mean = torch.zeros(size, dtype=torch.float64)
        self.variance = torch.ones(size, dtype=torch.float64)
        self._refresh()

    def _refresh(self) -> None:
        self.mean32 = self.mean.float()
        self.std32 = (self.variance + EPSILON).sqrt().float()
        self.inverse32 = 1.0 / self.std32

    def update(self, rows: torch.Tensor) -> None:
        """Take in [rows, size] raw numbers."""
        if len(rows) == 0:
            return
        wide = rows.double()
        count, mean, variance = len(rows), wide.mean(0), wide.var(0, unbiased=False)
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

"""Generalised advantage estimation (Schulman et al. 2016) with ends and cuts told apart.

A terminated step has no future. A truncated step counts the value of the last sight. Steps nothing is learned from
(of dead agents, or with a forced action) get nothing and pass nothing back: what led to them counts their value.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.kit.compiled import kernel
from holdfast.learner.batch import Batch, array


@kernel
def gae_kernel(reward, value, last_value, bootstrap, learned, terminated, truncated, discount, trace, advantage):  # type: ignore[no-untyped-def]
    steps, rows = reward.shape
    carry = np.zeros(rows)
    following = np.empty(rows)
    for row in range(rows):
        following[row] = np.float64(last_value[row])
    for t in range(steps - 1, -1, -1):
        for row in range(rows):
            now = np.float64(value[t, row])
            if not learned[t, row]:
                advantage[t, row] = 0.0
                carry[row] = 0.0
            else:
                ahead = following[row]
                if terminated[t, row]:
                    ahead = 0.0
                    carry[row] = 0.0
                elif truncated[t, row]:
                    ahead = np.float64(bootstrap[t, row])
                    carry[row] = 0.0
                surprise = np.float64(reward[t, row]) + discount * ahead - now
                carry[row] = surprise + discount * trace * carry[row]
                advantage[t, row] = np.float32(carry[row])
            following[row] = now


def gae(batch: Batch, discount: float, trace: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns [T, R]; a return is the advantage plus the value it was measured against."""
    advantage = torch.zeros_like(batch.reward)
    gae_kernel(
        array(batch.reward),
        array(batch.value),
        array(batch.last_value),
        array(batch.bootstrap),
        array(batch.learned),
        array(batch.terminated),
        array(batch.truncated),
        discount,
        trace,
        array(advantage),
    )
    return advantage, advantage + batch.value


def explained_variance(value: torch.Tensor, returns: torch.Tensor) -> float:
    """1: values foresee returns perfectly; 0: no better than their mean."""
    spread = float(returns.var()) if len(returns) > 1 else 0.0
    return 0.0 if spread == 0.0 else 1.0 - float((returns - value).var()) / spread

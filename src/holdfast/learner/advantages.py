"""Generalised advantage estimation (Schulman et al. 2016) and V-trace targets (Espeholt et al. 2018), with termination
and truncation told apart.

A terminated step has no future. A truncated step counts the value of its final observation. Steps that are not learned
from (of dead agents, or with a forced action) have an advantage of 0 and pass nothing back: steps before them count
their value.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Trace(NamedTuple):
    """V-trace's constants."""

    discount: float
    trace: float  # lambda
    rho_bar: float
    c_bar: float


class Targets(NamedTuple):
    """V-trace targets of steps [T, R], in units of reward."""

    value: torch.Tensor  # target of the value: v
    advantage: torch.Tensor  # rho (r + gamma v of the next step - V)


@kernel
def vtrace_kernel(  # type: ignore[no-untyped-def]
    reward, value, last_value, bootstrap, learned, terminated, truncated, ratio, trace, target, advantage
):
    steps, rows = reward.shape
    carry = np.zeros(rows)  # v - V of the step after this one
    following = np.empty(rows)
    for row in range(rows):
        following[row] = np.float64(last_value[row])
    for t in range(steps - 1, -1, -1):
        for row in range(rows):
            now = np.float64(value[t, row])
            rho = c = 0.0  # not learned from: its value stands, and steps before it count that
            if learned[t, row]:
                weight = np.float64(ratio[t, row])
                rho, c = min(trace.rho_bar, weight), trace.trace * min(trace.c_bar, weight)
            ahead, traced = following[row], carry[row]
            if terminated[t, row]:
                ahead, traced = 0.0, 0.0
            elif truncated[t, row]:
                ahead, traced = np.float64(bootstrap[t, row]), 0.0
            gain = np.float64(reward[t, row])
            worth = gain + trace.discount * (ahead + traced)
            carry[row] = rho * (gain + trace.discount * ahead - now) + trace.discount * c * traced
            target[t, row] = np.float32(now + carry[row])
            advantage[t, row] = np.float32(rho * (worth - now))
            following[row] = now


def vtrace(batch: Batch, rows: torch.Tensor, value: torch.Tensor, ratio: torch.Tensor, trace: Trace) -> Targets:
    """Targets for some rows of a batch, from the current policy's values and ratios for them, [T, R]."""
    found = Targets(*(torch.zeros_like(value) for _ in range(2)))
    vtrace_kernel(
        array(batch.reward[:, rows]),
        array(value),
        array(batch.last_value[rows]),
        array(batch.bootstrap[:, rows]),
        array(batch.learned[:, rows]),
        array(batch.terminated[:, rows]),
        array(batch.truncated[:, rows]),
        array(ratio),
        trace,
        array(found.value),
        array(found.advantage),
    )
    return found


def explained_variance(value: torch.Tensor, returns: torch.Tensor) -> float:
    """1: values predict returns perfectly; 0: no better than their mean."""
    spread = float(returns.var()) if len(returns) > 1 else 0.0
    return 0.0 if spread == 0.0 else 1.0 - float((returns - value).var()) / spread

"""The loss of proximal policy optimisation (Schulman et al. 2017) on one minibatch, and the figures that explain it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from holdfast.config import LearnerConfig

Tensor = torch.Tensor


class Minibatch(NamedTuple):
    """Rows [M] of a batch, in the order they are learned from."""

    obs: Tensor
    actions: Tensor
    log_prob: Tensor  # when the action was taken
    advantage: Tensor
    target: Tensor  # of the value network, in its units
    old_value: Tensor  # what it said then, in the same units
    chosen: Tensor | None  # [M] float: 0 where the action was forced; None when none was


class Loss(NamedTuple):
    """The number to descend on, and its parts."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


def _mean(values: Tensor, weights: Tensor | None) -> Tensor:
    return values.mean() if weights is None else (values * weights).sum() / weights.sum().clamp(min=1.0)


def ppo_loss(config: LearnerConfig, part: Minibatch, log_prob: Tensor, entropy: Tensor, value: Tensor) -> Loss:
    """Clipped surrogate, squared value error and entropy. A forced action teaches the value network only."""
    log_ratio = log_prob - part.log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    policy = -_mean(torch.minimum(part.advantage * ratio, part.advantage * clipped), part.chosen)
    if config.value_clip > 0.0:
        value = part.old_value + (value - part.old_value).clamp(-config.value_clip, config.value_clip)
    value_loss = torch.nn.functional.mse_loss(value, part.target)
    undecided = _mean(entropy, part.chosen)
    total = policy + config.value_coef * value_loss - config.entropy * undecided
    with torch.no_grad():
        # the estimator k3 of Schulman, "Approximating KL divergence" (2020)
        approx_kl = _mean(ratio - 1.0 - log_ratio, part.chosen)
        clip_fraction = _mean(((ratio - 1.0).abs() > config.clip).float(), part.chosen)
    return Loss(total, policy.detach(), value_loss.detach(), undecided.detach(), approx_kl, clip_fraction)

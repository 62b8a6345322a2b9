"""Losses on one minibatch, and the figures that explain them: the clipped surrogate of PPO (Schulman et al. 2017) and
the plain actor-critic that V-trace feeds (Espeholt et al. 2018)."""

from __future__ import annotations

from typing import NamedTuple

import torch

from holdfast.config.sections import LearnerConfig

Tensor = torch.Tensor
DIVISION_GUARD = 1e-8
ROUNDING = 1e-3  # a ratio of 1 computed twice may be a little above it


class Minibatch(NamedTuple):
    """Rows [M] of a batch, in the order they are learned from."""

    obs: Tensor
    actions: Tensor
    log_prob: Tensor  # when the action was taken
    advantage: Tensor
    target: Tensor  # of the value network, in its units
    old_value: Tensor  # what it said then, in the same units


class Loss(NamedTuple):
    """The number to descend on, and its parts."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


def normalized(advantage: Tensor, among: Tensor) -> Tensor:
    """Scaled so that `among` has mean 0 and deviation 1."""
    return (advantage - among.mean()) / spread_of(among) if len(among) > 1 else advantage


def spread_of(values: Tensor) -> float:
    """Their deviation, never 0."""
    return float(values.std()) + DIVISION_GUARD if len(values) > 1 else 1.0


def kl_of(log_ratio: Tensor, ratio: Tensor) -> Tensor:
    """The estimator k3 of Schulman, "Approximating KL divergence" (2020)."""
    return (ratio - 1.0 - log_ratio).mean()


def ppo_loss(
    config: LearnerConfig, entropy_coef: float, part: Minibatch, log_prob: Tensor, entropy: Tensor, value: Tensor
) -> Loss:
    """Clipped surrogate, squared value error and entropy."""
    log_ratio = log_prob - part.log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    policy = -torch.minimum(part.advantage * ratio, part.advantage * clipped).mean()
    if config.value_clip > 0.0:
        value = part.old_value + (value - part.old_value).clamp(-config.value_clip, config.value_clip)
    value_loss = torch.nn.functional.mse_loss(value, part.target)
    undecided = entropy.mean()
    total = policy + config.value_coef * value_loss - entropy_coef * undecided
    with torch.no_grad():
        approx_kl = kl_of(log_ratio, ratio)
        clip_fraction = ((ratio - 1.0).abs() > config.clip).float().mean()
    return Loss(total, policy.detach(), value_loss.detach(), undecided.detach(), approx_kl, clip_fraction)


def actor_critic_loss(
    config: LearnerConfig,
    entropy_coef: float,
    part: Minibatch,
    log_ratio: Tensor,
    log_prob: Tensor,
    entropy: Tensor,
    value: Tensor,
) -> Loss:
    """Policy gradient, squared value error and entropy; `log_ratio` tells how old the actions are."""
    policy = -(part.advantage * log_prob).mean()
    value_loss = torch.nn.functional.mse_loss(value, part.target)
    undecided = entropy.mean()
    total = policy + config.value_coef * value_loss - entropy_coef * undecided
    with torch.no_grad():
        ratio = log_ratio.exp()
        clip_fraction = (ratio > config.rho_bar + ROUNDING).float().mean()
    return Loss(total, policy.detach(), value_loss.detach(), undecided.detach(), kl_of(log_ratio, ratio), clip_fraction)

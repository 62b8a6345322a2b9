"""Losses on one minibatch and the statistics that explain them: the clipped surrogate of PPO (Schulman et al. 2017) and
the plain actor-critic loss that V-trace feeds (Espeholt et al. 2018)."""

from __future__ import annotations

from typing import NamedTuple

import torch

Tensor = torch.Tensor
DIVISION_GUARD = 1e-8
ROUNDING = 1e-3  # a ratio of 1 computed twice may be a little above it
UNLIMITED = 1.0e9  # clip of an objective that is not clipped


class Objective(NamedTuple):
    """Coefficients of a loss. Those of `surrogate_loss` are all that an engine knows of an algorithm."""

    clip: float  # limit on the change of an action's probability ratio
    value_clip: float  # limit on the change of a value; 0 = off
    value_coef: float
    entropy: float  # coefficient of the entropy bonus
    belief: float = 0.0  # of the error of beliefs


class Minibatch(NamedTuple):
    """Rows [M] of a batch, in the order they are learned from."""

    obs: Tensor
    actions: Tensor
    log_prob: Tensor  # when the action was taken
    advantage: Tensor
    target: Tensor  # of the value network, in its units
    old_value: Tensor  # when the action was taken, in the same units


class Loss(NamedTuple):
    """The number to descend on, and its parts."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


class BeliefError(NamedTuple):
    """The error of a belief on a minibatch."""

    error: float  # minus the log likelihood of the truth
    distance: float  # between the expected and the true numbers, root mean square


def normalized(advantage: Tensor, among: Tensor) -> Tensor:
    """Scaled so that `among` has mean 0 and standard deviation 1."""
    return (advantage - among.mean()) / spread_of(among) if len(among) > 1 else advantage


def spread_of(values: Tensor) -> float:
    """Their standard deviation, never 0."""
    return float(values.std()) + DIVISION_GUARD if len(values) > 1 else 1.0


def kl_of(log_ratio: Tensor, ratio: Tensor) -> Tensor:
    """The estimator k3 of Schulman, "Approximating KL divergence" (2020)."""
    return (ratio - 1.0 - log_ratio).mean()


def surrogate_loss(objective: Objective, part: Minibatch, log_prob: Tensor, entropy: Tensor, value: Tensor) -> Loss:
    """Clipped surrogate, squared value error and entropy bonus."""
    log_ratio = log_prob - part.log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - objective.clip, 1.0 + objective.clip)
    policy = -torch.minimum(part.advantage * ratio, part.advantage * clipped).mean()
    if objective.value_clip > 0.0:
        value = part.old_value + (value - part.old_value).clamp(-objective.value_clip, objective.value_clip)
    value_loss = torch.nn.functional.mse_loss(value, part.target)
    mean_entropy = entropy.mean()
    total = policy + objective.value_coef * value_loss - objective.entropy * mean_entropy
    with torch.no_grad():
        approx_kl = kl_of(log_ratio, ratio)
        clip_fraction = ((ratio - 1.0).abs() > objective.clip).float().mean()
    return Loss(total, policy.detach(), value_loss.detach(), mean_entropy.detach(), approx_kl, clip_fraction)


def actor_critic_loss(
    objective: Objective,
    rho_bar: float,
    part: Minibatch,
    log_ratio: Tensor,
    log_prob: Tensor,
    entropy: Tensor,
    value: Tensor,
) -> Loss:
    """Policy gradient, squared value error and entropy bonus; `log_ratio` says how far the policy moved since the
    actions were taken."""
    policy = -(part.advantage * log_prob).mean()
    value_loss = torch.nn.functional.mse_loss(value, part.target)
    mean_entropy = entropy.mean()
    total = policy + objective.value_coef * value_loss - objective.entropy * mean_entropy
    with torch.no_grad():
        ratio = log_ratio.exp()
        clip_fraction = (ratio > rho_bar + ROUNDING).float().mean()
    approx_kl = kl_of(log_ratio, ratio)
    return Loss(total, policy.detach(), value_loss.detach(), mean_entropy.detach(), approx_kl, clip_fraction)

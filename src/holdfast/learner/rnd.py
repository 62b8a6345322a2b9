"""Random network distillation (Burda et al. 2019): a small reward for observations that are new to a predictor.

The error of the predictor is centred and scaled within each rollout. Without centring every further step would pay,
and the bonus would be one for surviving, not for new observations; `Novelty.check` watches for that.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from holdfast.learner.batch import Batch
from holdfast.learner.optim import FlatAdam

WIDTH, EMBED = 128, 64  # of the two networks' hidden layers; numbers they agree on
LEARNING_RATE = 1e-3  # of the one that learns
SHARE = 0.25  # of each rollout that it learns from
CLIP = 2.0  # largest bonus, in standard deviations

HORIZON = 5.0  # deviations
LARGEST_MEAN, LARGEST_CORRELATION = 0.05, 0.2


class Bonus(NamedTuple):
    """How new observations are paid for."""

    coef: float  # of the bonus in the reward
    clip: float  # largest bonus, in deviations
    share: float  # of each rollout that the predictor learns from


class NoveltyResult(NamedTuple):
    """What the bonus was like in one rollout."""

    mean: float  # of the bonus in deviations; far from 0 it pays for being there
    length_correlation: float  # of an episode's summed bonus with its length
    error: float  # of the predictor, before it learned from this rollout
    loss: float  # of the predictor, while it did

    @property
    def is_survival_bonus(self) -> bool:
        return abs(self.mean) > LARGEST_MEAN or abs(self.length_correlation) > LARGEST_CORRELATION


def _network(inputs: int, hidden: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    sizes = (inputs, hidden, hidden, outputs)
    for number, (before, after) in enumerate(pairwise(sizes)):
        layer = nn.Linear(before, after)
        nn.init.orthogonal_(layer.weight, 2.0**0.5, generator=generator)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU()] if number < 2 else [layer]
    return nn.Sequential(*layers)


class Novelty:
    """Target, predictor and its optimiser for one role; `columns` are the numbers of an observation that count."""

    def __init__(
        self,
        columns: slice,
        size: int,
        hidden: int,
        embed: int,
        lr: float,
        generator: torch.Generator,
        bonus: Bonus,
    ) -> None:
        self.columns, self.lr, self.bonus = columns, lr, bonus
        inputs = len(range(size)[columns])
        self.target = _network(inputs, hidden, embed, generator)
        self.predictor = _network(inputs, hidden, embed, generator)
        self.fixed = FlatAdam(self.target, 1e-8)  # only for its flat array: the target never learns
        self.optimizer = FlatAdam(self.predictor, 1e-8)

    def observations(self, batch: Batch) -> torch.Tensor:
        """[T, R, D] as inputs of the networks: normalised already, clipped to the horizon."""
        return batch.obs.flatten(2)[:, :, self.columns].clamp(-HORIZON, HORIZON)

    @torch.no_grad()
    def errors(self, obs: torch.Tensor) -> torch.Tensor:
        """[T, R] squared differences."""
        flat = obs.flatten(0, 1)
        return (self.predictor(flat) - self.target(flat)).pow(2).mean(-1).view(obs.shape[:2])

    def pay(self, batch: Batch, generator: torch.Generator) -> NoveltyResult:
        """Add the bonus to the batch's rewards, then let the predictor learn from a share of the observations."""
        coef, clip, share = self.bonus
        obs = self.observations(batch)
        errors = self.errors(obs)
        bonus = centred(errors, batch.valid, clip)
        batch.reward.add_(bonus, alpha=coef)
        loss = self.learn(obs[batch.valid], share, generator)
        valid = bonus[batch.valid]
        return NoveltyResult(
            mean=float(valid.mean()) if len(valid) else 0.0,
            length_correlation=length_correlation(bonus, batch),
            error=float(errors[batch.valid].mean()) if len(valid) else 0.0,
            loss=loss,
        )

    def learn(self, rows: torch.Tensor, share: float, generator: torch.Generator) -> float:
        count = int(len(rows) * share)
        if count == 0:
            return 0.0
        chosen = rows[torch.randperm(len(rows), generator=generator)[:count]]
        total, parts = 0.0, chosen.split(4096)
        for part in parts:
            with torch.no_grad():
                wanted = self.target(part)
            loss = (self.predictor(part) - wanted).pow(2).mean()
            self.optimizer.zero()
            loss.backward()
            self.optimizer.step(self.lr, 0.0)
            total += loss.item()
        return total / len(parts)

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self.optimizer.arrays(), "target": self.fixed.arrays()["parameters"]}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.optimizer.restore({name: array for name, array in arrays.items() if name != "target"})
        self.fixed.arrays()["parameters"][...] = arrays["target"]


def centred(errors: torch.Tensor, valid: torch.Tensor, clip: float) -> torch.Tensor:
    """Errors as deviations from their mean, clipped, with mean 0 after clipping too."""
    known = errors[valid]
    if len(known) < 2 or float(known.std()) == 0.0:
        return torch.zeros_like(errors)
    bonus = ((errors - known.mean()) / known.std()).clamp(-clip, clip)
    return torch.where(valid, bonus - bonus[valid].mean(), torch.zeros_like(bonus))


def length_correlation(bonus: torch.Tensor, batch: Batch) -> float:
    """Correlation of summed bonus and length over the stretches between ends in the batch."""
    ends = (batch.terminated | batch.truncated).clone()
    ends[-1] = True
    number = torch.cumsum(ends.T.flatten().long(), 0) - ends.T.flatten().long()  # [R*T] stretch of each step
    count = int(number[-1]) + 1
    sums = torch.zeros(count).index_add_(0, number, bonus.T.flatten())
    lengths = torch.zeros(count).index_add_(0, number, batch.valid.T.flatten().float())
    if count < 3 or float(sums.std()) == 0.0 or float(lengths.std()) == 0.0:
        return 0.0
    return float(torch.corrcoef(torch.stack([sums, lengths]))[0, 1])

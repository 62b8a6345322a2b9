"""A belief about numbers nobody is shown: a mixture of normal distributions, learned beside the policy by the
likelihood of the truth. It shapes what an encoder remembers; nobody acts on the mixture itself."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch.nn import functional

Tensor = torch.Tensor
COMPONENTS = 5
LOG_SIGMA = (-5.0, 2.0)  # limits, in deviations of the truth: neither certain nor lost
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class Mixture(NamedTuple):
    """Normal distributions with weights, over K numbers."""

    log_weight: Tensor  # [B, C]
    mean: Tensor  # [B, C, K]
    log_sigma: Tensor  # [B, C, K]

    def error(self, truth: Tensor) -> Tensor:
        """Minus the log likelihood of the truth [B, K], as [B]."""
        away = (truth[:, None] - self.mean) * torch.exp(-self.log_sigma)
        log_p = (-0.5 * away**2 - self.log_sigma - HALF_LOG_2PI).sum(2)
        return -torch.logsumexp(self.log_weight + log_p, 1)

    def centre(self) -> Tensor:
        """[B, K] what is expected."""
        return (self.log_weight.exp()[:, :, None] * self.mean).sum(1)


def mixture_outputs(numbers: int) -> int:
    return COMPONENTS * (1 + 2 * numbers)


def mixture_of(outputs: Tensor) -> Mixture:
    """From what a network says, [B, C * (1 + 2 K)]."""
    weight, rest = outputs[:, :COMPONENTS], outputs[:, COMPONENTS:]
    mean, log_sigma = rest.view(len(outputs), 2, COMPONENTS, -1).unbind(1)
    return Mixture(functional.log_softmax(weight, 1), mean, log_sigma.clamp(*LOG_SIGMA))

"""All parameters of a policy as one flat array, with their gradients and Adam's two moments beside it.

One array makes the gradient norm and the Adam step single calls, the checkpoint three tensors, and gives a second
implementation of the update the same memory to work on. Every parameter begins at a cache line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from holdfast.kit import aligned
from holdfast.kit.errors import NonFinite

LINE = aligned.LINE // 4  # float32 numbers per cache line
BETAS = (0.9, 0.999)


class FlatAdam:
    """Adam (Kingma and Ba 2015) over a module whose parameters are views into one array; weight decay is apart from
    the gradient (Loshchilov and Hutter 2019) and only for matrices."""

    def __init__(self, module: nn.Module, eps: float, weight_decay: float = 0.0) -> None:
        sizes = [-(-parameter.numel() // LINE) * LINE for parameter in module.parameters()]
        self.parameters = torch.zeros(sum(sizes))
        self.gradients = torch.zeros(sum(sizes))
        self.names: list[tuple[str, int, int]] = []
        self.weight_decay, matrices = weight_decay, torch.zeros(sum(sizes))
        start = 0
        for (name, parameter), size in zip(module.named_parameters(), sizes, strict=True):
            end = start + parameter.numel()
            self.parameters[start:end] = parameter.data.flatten()
            parameter.data = self.parameters[start:end].view_as(parameter)
            parameter.grad = self.gradients[start:end].view_as(parameter)
            self.names.append((name, start, end))
            matrices[start:end] = float(parameter.dim() > 1)
            start += size
        self.eps = eps
        self._moments = torch.zeros_like(self.parameters), torch.zeros_like(self.parameters)
        self._updates = torch.zeros((), dtype=torch.float32)
        self.before_step: Callable[[], None] | None = None  # may add to the gradients before they are clipped
        self._matrices = matrices if weight_decay > 0.0 else None
        self._accumulated = torch.zeros(0)  # sum of gradients that share one step

    @property
    def updates(self) -> int:
        """Steps so far."""
        return int(self._updates)

    def zero(self) -> None:
        self.gradients.zero_()

    def accumulate(self, count: int) -> None:
        """Replace the gradient by the mean of this one and the count - 1 before it."""
        if count == 1:
            self._accumulated = self.gradients.clone()
        else:
            self._accumulated += self.gradients
            torch.div(self._accumulated, count, out=self.gradients)

    def step(self, lr: float, max_norm: float) -> float:
        """Clip the gradient to `max_norm` (0 = off), take a step, and return the norm before clipping."""
        if self.before_step is not None:
            self.before_step()
        norm = float(torch.linalg.vector_norm(self.gradients))
        if not math.isfinite(norm):
            raise NonFinite(f"the gradient of {self.culprit()} is not finite; the weights are as before this step")
        if max_norm > 0.0 and norm > max_norm:
            self.gradients.mul_(max_norm / (norm + 1e-6))
        if self._matrices is not None:
            self.parameters.mul_(1.0 - lr * self.weight_decay * self._matrices)
        self._move(lr)
        return norm

    @torch.no_grad()
    def _move(self, lr: float) -> None:
        """The step of torch.optim.Adam without its bookkeeping, which takes longer than the step of 100,000
        parameters."""
        adam(
            [self.parameters],
            [self.gradients],
            [self._moments[0]],
            [self._moments[1]],
            [],
            [self._updates],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=lr,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )

    def culprit(self) -> str:
        """The parameters with a gradient that is not finite."""
        return ", ".join(name for name, part in self._named(self.gradients) if not torch.isfinite(part).all())

    def _named(self, flat: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        for name, start, end in self.names:
            yield name, flat[start:end]

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "parameters": self.parameters.numpy(),
            "first_moment": self._moments[0].numpy(),
            "second_moment": self._moments[1].numpy(),
            "updates": self._updates.numpy().reshape(1),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        for name, mine in self.arrays().items():
            mine[...] = arrays[name]

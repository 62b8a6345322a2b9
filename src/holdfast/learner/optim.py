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

from holdfast.errors import NonFinite

LINE = 16  # float32 numbers per cache line


class FlatAdam:
    """Adam (Kingma and Ba 2015) over a module whose parameters are views into one array; weight decay is apart from
    the gradient (Loshchilov and Hutter 2019) and only for matrices."""

    def __init__(self, module: nn.Module, lr: float, eps: float, weight_decay: float = 0.0) -> None:
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
        self._flat = nn.Parameter(self.parameters)
        self._flat.grad = self.gradients
        self._adam = torch.optim.Adam([self._flat], lr=lr, eps=eps, fused=True)
        self.before_step: Callable[[], None] | None = None  # may add to the gradients before they are clipped
        self._matrices = matrices if weight_decay > 0.0 else None
        self._gathered = torch.zeros(0)  # sum of gradients that wait for one step
        self._first_step()

    def _first_step(self) -> None:
        """Adam makes its moments at its first step; make them now so that a fresh state can be saved and loaded."""
        self._adam.state[self._flat] = {
            "step": torch.zeros((), dtype=torch.float32),
            "exp_avg": torch.zeros_like(self.parameters),
            "exp_avg_sq": torch.zeros_like(self.parameters),
        }

    @property
    def updates(self) -> int:
        """Steps so far."""
        return int(self._adam.state[self._flat]["step"])

    def zero(self) -> None:
        self.gradients.zero_()

    def gather(self, count: int) -> None:
        """Make the gradient the mean of this one and the count - 1 before it."""
        if count == 1:
            self._gathered = self.gradients.clone()
        else:
            self._gathered += self.gradients
            torch.div(self._gathered, count, out=self.gradients)

    def step(self, lr: float, max_norm: float) -> float:
        """Clip the gradient to `max_norm` (0 = not at all), move, and return its length before clipping."""
        if self.before_step is not None:
            self.before_step()
        norm = float(torch.linalg.vector_norm(self.gradients))
        if not math.isfinite(norm):
            raise NonFinite(f"the gradient of {self.culprit()} is not finite; the weights are as before this step")
        if max_norm > 0.0 and norm > max_norm:
            self.gradients.mul_(max_norm / (norm + 1e-6))
        if self._matrices is not None:
            self.parameters.mul_(1.0 - lr * self.weight_decay * self._matrices)
        self._adam.param_groups[0]["lr"] = lr
        self._adam.step()
        return norm

    def culprit(self) -> str:
        """The parameters with a gradient that is not finite."""
        return ", ".join(name for name, part in self._named(self.gradients) if not torch.isfinite(part).all())

    def _named(self, flat: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        for name, start, end in self.names:
            yield name, flat[start:end]

    def arrays(self) -> dict[str, np.ndarray]:
        moments = self._adam.state[self._flat]
        return {
            "parameters": self.parameters.numpy(),
            "first_moment": moments["exp_avg"].numpy(),
            "second_moment": moments["exp_avg_sq"].numpy(),
            "updates": moments["step"].numpy().reshape(1),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        for name, mine in self.arrays().items():
            mine[...] = arrays[name]

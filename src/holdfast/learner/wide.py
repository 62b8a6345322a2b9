"""The engine for wide plain policies: both passes written out as matrix products, everything between them by kernels.

Same parameters, same optimiser, same losses as the torch path, and tested against it. Autograd records an operation per
layer, activation and term of the loss, each with arrays of its own, and torch's tanh takes a third of the products'
time; with two layers of 256 units and minibatches of 256 rows that was half of an update.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from holdfast.compiled import announced
from holdfast.config import LearnerConfig
from holdfast.learner import wide_kernels as kernels
from holdfast.learner.batch import array
from holdfast.learner.fused import BOUNDLESS, Knobs, Rows, knobs_of, loss_of, rows_of
from holdfast.learner.fused_kernels import RELU, SUMS, TANH, activate, slope
from holdfast.learner.heads import ContinuousHead
from holdfast.learner.losses import Loss, Minibatch
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Body, Policy

Tensor = torch.Tensor


class Chain:
    """Layers one after the other, an activation behind each but the last, with room for what passes through them."""

    def __init__(self, body: Body, last: nn.Linear) -> None:
        self.layers: list[nn.Linear] = [*body.layers, last]
        self.kind = TANH if body.act is torch.tanh else RELU
        self.room = 0
        self.said: list[Tensor] = []  # by each layer, [room, its outputs]
        self.errors: list[Tensor] = []  # slopes by the same

    def forward(self, x: Tensor) -> Tensor:
        """What the last layer says about rows [B, inputs]; gone at the next call."""
        if len(x) > self.room:
            self.room = len(x)
            self.said = [torch.empty(self.room, layer.out_features) for layer in self.layers]
            self.errors = [torch.empty(self.room, layer.out_features) for layer in self.layers]
        for index, layer in enumerate(self.layers):
            out = self.said[index][: len(x)]
            torch.addmm(layer.bias, x, layer.weight.t(), out=out)
            if index < len(self.layers) - 1:
                activate(array(out).reshape(-1), self.kind)
            x = out
        return x

    def backward(self, x: Tensor) -> None:
        """From the slopes by the last layer, which lie in `errors`, to every parameter's gradient."""
        rows = len(x)
        for index in reversed(range(len(self.layers))):
            layer, error = self.layers[index], self.errors[index][:rows]
            before = self.said[index - 1][:rows] if index > 0 else x
            assert layer.weight.grad is not None and layer.bias.grad is not None
            torch.mm(error.t(), before, out=layer.weight.grad)
            torch.sum(error, 0, out=layer.bias.grad)
            if index > 0:
                earlier = self.errors[index - 1][:rows]
                torch.mm(error, layer.weight, out=earlier)
                slope(array(earlier).reshape(-1), array(before).reshape(-1), self.kind)


class Wide:
    """Passes bound to one policy's parameters."""

    def __init__(self, policy: Policy, optimizer: FlatAdam, config: LearnerConfig) -> None:
        assert policy.value_body is not None
        self.config, self.optimizer, self.extra = config, optimizer, policy.extra
        self.is_normal = isinstance(policy.head, ContinuousHead)
        self.horizon = policy.horizon
        self.acting = policy.body.inputs  # of the numbers seen, these many are for choosing
        self.policy = Chain(policy.body, policy.action_layer)
        self.value = Chain(policy.value_body, policy.value_layer)
        self.sums = np.zeros(SUMS)
        with announced("learner", kernels.__file__):
            self._warm_up(policy)

    def _warm_up(self, policy: Policy) -> None:
        """Compile before the run begins; one row of zeros leaves no trace but a gradient, which is cleared."""
        none, zero = torch.zeros(1), torch.zeros(1, self.value.layers[0].in_features)
        actions = torch.zeros(1, policy.head.outputs) if self.is_normal else torch.zeros(1, dtype=torch.int64)
        self.descend(Minibatch(zero, actions, none, none, none, none), 0.0)
        self.optimizer.zero()

    @torch.no_grad()
    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """What the head gets [B, n], and values [B]."""
        x = self._seen(obs)
        return self.policy.forward(x[:, : self.acting]).clone(), self.value.forward(x)[:, 0].clone()

    @torch.no_grad()
    def descend(self, part: Minibatch, entropy_coef: float) -> Loss:
        """Write the loss's gradient on this minibatch to the optimiser, and return the loss, as `Fused.descend`."""
        knobs = knobs_of(self.config, entropy_coef, len(part.obs), BOUNDLESS)
        x, rows = self._seen(part.obs), rows_of(part)
        self.sums[:] = 0.0
        acted_on = x[:, : self.acting]
        self._judge_actions(acted_on, rows, knobs)
        self.policy.backward(acted_on)
        values = self.value.forward(x)
        kernels.value_errors(array(values), rows, knobs, array(self.value.errors[-1][: len(x)]), self.sums)
        self.value.backward(x)
        return loss_of(self.sums, self.config, entropy_coef)

    def _seen(self, obs: Tensor) -> Tensor:
        x = obs.flatten(1)
        return x if self.horizon is None else x.clamp(-self.horizon, self.horizon)

    def _judge_actions(self, x: Tensor, rows: Rows, knobs: Knobs) -> None:
        said = array(self.policy.forward(x))
        errors = array(self.policy.errors[-1][: len(x)])
        if self.is_normal:
            assert self.extra.grad is not None
            kernels.normal_errors(said, array(self.extra), rows, knobs, errors, array(self.extra.grad), self.sums)
        else:
            kernels.choice_errors(said, rows, knobs, errors, self.sums)

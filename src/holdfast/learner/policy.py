"""The network that acts: a body per purpose (MLP or CNN), an optional recurrent core, a head for actions, one value.

Forward passes are over rows [B, ...]; with a core, `sequence` runs [T, R, ...] step by step and empties the memory of
a row wherever its episode starts.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn

from holdfast.config import PolicyConfig
from holdfast.learner.cores import Core
from holdfast.learner.heads import make_head
from holdfast.learner.networks import feature_count, make_convolutions
from holdfast.worlds.api import Role

Tensor = torch.Tensor
HIDDEN_GAIN, ACTION_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0


class Output(NamedTuple):
    """What the network says about some rows."""

    actions: Tensor  # [B, outputs of the head]
    value: Tensor  # [B]
    hidden: Tensor  # [B, H]


def _linear(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


class Body(nn.Module):
    """From observations to features."""

    def __init__(self, role: Role, config: PolicyConfig, generator: torch.Generator, inputs: int) -> None:
        super().__init__()
        self.is_image = role.observations.is_image
        self.convolutions: nn.Sequential | None = None
        self.inputs = inputs
        if self.is_image and config.network != "mlp":
            network = "cnn" if config.network == "auto" else config.network
            shape = role.observations.shape
            self.convolutions = make_convolutions(network, shape[2], config.norm, generator)
            self.inputs = feature_count(self.convolutions, shape)
        self.act = torch.tanh if config.activation == "tanh" else torch.relu
        self.widths = tuple(config.hidden)
        sizes = [self.inputs, *self.widths]
        self.layers = nn.ModuleList(_linear(i, o, HIDDEN_GAIN, generator) for i, o in pairwise(sizes))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in self.widths if config.norm == "layer")
        self.size = sizes[-1]

    def forward(self, obs: Tensor) -> Tensor:
        if self.is_image:
            obs = obs.to(torch.float32, copy=True).div_(255.0)  # in place: 30 MB less to ask the system for
        if self.convolutions is not None:
            obs = self.convolutions(obs.permute(0, 3, 1, 2))
        x = obs.flatten(1)
        for index, layer in enumerate(self.layers):
            x = layer(x)
            x = self.act(self.norms[index](x) if self.norms else x)
        return x


class Policy(nn.Module):
    """Policy and value of one role."""

    def __init__(
        self, role: Role, config: PolicyConfig, generator: torch.Generator, horizon: float | None = None
    ) -> None:
        super().__init__()
        self.horizon = horizon  # numbers further from 0 than this are seen as this
        self.head = make_head(role.actions)
        sight = role.observations
        self.acting = sight.acting if sight.judging else None  # none: all of a sight
        self.body = Body(role, config, generator, sight.acting)
        recurrent = config.core != "none"
        self.value_body = Body(role, config, generator, sight.size) if config.separate and not recurrent else None
        self.core = Core(config.core, self.body.size, config.core_size, generator) if recurrent else None
        size = self.body.size if self.core is None else self.core.size
        self.action_layer = _linear(size, self.head.outputs, ACTION_GAIN, generator)
        judged = size if self.value_body is None else self.value_body.size
        self.value_layer = _linear(judged, 1, VALUE_GAIN, generator)
        self.extra = nn.Parameter(torch.full((self.head.extra,), config.initial_log_std))
        self.core_size = 0 if self.core is None else self.core.memory_size  # numbers remembered per row

    def forward(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """One step of rows [B]; `starts` [B] tells whose memory is empty."""
        obs = self._clipped(obs)
        features = self.body(self._acted_on(obs))
        if self.core is not None:
            features, hidden = self.core(features, hidden * (~starts)[:, None])
        return self._answer(obs, features, hidden)

    def sequence(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """[T, R, ...] in order, as one flat output of T*R rows; only for a policy with a core."""
        assert self.core is not None
        steps, rows = starts.shape
        obs = self._clipped(obs)
        features = self.body(self._acted_on(obs.flatten(0, 1))).view(steps, rows, -1)
        kept = (~starts)[:, :, None].float()
        said = []
        for t in range(steps):
            now, hidden = self.core(features[t], hidden * kept[t])
            said.append(now)
        remembered = torch.stack(said).flatten(0, 1)  # [T, R, H] -> [T*R, H]
        return self._answer(obs.flatten(0, 1), remembered, hidden)

    def _clipped(self, obs: Tensor) -> Tensor:
        return obs if self.horizon is None else obs.clamp(-self.horizon, self.horizon)

    def _acted_on(self, obs: Tensor) -> Tensor:
        return obs if self.acting is None else obs[:, : self.acting]

    def _answer(self, obs: Tensor, features: Tensor, hidden: Tensor) -> Output:
        judged = features if self.value_body is None else self.value_body(obs)
        return Output(self.action_layer(features).float(), self.value_layer(judged)[:, 0].float(), hidden.float())

"""The network that acts: a body per purpose (MLP or CNN), an optional recurrent core, a head for actions, one value.

Forward passes are over rows [B, ...]; with a core, `sequence` runs [T, R, ...] step by step and empties the memory of
a row wherever its episode starts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from holdfast.config import PolicyConfig
from holdfast.learner.heads import make_head
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

    def __init__(self, role: Role, config: PolicyConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.is_image = role.observations.is_image
        looks = self.is_image and config.network != "mlp"
        self.convolutions = _convolutions(role, generator) if looks else None
        size = self.inputs = _flat_size(role, self.convolutions)
        self.act = torch.tanh if config.activation == "tanh" else torch.relu
        layers = []
        for width in config.hidden:
            layers.append(_linear(size, width, HIDDEN_GAIN, generator))
            size = width
        self.layers = nn.ModuleList(layers)
        self.size = size
        self.widths = tuple(config.hidden)

    def forward(self, obs: Tensor) -> Tensor:
        if self.is_image:
            obs = obs.float() / 255.0
        if self.convolutions is not None:
            obs = self.convolutions(obs.permute(0, 3, 1, 2))
        x = obs.flatten(1)
        for layer in self.layers:
            x = self.act(layer(x))
        return x


def _convolutions(role: Role, generator: torch.Generator) -> nn.Sequential:
    """Three layers that halve the picture each time; works from 8 x 8 pixels up."""
    layers: list[nn.Module] = []
    channels = role.observations.shape[2]
    for filters in (16, 32, 32):
        convolution = nn.Conv2d(channels, filters, kernel_size=3, stride=2, padding=1)
        nn.init.orthogonal_(convolution.weight, HIDDEN_GAIN, generator=generator)
        nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
        layers += [convolution, nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers)


def _flat_size(role: Role, convolutions: nn.Sequential | None) -> int:
    if convolutions is None:
        return role.observations.size
    height, width, channels = role.observations.shape
    with torch.no_grad():
        return convolutions(torch.zeros(1, channels, height, width)).numel()


class Policy(nn.Module):
    """Policy and value of one role."""

    def __init__(
        self, role: Role, config: PolicyConfig, generator: torch.Generator, horizon: float | None = None
    ) -> None:
        super().__init__()
        self.horizon = horizon  # numbers further from 0 than this are seen as this
        self.head = make_head(role.actions)
        self.body = Body(role, config, generator)
        self.core = nn.GRUCell(self.body.size, config.core_size) if config.core == "gru" else None
        self.value_body = Body(role, config, generator) if config.separate and self.core is None else None
        features = self.body.size
        if self.core is not None:
            features = config.core_size
            for name, weight in self.core.named_parameters():
                nn.init.zeros_(weight) if "bias" in name else nn.init.orthogonal_(weight, generator=generator)
        self.action_layer = _linear(features, self.head.outputs, ACTION_GAIN, generator)
        self.value_layer = _linear(features, 1, VALUE_GAIN, generator)
        self.extra = nn.Parameter(torch.full((self.head.extra,), config.initial_log_std))
        self.core_size = config.core_size if self.core is not None else 0

    def forward(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """One step of rows [B]; `starts` [B] tells whose memory is empty."""
        obs = self._clipped(obs)
        features = self.body(obs)
        if self.core is not None:
            hidden = self.core(features, hidden * (~starts)[:, None])
            features = hidden
        return self._answer(obs, features, hidden)

    def sequence(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """[T, R, ...] in order, as one flat output of T*R rows; only for a policy with a core."""
        assert self.core is not None
        steps, rows = starts.shape
        obs = self._clipped(obs)
        features = self.body(obs.flatten(0, 1)).view(steps, rows, -1)
        kept = (~starts)[:, :, None].float()
        memories = []
        for t in range(steps):
            hidden = self.core(features[t], hidden * kept[t])
            memories.append(hidden)
        remembered = torch.stack(memories).flatten(0, 1)  # [T, R, H] -> [T*R, H]
        return self._answer(obs.flatten(0, 1), remembered, hidden)

    def _clipped(self, obs: Tensor) -> Tensor:
        return obs if self.horizon is None else obs.clamp(-self.horizon, self.horizon)

    def _answer(self, obs: Tensor, features: Tensor, hidden: Tensor) -> Output:
        judged = features if self.value_body is None else self.value_body(obs)
        return Output(self.action_layer(features), self.value_layer(judged)[:, 0], hidden)

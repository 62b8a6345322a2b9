"""The network of a role: a body for actions and one for values (MLP or CNN), an optional recurrent core, an action
head, one value. Observations of named parts may first go through an encoder for each part, which both bodies share.

Forward passes are over rows [B, ...]; with a core, `sequence` runs [T, R, ...] step by step and empties the memory of
a row wherever its episode starts.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn

from holdfast.config.sections import PolicyConfig
from holdfast.learner.heads import make_head
from holdfast.learner.networks import Core, feature_count, make_convolutions
from holdfast.learner.parts_encoder import PartsEncoder
from holdfast.worlds.api import Role

Tensor = torch.Tensor
HIDDEN_GAIN, ACTION_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0


class Output(NamedTuple):
    """Outputs of the network for some rows."""

    actions: Tensor  # [B, outputs of the head]
    value: Tensor  # [B]
    hidden: Tensor  # [B, H]
    belief: Tensor | None = None  # [B, numbers of a mixture] with policy.encoder = belief


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
            obs = obs.to(torch.float32, copy=True).div_(255.0)  # in place: 30 MB less to allocate
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
        self.horizon = horizon  # observations further from 0 are clipped to this
        self.head = make_head(role.actions)
        given = role.observations
        self.acting = given.acting if given.acting < given.size else None  # numbers for actions; none: all
        self.judged, self.believed, self.observed = given.judged, given.believed, given.size
        self.parts = PartsEncoder(given, config.encoder, generator) if config.network == "parts" else None
        numbers = given.acting if self.parts is None else self.parts.size
        self.body = Body(role, config, generator, numbers)
        recurrent = config.core != "none"
        own = config.separate and not recurrent
        self.value_body = Body(role, config, generator, numbers + given.judging) if own else None
        self.core = Core(config.core, self.body.size, config.core_size, generator) if recurrent else None
        size = self.body.size if self.core is None else self.core.size
        self.action_layer = _linear(size, self.head.outputs, ACTION_GAIN, generator)
        judged = size if self.value_body is None else self.value_body.size
        self.value_layer = _linear(judged, 1, VALUE_GAIN, generator)
        self.extra = nn.Parameter(torch.full((self.head.extra,), config.initial_log_std))
        self.core_size = 0 if self.core is None else self.core.memory_size  # numbers remembered per row

    def forward(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """One step of rows [B]; `starts` [B] marks rows whose memory is empty."""
        acted_on, judged, belief = self._encoded(self._clipped(obs))
        features = self.body(acted_on)
        if self.core is not None:
            features, hidden = self.core(features, hidden * (~starts)[:, None])
        return self._outputs(judged, features, hidden, belief)

    def sequence(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """[T, R, ...] in order, as one flat output of T*R rows; only for a policy with a core."""
        assert self.core is not None
        steps, rows = starts.shape
        acted_on, judged, belief = self._encoded(self._clipped(obs.flatten(0, 1)))
        features = self.body(acted_on).view(steps, rows, -1)
        kept = (~starts)[:, :, None].float()
        outputs = []
        for t in range(steps):
            now, hidden = self.core(features[t], hidden * kept[t])
            outputs.append(now)
        remembered = torch.stack(outputs).flatten(0, 1)  # [T, R, H] -> [T*R, H]
        return self._outputs(judged, remembered, hidden, belief)

    def _clipped(self, obs: Tensor) -> Tensor:
        return obs if self.horizon is None else obs.clamp(-self.horizon, self.horizon)

    def _encoded(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Inputs of the two bodies, and the belief."""
        acting = obs if self.acting is None else obs[:, : self.acting]
        if self.parts is None:
            return acting, obs, None
        features, belief = self.parts(acting)
        only_judged = obs[:, acting.shape[1] : self.judged]
        judged = torch.cat([features, only_judged], 1) if only_judged.shape[1] else features
        return features, judged, None if belief is None else belief.float()

    def _outputs(self, judged: Tensor, features: Tensor, hidden: Tensor, belief: Tensor | None) -> Output:
        valued = features if self.value_body is None else self.value_body(judged)
        actions, value = self.action_layer(features).float(), self.value_layer(valued)[:, 0].float()
        return Output(actions, value, hidden.float(), belief)

"""Encode an observation by its named parts: the lidar by circular convolutions, a history by one of three encoders, the
rest by plain layers; then two layers over all of them. With `belief`, the history's encoder also learns a mixture of
normal distributions over numbers that the policy does not observe, by the likelihood of the truth.

Sizes are those of an earlier project's network for sensors, so that its figures can be compared: with `belief` and
hidden layers of 256 and 256 behind it there are 498,430 weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from holdfast.learner.heads import HALF_LOG_2PI
from holdfast.worlds.spaces import HISTORY, LIDAR, Observations

Tensor = torch.Tensor
GAIN = math.sqrt(2.0)
RINGS = (32, 64)  # filters
REACH = 5  # rays in a filter's receptive field
SECTORS = 4  # that the lidar is pooled into
STATE, PAST, LATENT, MEMORY, JOINT = 64, 128, 32, 64, 256  # widths
COMPONENTS = 5  # of a belief's mixture
LOG_SIGMA = (-5.0, 2.0)  # limits, in standard deviations of the truth


class Encoded(NamedTuple):
    """Features of some rows."""

    features: Tensor  # [B, JOINT]
    belief: Tensor | None  # [B, numbers of a mixture], with that encoder


class PartEncoder(nn.Module):
    """Encodes one part of an observation into `size` features."""

    size: int


class PartsEncoder(nn.Module):
    """Observations [B, numbers] in, features out."""

    size = JOINT

    def __init__(self, observations: Observations, encoder: str, generator: torch.Generator) -> None:
        super().__init__()
        self.places: dict[str, tuple[int, int]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        encoders: dict[str, PartEncoder] = {}
        start = 0
        for name, shape in observations.parts:
            if start < observations.acting:
                self.places[name], self.shapes[name] = (start, start + math.prod(shape)), shape
                encoders[name] = _encoder_for(name, shape, encoder, observations.believed)
            start += math.prod(shape)
        self.encoders = nn.ModuleDict(encoders)
        self.sizes = {name: one.size for name, one in encoders.items()}  # features of each part
        wide = sum(self.sizes.values())
        self.joint = nn.Sequential(nn.Linear(wide, JOINT), nn.ReLU(), nn.Linear(JOINT, JOINT), nn.ReLU())
        _initialise(self, generator)

    def forward(self, obs: Tensor) -> Encoded:
        found, belief = [], None
        for name, encoder in self.encoders.items():
            start, end = self.places[name]
            features = encoder(obs[:, start:end].unflatten(1, self.shapes[name]))
            if isinstance(features, tuple):
                features, belief = features
            found.append(features)
        return Encoded(self.joint(torch.cat(found, 1)), belief)


def _encoder_for(name: str, shape: tuple[int, ...], encoder: str, believed: int) -> PartEncoder:
    if name == LIDAR:
        return RingEncoder()
    if name != HISTORY:
        return PlainEncoder(shape)
    if encoder == "belief":
        return BeliefEncoder(shape, believed)
    return FlatHistory(shape) if encoder == "mlp" else RecurrentHistory(shape)


def _initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Orthogonal weights in every layer, biases of 0 but for forget gates, which start open (Jozefowicz et al.
    2015)."""
    for name, weight in module.named_parameters():
        if weight.dim() > 1:
            nn.init.orthogonal_(weight, 1.0 if ".lstm." in name else GAIN, generator=generator)
        else:
            nn.init.zeros_(weight)
            if "bias_ih" in name:
                nn.init.ones_(weight[MEMORY : 2 * MEMORY])


class PlainEncoder(PartEncoder):
    """Numbers without an order."""

    size = STATE

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(math.prod(shape), STATE), nn.ReLU(), nn.Linear(STATE, STATE), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.layers(x.flatten(1))
        return features


class RingEncoder(PartEncoder):
    """A closed ring of ranges: its first ray is the neighbour of its last."""

    size = SECTORS * RINGS[-1]

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, RINGS[0], REACH)
        self.second = nn.Conv1d(RINGS[0], RINGS[1], REACH)

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None]
        for layer in (self.first, self.second):
            x = torch.relu(layer(closed(x)))
        return functional.adaptive_avg_pool1d(x, SECTORS).flatten(1)


def closed(ring: Tensor) -> Tensor:
    """[B, C, rays] with the last rays before the first and the first after the last, also where there are very few."""
    side, rays = REACH // 2, ring.shape[2]
    around = torch.arange(-side, rays + side) % rays
    return ring[:, :, around]


class FlatHistory(PartEncoder):
    """A history as one long vector."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        wide = [nn.Linear(math.prod(shape), PAST), nn.Tanh(), nn.Linear(PAST, PAST), nn.Tanh()]
        self.layers = nn.Sequential(*wide, nn.Linear(PAST, LATENT), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.layers(x.flatten(1))
        return features


class RecurrentHistory(PartEncoder):
    """A history read from its oldest vector to its newest."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.lstm = nn.LSTM(shape[1], MEMORY, batch_first=True)
        self.latent = nn.Linear(MEMORY, LATENT)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.latent(self.lstm(x)[1][0][0]))


class BeliefEncoder(PartEncoder):
    """A history read in both directions, and a belief about the opponent from both final memories."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...], believed: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(shape[1], MEMORY, batch_first=True, bidirectional=True)
        self.latent = nn.Linear(2 * MEMORY, LATENT)
        self.mixture = nn.Linear(2 * MEMORY, mixture_outputs(believed))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        ends = torch.cat(tuple(self.lstm(x)[1][0]), 1)  # [2, B, M] -> [B, 2M]
        return torch.tanh(self.latent(ends)), self.mixture(ends)


class Mixture(NamedTuple):
    """A mixture of normal distributions over K numbers. It shapes the encoder's features; actions do not depend on
    it."""

    log_weight: Tensor  # [B, C]
    mean: Tensor  # [B, C, K]
    log_sigma: Tensor  # [B, C, K]

    def error(self, truth: Tensor) -> Tensor:
        """Minus the log likelihood of the truth [B, K], as [B]."""
        away = (truth[:, None] - self.mean) * torch.exp(-self.log_sigma)
        log_p = (-0.5 * away**2 - self.log_sigma - HALF_LOG_2PI).sum(2)
        return -torch.logsumexp(self.log_weight + log_p, 1)

    def centre(self) -> Tensor:
        """The mean, [B, K]."""
        return (self.log_weight.exp()[:, :, None] * self.mean).sum(1)


def mixture_outputs(numbers: int) -> int:
    return COMPONENTS * (1 + 2 * numbers)


def mixture_of(outputs: Tensor) -> Mixture:
    """From the outputs of a network, [B, C * (1 + 2 K)]."""
    weight, rest = outputs[:, :COMPONENTS], outputs[:, COMPONENTS:]
    mean, log_sigma = rest.view(len(outputs), 2, COMPONENTS, -1).unbind(1)
    return Mixture(functional.log_softmax(weight, 1), mean, log_sigma.clamp(*LOG_SIGMA))

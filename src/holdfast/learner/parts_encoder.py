"""Looking at an observation by its named parts: a ring of ranges by convolutions, a history by an encoder, the rest by
plain layers; then two layers over all of them.

Sizes are those of an earlier project's network for sensors, so that its figures can be compared: with `belief` and
hidden layers of 256 and 256 behind it there are 498,430 weights. The ring is closed: its first ray is the neighbour of
its last.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from holdfast.worlds.spaces import HISTORY, LIDAR, Observations

Tensor = torch.Tensor
GAIN = math.sqrt(2.0)
RINGS = (32, 64)  # filters
REACH = 5  # rays that a filter sees
SECTORS = 4  # a ring is averaged over so many parts
STATE, PAST, LATENT, MEMORY, JOINT = 64, 128, 32, 64, 256  # widths


class Seen(NamedTuple):
    """What was made of some rows."""

    features: Tensor  # [B, JOINT]
    belief: Tensor | None  # [B, numbers of a mixture], with that encoder


class Look(nn.Module):
    """What looks at one part, and how many numbers it makes of it."""

    size: int


class Looker(nn.Module):
    """Observations [B, numbers] in, features out."""

    size = JOINT

    def __init__(self, sight: Observations, encoder: str, generator: torch.Generator) -> None:
        super().__init__()
        self.places: dict[str, tuple[int, int]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        looks: dict[str, Look] = {}
        start = 0
        for name, shape in sight.parts:
            if start < sight.acting:
                self.places[name], self.shapes[name] = (start, start + math.prod(shape)), shape
                looks[name] = _look_for(name, shape, encoder, sight.believed)
            start += math.prod(shape)
        self.looks = nn.ModuleDict(looks)
        wide = sum(look.size for look in looks.values())
        self.joint = nn.Sequential(nn.Linear(wide, JOINT), nn.ReLU(), nn.Linear(JOINT, JOINT), nn.ReLU())
        _begin(self, generator)

    def forward(self, obs: Tensor) -> Seen:
        found, belief = [], None
        for name, look in self.looks.items():
            start, end = self.places[name]
            said = look(obs[:, start:end].unflatten(1, self.shapes[name]))
            if isinstance(said, tuple):
                said, belief = said
            found.append(said)
        return Seen(self.joint(torch.cat(found, 1)), belief)


def _look_for(name: str, shape: tuple[int, ...], encoder: str, believed: int) -> Look:
    if name == LIDAR:
        return Ring()
    if name != HISTORY:
        return Plain(shape)
    if encoder == "belief":
        return Belief(shape, believed)
    return PlainPast(shape) if encoder == "mlp" else OrderedPast(shape)


def _begin(module: nn.Module, generator: torch.Generator) -> None:
    """First weights: orthogonal, whatever the layer; no shift, but forget gates start open (Jozefowicz et al. 2015)."""
    for name, weight in module.named_parameters():
        if weight.dim() > 1:
            nn.init.orthogonal_(weight, 1.0 if ".past." in name else GAIN, generator=generator)
        else:
            nn.init.zeros_(weight)
            if "bias_ih" in name:
                nn.init.ones_(weight[MEMORY : 2 * MEMORY])


class Plain(Look):
    """Numbers without an order."""

    size = STATE

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(math.prod(shape), STATE), nn.ReLU(), nn.Linear(STATE, STATE), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        said: Tensor = self.layers(x.flatten(1))
        return said


class Ring(Look):
    """Ranges all round, each beside its neighbours."""

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


class PlainPast(Look):
    """A history as one long vector."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        wide = [nn.Linear(math.prod(shape), PAST), nn.Tanh(), nn.Linear(PAST, PAST), nn.Tanh()]
        self.layers = nn.Sequential(*wide, nn.Linear(PAST, LATENT), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        said: Tensor = self.layers(x.flatten(1))
        return said


class OrderedPast(Look):
    """A history read from its oldest vector to its newest."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.past = nn.LSTM(shape[1], MEMORY, batch_first=True)
        self.latent = nn.Linear(MEMORY, LATENT)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.latent(self.past(x)[1][0][0]))


class Belief(Look):
    """A history read in both directions to their ends, and where that leads the opponent to be."""

    size = LATENT

    def __init__(self, shape: tuple[int, ...], believed: int) -> None:
        super().__init__()
        self.past = nn.LSTM(shape[1], MEMORY, batch_first=True, bidirectional=True)
        self.latent = nn.Linear(2 * MEMORY, LATENT)
        self.mixture = nn.Linear(2 * MEMORY, mixture_outputs(believed))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        ends = torch.cat(tuple(self.past(x)[1][0]), 1)  # [2, B, M] -> [B, 2M]
        return torch.tanh(self.latent(ends)), self.mixture(ends)


# --- beliefs --------------------------------------------------------------------------------------------------------

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

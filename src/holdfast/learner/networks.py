"""Convolutional networks for images, and recurrent cores. None has batch statistics: acting, learning and evaluating
would each use others.

Sizes per name: `pixels-small` as in Mnih et al. (2013) without its linear layer; `conv4` the network of a well-known
public PPO for Super Mario Bros; `impala` from Espeholt et al. (2018); `impala-large` the same with a stem and eight
times the filters. The linear layers behind them are `policy.hidden`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

GAIN = math.sqrt(2.0)
GROUPS = 8


class Layer(NamedTuple):
    """One convolution followed by ReLU."""

    filters: int
    size: int
    stride: int
    padding: int


PLAIN = {
    "cnn": [Layer(16, 3, 2, 1), Layer(32, 3, 2, 1), Layer(32, 3, 2, 1)],
    "pixels-small": [Layer(16, 8, 4, 0), Layer(32, 4, 2, 0)],
    "conv4": [Layer(32, 3, 2, 1)] * 4,
}
STAGES = {"impala": (16, 32, 32), "impala-large": (64, 128, 256)}
STEMS = {"impala-large": 32}


def make_convolutions(network: str, channels: int, norm: str, generator: torch.Generator) -> nn.Sequential:
    """[B, channels, height, width] in, feature maps out."""
    if network in PLAIN:
        return _plain(PLAIN[network], channels, norm, generator)
    layers: list[nn.Module] = []
    if network in STEMS:
        layers += [*_convolution(channels, Layer(STEMS[network], 3, 1, 1), norm, generator), nn.ReLU()]
        channels = STEMS[network]
    for filters in STAGES[network]:
        layers += [*_convolution(channels, Layer(filters, 3, 1, 1), norm, generator), nn.MaxPool2d(3, 2, 1)]
        layers += [Residual(filters, norm, generator), Residual(filters, norm, generator)]
        channels = filters
    return nn.Sequential(*layers, nn.ReLU())


class Residual(nn.Module):
    """Two convolutions whose output is added to their input."""

    def __init__(self, filters: int, norm: str, generator: torch.Generator) -> None:
        super().__init__()
        layer = Layer(filters, 3, 1, 1)
        self.first = nn.Sequential(nn.ReLU(), *_convolution(filters, layer, norm, generator))
        self.second = nn.Sequential(nn.ReLU(), *_convolution(filters, layer, norm, generator))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        added: torch.Tensor = x + self.second(self.first(x))
        return added


def _plain(table: list[Layer], channels: int, norm: str, generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer in table:
        layers += [*_convolution(channels, layer, norm, generator), nn.ReLU()]
        channels = layer.filters
    return nn.Sequential(*layers)


def _convolution(channels: int, layer: Layer, norm: str, generator: torch.Generator) -> list[nn.Module]:
    made = nn.Conv2d(channels, layer.filters, layer.size, layer.stride, layer.padding)
    nn.init.orthogonal_(made.weight, GAIN, generator=generator)
    nn.init.zeros_(made.bias)  # type: ignore[arg-type]
    return [made, nn.GroupNorm(GROUPS, layer.filters)] if norm == "group" else [made]


def feature_count(convolutions: nn.Sequential, shape: tuple[int, ...]) -> int:
    """Features of an image [height, width, channels]."""
    height, width, channels = shape
    with torch.no_grad():
        return convolutions(torch.zeros(1, channels, height, width)).numel()


class Core(nn.Module):
    """A GRU (Cho et al. 2014) or LSTM (Hochreiter and Schmidhuber 1997) cell, whose whole memory is one row of numbers:
    it can be stored, saved and emptied like any other array."""

    def __init__(self, kind: str, inputs: int, size: int, generator: torch.Generator) -> None:
        super().__init__()
        self.size = size
        self.cell: nn.GRUCell | nn.LSTMCell = nn.GRUCell(inputs, size) if kind == "gru" else nn.LSTMCell(inputs, size)
        for name, weight in self.cell.named_parameters():
            nn.init.zeros_(weight) if "bias" in name else nn.init.orthogonal_(weight, generator=generator)
        if kind == "lstm":  # remember at first: the forget gate starts open (Jozefowicz et al. 2015)
            nn.init.ones_(self.cell.bias_ih[size : 2 * size])

    @property
    def memory_size(self) -> int:
        """Numbers per row: an LSTM keeps its cell beside its output."""
        return self.size if isinstance(self.cell, nn.GRUCell) else 2 * self.size

    def forward(self, features: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The output, and the memory after it."""
        if isinstance(self.cell, nn.GRUCell):
            output: torch.Tensor = self.cell(features, memory)
            return output, output
        output, kept = self.cell(features, (memory[:, : self.size], memory[:, self.size :]))
        return output, torch.cat([output, kept], 1)

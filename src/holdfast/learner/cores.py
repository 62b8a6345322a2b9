"""Memory inside an episode: a recurrent cell whose whole memory is one row of numbers, so that it can be stored,
saved and emptied like any other array."""

from __future__ import annotations

import torch
from torch import nn

Tensor = torch.Tensor


class Core(nn.Module):
    """A GRU (Cho et al. 2014) or LSTM (Hochreiter and Schmidhuber 1997) cell."""

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

    def forward(self, features: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What is said now, and the memory afterwards."""
        if isinstance(self.cell, nn.GRUCell):
            said: Tensor = self.cell(features, memory)
            return said, said
        said, kept = self.cell(features, (memory[:, : self.size], memory[:, self.size :]))
        return said, torch.cat([said, kept], 1)

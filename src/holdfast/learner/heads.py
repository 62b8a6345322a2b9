"""From a network's last layer to actions: one class per kind of action, all with the same four methods.

Written out instead of `torch.distributions`, whose argument checks and objects cost more than the arithmetic here.
"""

from __future__ import annotations

import math

import torch

from holdfast.worlds.spaces import Actions, Continuous, Discrete, Grid, MultiDiscrete

Tensor = torch.Tensor
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class DiscreteHead:
    """One choice of n from logits [B, n]."""

    extra = 0  # parameters beside the network's output

    def __init__(self, space: Discrete) -> None:
        self.outputs = space.n

    def sample(self, out: Tensor, extra: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Actions and their log probability. The first to ring of exponential clocks with rates p is a sample from
        p."""
        log_p = torch.log_softmax(out, -1)
        clocks = torch.empty_like(log_p).exponential_(generator=generator)
        actions = (log_p - clocks.log_()).argmax(-1)
        return actions, log_p.gather(-1, actions[:, None])[:, 0]

    def greedy(self, out: Tensor, extra: Tensor) -> Tensor:
        return out.argmax(-1)

    def evaluate(self, out: Tensor, extra: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log probability of given actions, and the entropy, both [B]."""
        log_p = torch.log_softmax(out, -1)
        entropy = -(log_p.exp() * log_p).sum(-1)
        return log_p.gather(-1, actions[:, None])[:, 0], entropy

    def for_world(self, actions: Tensor) -> Tensor:
        return actions


class MultiDiscreteHead:
    """Several independent choices from logits [B, sum of counts]."""

    extra = 0

    def __init__(self, space: MultiDiscrete) -> None:
        self.counts = list(space.counts)
        self.outputs = sum(self.counts)
        self.parts = [DiscreteHead(Discrete(count)) for count in self.counts]

    def sample(self, out: Tensor, extra: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        sampled = [part.sample(logits, extra, generator) for part, logits in self._split(out)]
        return torch.stack([actions for actions, _ in sampled], -1), torch.stack([log_p for _, log_p in sampled]).sum(0)

    def greedy(self, out: Tensor, extra: Tensor) -> Tensor:
        return torch.stack([part.greedy(logits, extra) for part, logits in self._split(out)], -1)

    def evaluate(self, out: Tensor, extra: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        found = [part.evaluate(logits, extra, actions[:, k]) for k, (part, logits) in enumerate(self._split(out))]
        return torch.stack([log_p for log_p, _ in found]).sum(0), torch.stack([h for _, h in found]).sum(0)

    def for_world(self, actions: Tensor) -> Tensor:
        return actions

    def _split(self, out: Tensor) -> list[tuple[DiscreteHead, Tensor]]:
        return list(zip(self.parts, out.split(self.counts, -1), strict=True))


class ContinuousHead:
    """A normal distribution per number: means [B, K] from the network, one log deviation [K] for all states."""

    def __init__(self, space: Continuous) -> None:
        self.outputs = self.extra = len(space)
        self.low, self.high = torch.tensor(space.low), torch.tensor(space.high)

    def sample(self, out: Tensor, extra: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        noise = torch.empty_like(out).normal_(generator=generator)
        return out + noise * extra.exp(), -(0.5 * noise**2 + extra + HALF_LOG_2PI).sum(-1)

    def greedy(self, out: Tensor, extra: Tensor) -> Tensor:
        return out

    def evaluate(self, out: Tensor, extra: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        noise = (actions - out) * (-extra).exp()
        entropy = (0.5 + HALF_LOG_2PI + extra).sum().expand(len(out))
        return -(0.5 * noise**2 + extra + HALF_LOG_2PI).sum(-1), entropy

    def for_world(self, actions: Tensor) -> Tensor:
        """The policy's probabilities are those of the unclipped sample, as is usual."""
        return torch.clamp(actions, self.low, self.high)


class GridHead(DiscreteHead):
    """One choice of the points of a box. Unlike a normal distribution it can give both ends a high probability."""

    def __init__(self, space: Grid) -> None:
        super().__init__(Discrete(space.n))
        self.points = torch.from_numpy(space.points())

    def for_world(self, actions: Tensor) -> Tensor:
        return self.points[actions]


Head = DiscreteHead | MultiDiscreteHead | ContinuousHead


def make_head(space: Actions) -> Head:
    match space:
        case Discrete():
            return DiscreteHead(space)
        case MultiDiscrete():
            return MultiDiscreteHead(space)
        case Continuous():
            return ContinuousHead(space)
        case Grid():
            return GridHead(space)

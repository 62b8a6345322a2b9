"""Everything that learning changes for one role: weights, optimiser, normalisers, and its replay buffer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from holdfast.config.sections import Config, LearnerConfig, PolicyConfig
from holdfast.learner.batch import Batch
from holdfast.learner.engines import Engine, chosen_engine
from holdfast.learner.engines.eager import Eager
from holdfast.learner.engines.fused import Fused
from holdfast.learner.engines.wide import Wide
from holdfast.learner.normalize import CLIP, Moments
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Output, Policy
from holdfast.learner.replay import Replay
from holdfast.worlds.api import Role

ADAM_EPS = 1e-5

if TYPE_CHECKING:
    from holdfast.learner.ewc import Anchor
    from holdfast.learner.rnd import Novelty

# Multiply-adds of a minibatch in the largest layer. Below, a second thread of torch saves at most a seventh on a quiet
# machine; on a busy one threads wait for each other at every layer, and a small network becomes many times slower.
WORTH_SHARING = 1 << 22
KERNEL_ENGINES: dict[str, Callable[[Policy, FlatAdam, int], Engine]] = {"fused": Fused, "wide": Wide}


class Part(Protocol):
    """A part of a learner's state: arrays to save and to restore."""

    def arrays(self) -> dict[str, np.ndarray]: ...
    def restore(self, arrays: dict[str, np.ndarray]) -> None: ...


class Learner:
    """One role's policy and all that trains it. Its configuration never changes: what does is an update's `Pace`."""

    def __init__(
        self, role: Role, policy: PolicyConfig, config: LearnerConfig, generator: torch.Generator, threads: int = 1
    ) -> None:
        self.role = role = role.discretized(policy.grid)
        self.config = config
        scaled = config.normalize_observations and not role.observations.is_image
        self.policy = Policy(role, policy, generator, horizon=CLIP if scaled else None)
        self.optimizer = FlatAdam(self.policy, ADAM_EPS, config.weight_decay)
        self.eager = Eager(self.policy, self.optimizer, config)
        self.engine: Engine = self.eager
        if (name := chosen_engine(role, policy, config)) in KERNEL_ENGINES:
            self.engine = KERNEL_ENGINES[name](self.policy, self.optimizer, threads)
        self.observations = Moments(role.observations.size) if scaled else None
        self.returns = Moments(1) if config.normalize_returns else None
        self.replay: Replay | None = None  # these three are given to a learner that trains
        self.anchor: Anchor | None = None  # holds weights of earlier levels (EWC)
        self.novelty: Novelty | None = None  # pays for new observations (RND)
        self.log_std_floor: float | None = None  # least log of the noise of continuous actions

    def useful_threads(self, steps: int, threads: int) -> int:
        """How many of these threads torch should use for updates from rollouts of `steps` steps."""
        if not self.engine.follows or self.role.observations.is_image:
            return threads
        rows = self.config.minibatch if self.policy.core is None else self.config.minibatch // steps
        largest = max(parameter.numel() for parameter in self.policy.parameters())
        return threads if rows * largest >= WORTH_SHARING else 1

    def ask(self, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor) -> Output:
        """The network's outputs for rows [B] of normalised observations, without gradients."""
        return self.engine.ask(obs, hidden, starts)

    def rollouts(self, batch: Batch, rows: torch.Tensor) -> Output:
        """Outputs for whole rows of a batch, T*R of them, memory carried along; with gradients if the engine's autograd
        follows them."""
        if self.policy.core is not None:
            return self.eager.sequence(batch.obs[:, rows], batch.hidden[rows], batch.starts[:, rows])
        obs = batch.obs[:, rows].flatten(0, 1)
        return self.eager.forward(obs) if self.engine.follows else self.engine.ask(obs, obs[:0], obs[:0])

    def normalized(self, raw: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Observations [B, ...] of the world as the policy takes them, written to `out` if it is given."""
        if self.observations is None:
            kept = torch.uint8 if self.role.observations.is_image else torch.float32
            return raw.to(kept) if out is None else out.copy_(raw)
        out = torch.empty(raw.shape) if out is None else out
        self.observations.scale(raw.flatten(1), out.view(len(out), self.role.observations.size))
        return out

    def parts(self) -> dict[str, Part]:
        """The parts of a frozen copy of this learner."""
        found: dict[str, Part | None] = {
            "optimizer": self.optimizer,
            "observations": self.observations,
            "returns": self.returns,
            "ewc": self.anchor,
            "rnd": self.novelty,
        }
        return {name: part for name, part in found.items() if part is not None}

    def follow(self, other: Learner) -> None:
        """Become a frozen copy of another learner of the same shape: its weights and scales, not its optimiser."""
        self.optimizer.parameters.copy_(other.optimizer.parameters)
        for mine, theirs in ((self.observations, other.observations), (self.returns, other.returns)):
            if mine is not None and theirs is not None:
                mine.restore(theirs.arrays())

    def learn_scale(self, returns: torch.Tensor) -> None:
        """Take returns [rows] into the running scale and correct the last value layer so that its outputs in units of
        reward stay as they were (PopArt, van Hasselt et al. 2016)."""
        if self.returns is None:
            return
        mean, std = self.returns.mean32, self.returns.std32
        self.returns.update(returns[:, None])
        layer = self.policy.value_layer
        with torch.no_grad():
            layer.weight.mul_(std / self.returns.std32)
            layer.bias.mul_(std).add_(mean - self.returns.mean32).div_(self.returns.std32)

    def value_in_reward(self, value: torch.Tensor) -> torch.Tensor:
        return value if self.returns is None else self.returns.unscale(value)

    def value_in_network(self, value: torch.Tensor) -> torch.Tensor:
        return value if self.returns is None else self.returns.scaled(value)


def make_learners(config: Config, roles: tuple[Role, ...], generator: torch.Generator) -> dict[str, Learner]:
    """A learner for each role; `generator` is for the first weights."""
    threads = config.rollout.threads if config.rollout.lag == 0 else max(1, config.rollout.threads // 2)
    return {role.name: Learner(role, config.policy, config.learner, generator, threads) for role in roles}


def torch_threads(learners: Mapping[str, Learner], steps: int, threads: int) -> int:
    """Threads of torch for all of these learners."""
    return max(learner.useful_threads(steps, threads) for learner in learners.values())


def fingerprint(learners: dict[str, Learner]) -> str:
    """Twelve hexadecimal digits of the weights and of the scale of observations: policies with equal ones act alike."""
    digest = hashlib.sha256()
    for role in sorted(learners):
        learner = learners[role]
        weights = {name: tensor.detach().numpy() for name, tensor in learner.policy.state_dict().items()}
        scale = learner.observations.arrays() if learner.observations is not None else {}
        for name, array in sorted({**weights, **scale}.items()):
            digest.update(f"{role}/{name}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]

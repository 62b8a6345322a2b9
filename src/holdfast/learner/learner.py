"""Everything that learning changes for one role: weights, optimiser, normalisers, and what it replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from holdfast.config.sections import Config, LearnerConfig, PolicyConfig
from holdfast.learner.batch import Batch
from holdfast.learner.choices import as_chosen
from holdfast.learner.engine import chosen_engine
from holdfast.learner.fused import Fused
from holdfast.learner.normalize import CLIP, Moments
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Output, Policy
from holdfast.learner.precision import computing
from holdfast.learner.replay import Replay
from holdfast.learner.wide import Wide
from holdfast.worlds.api import Role

if TYPE_CHECKING:
    from holdfast.learner.ewc import Anchor
    from holdfast.learner.rnd import Novelty


class Part(Protocol):
    """Something of a learner that changes: arrays to be saved, and taken back."""

    def arrays(self) -> dict[str, np.ndarray]: ...
    def restore(self, arrays: dict[str, np.ndarray]) -> None: ...


class Learner:
    """One role's policy with all that moves it."""

    def __init__(
        self, role: Role, policy: PolicyConfig, config: LearnerConfig, generator: torch.Generator, threads: int = 1
    ) -> None:
        self.role = role = as_chosen(role, policy)
        self.config = config
        scaled = config.normalize_observations and not role.observations.is_image
        self.policy = Policy(role, policy, generator, horizon=CLIP if scaled else None)
        self.optimizer = FlatAdam(self.policy, config.adam_eps, config.weight_decay)
        self.engine = self._make_engine(chosen_engine(role, policy, config), threads)
        self.observations = Moments(role.observations.size) if scaled else None
        self.returns = Moments(1) if config.normalize_returns else None
        self.replay: Replay | None = None  # these three are given to a learner that trains
        self.anchor: Anchor | None = None  # holds weights of earlier levels (EWC)
        self.novelty: Novelty | None = None  # pays for new observations (RND)
        self.log_std_floor: float | None = None  # least log of the noise of continuous actions
        # compiled in place of the call, so that parameters keep their names and acting its own, eager way
        self._passes: Any = torch.compile(self.policy, dynamic=True) if config.compile else self.policy

    def _make_engine(self, name: str, threads: int) -> Fused | Wide | None:
        if name == "fused":
            return Fused(self.policy, self.optimizer, self.config, threads)
        return Wide(self.policy, self.optimizer, self.config, threads) if name == "wide" else None

    def ask(self, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor) -> Output:
        """What the network says about rows [B], without gradients."""
        if self.engine is not None:
            return Output(*self.engine.forward(obs), hidden)
        with computing(self.config):
            return self.policy(obs, hidden, starts)

    def answer(self, obs: torch.Tensor) -> Output:
        """What a network without memory says about rows [B], with gradients."""
        none = obs[:0]
        with computing(self.config):
            output: Output = self._passes(obs, none, none)
        return output

    def answer_rows(self, batch: Batch, rows: torch.Tensor) -> Output:
        """What it says about whole rows of a batch, T*R answers, memory carried along; with gradients, unless those are
        an engine's affair."""
        if self.policy.core is None:
            obs = batch.obs[:, rows].flatten(0, 1)
            return self.answer(obs) if self.engine is None else self.ask(obs, obs[:0], obs[:0])
        with computing(self.config):
            return self.policy.sequence(batch.obs[:, rows], batch.hidden[rows], batch.starts[:, rows])

    def parts(self) -> dict[str, Part]:
        """All that a frozen copy of this learner consists of."""
        found: dict[str, Part | None] = {
            "optimizer": self.optimizer,
            "observations": self.observations,
            "returns": self.returns,
            "ewc": self.anchor,
            "rnd": self.novelty,
        }
        return {name: part for name, part in found.items() if part is not None}

    def follow(self, other: Learner) -> None:
        """Become a frozen copy of another learner of the same shape: what it says, not how it moves."""
        self.optimizer.parameters.copy_(other.optimizer.parameters)
        for mine, theirs in ((self.observations, other.observations), (self.returns, other.returns)):
            if mine is not None and theirs is not None:
                mine.restore(theirs.arrays())

    def learn_scale(self, returns: torch.Tensor) -> None:
        """Take returns [rows] into the running scale and correct the last value layer so that what it says in units of
        reward stays as it was (PopArt, van Hasselt et al. 2016)."""
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
    """`generator` draws the first weights."""
    threads = config.rollout.threads if config.rollout.lag == 0 else max(1, config.rollout.threads // 2)
    return {role.name: Learner(role, config.policy, config.learner, generator, threads) for role in roles}

"""The torch engine: every policy, every loss. Other engines are tested against it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from holdfast.config.sections import LearnerConfig
from holdfast.learner.engines.layout import ActingTower
from holdfast.learner.losses import BeliefError, Loss, Minibatch, Objective, surrogate_loss
from holdfast.learner.optim import FlatAdam
from holdfast.learner.parts_encoder import mixture_of
from holdfast.learner.policy import Output, Policy

Tensor = torch.Tensor


class Eager:
    """Passes of one policy by torch, in half precision and compiled if the configuration says so."""

    follows = True
    tower: ActingTower | None = None

    def __init__(self, policy: Policy, optimizer: FlatAdam, config: LearnerConfig) -> None:
        self.policy, self.optimizer, self.amp = policy, optimizer, config.amp
        self.belief_error: BeliefError | None = None
        # compiled in place of the call: parameters keep their names, and acting stays eager
        self._forward: Any = torch.compile(policy, dynamic=True) if config.compile else policy

    def _precision(self) -> AbstractContextManager[object]:
        """Of the network's passes. Probabilities, targets and losses are computed outside, in float32."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self.amp == "bf16")

    def ask(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        with self._precision():
            output: Output = self.policy(obs, hidden, starts)
        return output

    def forward(self, obs: Tensor) -> Output:
        """Outputs of a network without memory for rows [B], with gradients."""
        none = obs[:0]
        with self._precision():
            output: Output = self._forward(obs, none, none)
        return output

    def sequence(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        """Outputs for [T, R, ...], memory carried along, as one of T*R rows, with gradients."""
        with self._precision():
            return self.policy.sequence(obs, hidden, starts)

    def descend(self, part: Minibatch, objective: Objective) -> Loss:
        return self.descend_from(self.forward(part.obs), part, objective)

    def descend_from(self, output: Output, part: Minibatch, objective: Objective) -> Loss:
        """The same from outputs that autograd follows."""
        evaluated = self.policy.head.evaluate(output.actions, self.policy.extra, part.actions)
        loss = surrogate_loss(objective, part, *evaluated, output.value)
        if output.belief is not None:
            loss = loss._replace(total=loss.total + objective.belief * self._error(output.belief, part.obs))
        self.optimizer.zero()
        loss.total.backward()
        return loss

    def _error(self, belief: Tensor, obs: Tensor) -> Tensor:
        """The mean error of a belief about the last numbers of an observation, which the policy does not observe."""
        truth, mixture = obs[:, -self.policy.believed :], mixture_of(belief)
        error = mixture.error(truth).mean()
        with torch.no_grad():
            distance = (mixture.centre() - truth).square().sum(1).mean().sqrt()
        self.belief_error = BeliefError(float(error.detach()), float(distance))
        return error

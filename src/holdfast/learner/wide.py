"""The engine for wide policies, and for those that look at a sight by its parts: both passes by products of our own.

Same parameters, same optimiser, same losses as the torch path, and tested against it. Autograd records an operation per
layer, activation and term of the loss, each with arrays of its own, and the matrix products behind torch may use half
of a core's vectors; with two layers of 256 units and minibatches of 256 rows training is 1.5 times as fast this way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from holdfast.config.sections import LearnerConfig
from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import announced, use_threads
from holdfast.learner import look_kernels, wide_kernels, wide_passes
from holdfast.learner.batch import array
from holdfast.learner.fused import BOUNDLESS, knobs_of, loss_of, rows_of
from holdfast.learner.fused_kernels import SUMS, TILE
from holdfast.learner.heads import ContinuousHead
from holdfast.learner.losses import Loss, Minibatch
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Policy
from holdfast.learner.shapes import Asked
from holdfast.learner.wide_net import jobs_of, make_net

Tensor = torch.Tensor
FEW = 32  # rows that are worth two tiles


class Believed(NamedTuple):
    """How a belief fared on a minibatch."""

    error: float  # minus the log likelihood of the truth
    distance: float  # of what is expected from it


class Wide:
    """Passes bound to one policy's parameters."""

    def __init__(self, policy: Policy, optimizer: FlatAdam, config: LearnerConfig, threads: int = 1) -> None:
        self.config, self.optimizer, self.extra, self.threads = config, optimizer, policy.extra, threads
        self.is_normal = isinstance(policy.head, ContinuousHead)
        self.outputs = policy.head.outputs
        self.horizon = BOUNDLESS if policy.horizon is None else np.float32(policy.horizon)
        self.net, self.room, turned = make_net(policy, optimizer)
        self.beliefs = int(self.net.mixture.outputs.sum())  # numbers of a mixture; 0 without a belief
        self.jobs, self.shifts = jobs_of(self.net, threads)
        self.turned = aligned((turned,), np.float32)
        self.scratch = aligned((0, self.room), np.float32)
        self.sums = np.zeros(SUMS)
        self.believed: Believed | None = None  # of the last minibatch
        with announced("learner", wide_passes.__file__):
            self._warm_up(policy)

    def _warm_up(self, policy: Policy) -> None:
        """Compile before the run begins; one row of zeros leaves no trace but a gradient, which is cleared."""
        none, zero = torch.zeros(1), torch.zeros(1, policy.sight_size)
        actions = torch.zeros(1, self.outputs) if self.is_normal else torch.zeros(1, dtype=torch.int64)
        self.descend(Minibatch(zero, actions, none, none, none, none), 0.0)
        self.optimizer.zero()

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """What the head gets [B, n], and values [B]."""
        asked = self._ask(obs)
        return torch.from_numpy(asked.said), torch.from_numpy(asked.values)[:, 0]

    @torch.no_grad()
    def descend(self, part: Minibatch, entropy_coef: float) -> Loss:
        """Write the loss's gradient on this minibatch to the optimiser, and return the loss, as `Fused.descend`."""
        knobs, rows = knobs_of(self.config, entropy_coef, len(part.obs), BOUNDLESS), rows_of(part)
        asked = self._ask(part.obs)
        by = asked._replace(**{name: np.empty_like(getattr(asked, name)) for name in ("said", "values", "beliefs")})
        self.sums[:] = 0.0
        if self.is_normal:
            assert self.extra.grad is not None
            log_std, by_log_std = array(self.extra), array(self.extra.grad)
            wide_kernels.normal_errors(asked.said, log_std, rows, knobs, by.said, by_log_std, self.sums)
        else:
            wide_kernels.choice_errors(asked.said, rows, knobs, by.said, self.sums)
        wide_kernels.value_errors(asked.values, rows, knobs, by.values, self.sums)
        loss = loss_of(self.sums, self.config, entropy_coef)
        if self.beliefs:
            loss = loss._replace(total=loss.total + self._believe(asked.beliefs, rows.obs, by.beliefs))
        parameters, gradients = array(self.optimizer.parameters), array(self.optimizer.gradients)
        work = gradients, self.jobs, self.shifts
        wide_passes.backward(parameters, self.turned, by, self.scratch, *work, *self.net)
        return loss

    def _ask(self, obs: Tensor) -> Asked:
        rows, ends = len(obs), tiles_of(len(obs))
        if len(self.scratch) < len(ends) - 1:
            self.scratch = aligned((len(ends) - 1, self.room), np.float32)
        said = [np.empty((rows, numbers), np.float32) for numbers in (self.outputs, 1, self.beliefs)]
        asked = Asked(array(obs.flatten(1)), self.horizon, ends, *said)
        use_threads(self.threads)
        wide_passes.forward(array(self.optimizer.parameters), self.turned, asked, self.scratch, *self.net)
        return asked

    def _believe(self, said: np.ndarray, obs: np.ndarray, errors: np.ndarray) -> float:
        """The belief's part of the loss; its slopes go to `errors`. V-trace learns no beliefs."""
        weight, sums = self.config.belief_coef if self.config.algorithm == "ppo" else 0.0, np.zeros(2)
        look_kernels.belief_errors(said, obs, weight / len(said), errors, sums)
        error, square = sums / len(said)
        self.believed = Believed(error, float(np.sqrt(square)))
        return float(weight * error)


def tiles_of(rows: int) -> np.ndarray:
    """Where tiles begin, and where the last one ends: of about equal size, two of them as soon as two threads gain."""
    count = max(-(-rows // TILE), 2 if rows >= FEW else 1)
    return np.arange(count + 1, dtype=np.int64) * rows // count

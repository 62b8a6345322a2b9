"""The engine for wide policies, and for those that encode an observation by its parts: both passes by products of our
own.

Same parameters, same optimiser, same losses as the torch engine, and tested against it. Autograd records an operation
per layer, activation and term of the loss, each with arrays of its own, and the matrix products behind torch may use
half of a core's vectors; with two layers of 256 units and minibatches of 256 rows training is 1.5 times as fast this
way.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import announced, use_threads
from holdfast.learner.batch import array
from holdfast.learner.engines import loss_kernels, parts_kernels, wide_kernels
from holdfast.learner.engines.fused import WARM_UP, knobs_of, loss_of, rows_of
from holdfast.learner.engines.layout import BOUNDLESS, SUMS, TILE, ActingTower, Asked
from holdfast.learner.engines.wide_layout import jobs_of, make_net
from holdfast.learner.heads import ContinuousHead
from holdfast.learner.losses import BeliefError, Loss, Minibatch, Objective
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Output, Policy

Tensor = torch.Tensor
FEW = 32  # rows that are worth two tiles


class Wide:
    """Passes bound to one policy's parameters."""

    follows = False
    tower: ActingTower | None = None

    def __init__(self, policy: Policy, optimizer: FlatAdam, threads: int) -> None:
        self.optimizer, self.extra, self.threads = optimizer, policy.extra, threads
        self.is_normal = isinstance(policy.head, ContinuousHead)
        self.outputs = policy.head.outputs
        self.horizon = BOUNDLESS if policy.horizon is None else np.float32(policy.horizon)
        self.net, self.room, transposed = make_net(policy, optimizer)
        self.beliefs = int(self.net.mixture.outputs.sum())  # numbers of a mixture; 0 without a belief
        self.jobs, self.shifts = jobs_of(self.net, threads)
        self.transposed = aligned((transposed,), np.float32)
        self.scratch = aligned((0, self.room), np.float32)
        self.sums = np.zeros(SUMS)
        self.belief_error: BeliefError | None = None
        with announced("learner", wide_kernels.__file__):
            self._warm_up(policy)

    def _warm_up(self, policy: Policy) -> None:
        """Compile before the run begins; one row of zeros leaves no trace but a gradient, which is cleared."""
        none, zero = torch.zeros(1), torch.zeros(1, policy.observed)
        actions = torch.zeros(1, self.outputs) if self.is_normal else torch.zeros(1, dtype=torch.int64)
        self.descend(Minibatch(zero, actions, none, none, none, none), WARM_UP)
        self.optimizer.zero()

    def ask(self, obs: Tensor, hidden: Tensor, starts: Tensor) -> Output:
        asked = self._forward(obs)
        return Output(torch.from_numpy(asked.actions), torch.from_numpy(asked.values)[:, 0], hidden)

    @torch.no_grad()
    def descend(self, part: Minibatch, objective: Objective) -> Loss:
        knobs, rows = knobs_of(objective, len(part.obs), BOUNDLESS), rows_of(part)
        asked = self._forward(part.obs)
        by = asked._replace(**{name: np.empty_like(getattr(asked, name)) for name in ("actions", "values", "beliefs")})
        self.sums[:] = 0.0
        if self.is_normal:
            assert self.extra.grad is not None
            log_std, by_log_std = array(self.extra), array(self.extra.grad)
            loss_kernels.normal_errors(asked.actions, log_std, rows, knobs, by.actions, by_log_std, self.sums)
        else:
            loss_kernels.choice_errors(asked.actions, rows, knobs, by.actions, self.sums)
        loss_kernels.value_errors(asked.values, rows, knobs, by.values, self.sums)
        loss = loss_of(self.sums, objective)
        if self.beliefs:
            error = self._believe(asked.beliefs, rows.obs, objective.belief, by.beliefs)
            loss = loss._replace(total=loss.total + error)
        parameters, gradients = array(self.optimizer.parameters), array(self.optimizer.gradients)
        work = gradients, self.jobs, self.shifts
        wide_kernels.backward(parameters, self.transposed, by, self.scratch, *work, *self.net)
        return loss

    def _forward(self, obs: Tensor) -> Asked:
        rows, ends = len(obs), tiles_of(len(obs))
        if len(self.scratch) < len(ends) - 1:
            self.scratch = aligned((len(ends) - 1, self.room), np.float32)
        outputs = [np.empty((rows, numbers), np.float32) for numbers in (self.outputs, 1, self.beliefs)]
        asked = Asked(array(obs.flatten(1)), self.horizon, ends, *outputs)
        use_threads(self.threads)
        wide_kernels.forward(array(self.optimizer.parameters), self.transposed, asked, self.scratch, *self.net)
        return asked

    def _believe(self, beliefs: np.ndarray, obs: np.ndarray, weight: float, errors: np.ndarray) -> float:
        """The belief's part of the loss; its gradient with respect to `beliefs` goes to `errors`."""
        sums = np.zeros(2)
        parts_kernels.belief_errors(beliefs, obs, weight / len(beliefs), errors, sums)
        error, square = sums / len(beliefs)
        self.belief_error = BeliefError(error, float(np.sqrt(square)))
        return float(weight * error)


def tiles_of(rows: int) -> np.ndarray:
    """Where tiles begin, and where the last one ends: of about equal size, two of them as soon as two threads gain."""
    count = max(-(-rows // TILE), 2 if rows >= FEW else 1)
    return np.arange(count + 1, dtype=np.int64) * rows // count

"""An actor-critic whose targets are corrected for the age of the actions (V-trace, Espeholt et al. 2018).

Minibatches are whole rows. Each is asked anew what the policy of the moment thinks of its actions and states, so that
a second epoch, a lagging actor and replayed steps are corrected by one formula. Values beyond a batch's edges are those
of the policy that acted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from holdfast.kit.compiled import kernel
from holdfast.learner.advantages import explained_variance
from holdfast.learner.batch import Batch, array
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Loss, Minibatch, actor_critic_loss, normalized, spread_of
from holdfast.learner.ppo import shuffled_rows
from holdfast.learner.replaying import Replaying
from holdfast.learner.schedules import Pace


class Trace(NamedTuple):
    """V-trace's constants."""

    discount: float
    trace: float  # lambda
    rho_bar: float
    c_bar: float


class Targets(NamedTuple):
    """What V-trace says about steps [T, R], in units of reward."""

    value: torch.Tensor  # where the value should be: v
    advantage: torch.Tensor  # rho (r + gamma v of the next step - V)


@kernel
def vtrace_kernel(  # type: ignore[no-untyped-def]
    reward, value, last_value, bootstrap, learned, terminated, truncated, ratio, trace, target, advantage
):
    steps, rows = reward.shape
    carry = np.zeros(rows)  # v - V of the step after this one
    following = np.empty(rows)
    for row in range(rows):
        following[row] = np.float64(last_value[row])
    for t in range(steps - 1, -1, -1):
        for row in range(rows):
            now = np.float64(value[t, row])
            rho = c = 0.0  # of a step nothing is learned from: its value stands, and what led to it counts that
            if learned[t, row]:
                weight = np.float64(ratio[t, row])
                rho, c = min(trace.rho_bar, weight), trace.trace * min(trace.c_bar, weight)
            ahead, traced = following[row], carry[row]
            if terminated[t, row]:
                ahead, traced = 0.0, 0.0
            elif truncated[t, row]:
                ahead, traced = np.float64(bootstrap[t, row]), 0.0
            gain = np.float64(reward[t, row])
            worth = gain + trace.discount * (ahead + traced)
            carry[row] = rho * (gain + trace.discount * ahead - now) + trace.discount * c * traced
            target[t, row] = np.float32(now + carry[row])
            advantage[t, row] = np.float32(rho * (worth - now))
            following[row] = now


def vtrace(batch: Batch, rows: torch.Tensor, value: torch.Tensor, ratio: torch.Tensor, trace: Trace) -> Targets:
    """Targets for some rows of a batch, from what the policy of the moment says about them, [T, R]."""
    found = Targets(*(torch.zeros_like(value) for _ in range(2)))
    vtrace_kernel(
        array(batch.reward[:, rows]),
        array(value),
        array(batch.last_value[rows]),
        array(batch.bootstrap[:, rows]),
        array(batch.learned[:, rows]),
        array(batch.terminated[:, rows]),
        array(batch.truncated[:, rows]),
        array(ratio),
        trace,
        array(found.value),
        array(found.advantage),
    )
    return found


class VtraceLesson:
    """One batch, its targets renewed in every minibatch."""

    def __init__(self, learner: Learner, batch: Batch) -> None:
        self.learner, self.batch, self.learned = learner, batch, batch.learned
        config = learner.config
        self.trace = Trace(config.gamma, config.trace_lambda, config.rho_bar, config.c_bar)
        self.spread = 1.0  # what the last minibatch's advantages were divided by
        self.ratios: list[torch.Tensor] = []
        self.advantage = torch.zeros_like(batch.value)  # as the last minibatches found it
        self.replaying = None if learner.replay is None else Replaying(learner, learner.replay)
        everyone = torch.arange(batch.rows)
        first = vtrace(batch, everyone, batch.value, torch.ones_like(batch.value), self.trace)
        self.explained_variance = explained_variance(batch.value[self.learned], first.value[self.learned])
        learner.learn_scale(first.value[self.learned])

    def epoch(self, pace: Pace, generator: torch.Generator) -> Iterator[Loss]:
        for rows in shuffled_rows(self.learner, self.batch, generator):
            if bool(self.learned[:, rows].any()):
                yield self._descend(rows, pace)

    def close(self) -> dict[str, float]:
        if not self.ratios:
            return {}
        found = {"rho": float(torch.cat(self.ratios).clamp(max=self.trace.rho_bar).mean())}
        if self.replaying is not None:
            self.replaying.keep(self.batch, self.advantage)
            found |= self.replaying.statistics()
        return found

    def _descend(self, rows: torch.Tensor, pace: Pace) -> Loss:
        learner, learned = self.learner, self.learned[:, rows].flatten()
        with torch.set_grad_enabled(learner.engine is None):
            output = learner.answer_rows(self.batch, rows)
            actions = self.batch.actions[:, rows].flatten(0, 1)
            log_prob, entropy = learner.policy.head.judge(output.actions, learner.policy.extra, actions)
        with torch.no_grad():
            part, log_ratio = self._part(rows, learned, actions, log_prob, output.value)
        kept = (log_prob[learned], entropy[learned], output.value[learned])
        loss = actor_critic_loss(learner.config, pace.entropy, part, log_ratio, *kept)
        if learner.engine is not None:
            learner.engine.descend(part, pace.entropy)
        else:
            learner.optimizer.zero()
            loss.total.backward()
        if self.replaying is not None and self.replaying.is_due:
            self.replaying.add_gradient(pace, self.spread)
        return loss

    def _part(
        self,
        rows: torch.Tensor,
        learned: torch.Tensor,
        actions: torch.Tensor,
        log_prob: torch.Tensor,
        value: torch.Tensor,
    ) -> tuple[Minibatch, torch.Tensor]:
        """The minibatch under the targets of the moment, and how far its actions' probabilities have moved."""
        learner, steps = self.learner, self.batch.steps
        log_ratio = log_prob - self.batch.log_prob[:, rows].flatten()
        ratio = log_ratio.exp()
        self.ratios.append(ratio[learned])
        worth = learner.value_in_reward(value)
        targets = vtrace(self.batch, rows, worth.view(steps, -1), ratio.view(steps, -1), self.trace)
        self.advantage[:, rows] = targets.advantage
        advantage = targets.advantage.flatten()[learned]
        if learner.config.normalize_advantages:
            self.spread = spread_of(advantage)
            advantage = normalized(advantage, advantage)
        obs = self.batch.obs[:, rows].flatten(0, 1)[learned]
        goal = learner.value_in_network(targets.value.flatten()[learned])
        part = Minibatch(obs, actions[learned], log_prob[learned], advantage, goal, value[learned])
        return part, log_ratio[learned]

"""Learning from replayed steps: each is judged by the policy of the moment, as V-trace judges fresh ones.

Ratio and advantage are of now; only what the action turned out to be worth is of then. The gradient is added to that of
the minibatch it is replayed beside.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.errors import NonFinite
from holdfast.learner.batch import Batch, array
from holdfast.learner.learner import Learner
from holdfast.learner.replay import LEAST_PRIORITY, Drawn, Replay, Rows
from holdfast.learner.schedules import Pace, between


class Replaying:
    """Replay during one update."""

    def __init__(self, learner: Learner, replay: Replay) -> None:
        self.learner, self.replay, self.is_due = learner, replay, replay.is_due
        self.losses: list[float] = []
        self.unique: list[float] = []
        self.ages: list[np.ndarray] = []
        self.beta = 0.0

    def add_gradient(self, pace: Pace, spread: float) -> None:
        """Add the gradient of one replayed minibatch; `spread` is the scale of the fresh steps' advantages."""
        config = self.replay.config
        self.beta = between(config.beta_start, config.beta_final, pace.progress)
        drawn = self.replay.draw(self.beta)
        loss = config.coef * self._loss(drawn, spread)
        if not bool(torch.isfinite(loss)):
            raise NonFinite("the loss is not finite: replay; the weights are as before this step")
        loss.backward()
        self.losses.append(float(loss.detach()))
        self.unique.append(len(np.unique(drawn.places)) / len(drawn.places))
        self.ages.append(drawn.age)

    def _loss(self, drawn: Drawn, spread: float) -> torch.Tensor:
        learner, rows = self.learner, drawn.rows
        output = learner.answer(seen_again(learner, rows.obs))
        log_prob, _ = learner.policy.head.judge(output.actions, learner.policy.extra, torch.from_numpy(rows.actions))
        weight, target, outcome, then = (
            torch.from_numpy(numbers.astype(np.float32))
            for numbers in (drawn.weight, rows.target, rows.outcome, rows.log_prob)
        )
        with torch.no_grad():
            worth = learner.value_in_reward(output.value)
            rho = (log_prob - then).exp().clamp(max=learner.config.rho_bar)
            advantage = rho * (outcome - worth) / spread
            goal = learner.value_in_network(target)
            self.replay.set_priority(drawn.places, array(target - worth))
        policy = -(weight * advantage * log_prob).mean()
        return policy + learner.config.value_coef * (weight * (output.value - goal) ** 2).mean()

    def keep(self, batch: Batch, target: torch.Tensor, outcome: torch.Tensor, advantage: torch.Tensor) -> None:
        """After an update: its learned steps [T, R], for the updates to come."""
        chosen = batch.learned
        count = int(chosen.sum())
        self.replay.push(
            Rows(
                obs=array(batch.raw_obs(chosen)),
                actions=array(batch.actions.flatten(0, 1)[chosen.flatten()]),
                log_prob=array(batch.log_prob[chosen]),
                target=array(target[chosen]),
                outcome=array(outcome[chosen]),
                born=np.full(count, self.replay.updates),
                priority=np.abs(array(advantage[chosen])) + LEAST_PRIORITY,
            )
        )

    def statistics(self) -> dict[str, float]:
        found = self.replay.statistics()
        if self.losses:
            found["replay_loss"] = float(np.mean(self.losses))
            found["replay_unique"] = float(np.mean(self.unique))
            found["replay_beta"] = self.beta
            found["replay_age_p50"] = float(np.median(np.concatenate(self.ages)))
        return found


def seen_again(learner: Learner, obs: np.ndarray) -> torch.Tensor:
    """Observations through the scale of now."""
    raw = torch.from_numpy(obs)
    return raw if learner.observations is None else learner.observations.scaled(raw.flatten(1)).view_as(raw)

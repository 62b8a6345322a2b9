"""Learning from replayed steps: each is judged by the policy of the moment, as V-trace judges fresh ones.

Ratio, values and advantage are all of now; only what happened is of then. The gradient is added to that of the
minibatch it is replayed beside.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.kit.errors import NonFinite
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
        weight, reward, goes_on, then = (
            torch.from_numpy(numbers.astype(np.float32))
            for numbers in (drawn.weight, rows.reward, rows.goes_on, rows.log_prob)
        )
        with torch.no_grad():
            worth = learner.value_in_reward(output.value)
            after = learner.value_in_reward(learner.answer(seen_again(learner, rows.next_obs)).value)
            rho = (log_prob - then).exp().clamp(max=learner.config.rho_bar)
            surprise = rho * (reward + learner.config.gamma * goes_on * after - worth)
            goal = learner.value_in_network(worth + surprise)
            self.replay.set_priority(drawn.places, array(surprise))
        policy = -(weight * surprise / spread * log_prob).mean()
        return policy + learner.config.value_coef * (weight * (output.value - goal) ** 2).mean()

    def keep(self, batch: Batch, advantage: torch.Tensor) -> None:
        """After an update: its learned steps [T, R] whose next sight is at hand, for the updates to come."""
        chosen = batch.learned & ~batch.truncated
        chosen[-1] &= batch.terminated[-1]
        self.replay.push(
            Rows(
                obs=array(batch.raw_obs(chosen)),
                actions=array(batch.actions.flatten(0, 1)[chosen.flatten()]),
                log_prob=array(batch.log_prob[chosen]),
                reward=array(batch.reward[chosen]),
                next_obs=array(_next_sights(batch, chosen)),
                goes_on=~array(batch.terminated[chosen]),
                born=np.full(int(chosen.sum()), self.replay.updates),
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


def _next_sights(batch: Batch, chosen: torch.Tensor) -> torch.Tensor:
    """What followed the chosen steps; after an end anything will do, as it is never looked at."""
    steps, rows = torch.nonzero(chosen, as_tuple=True)
    following = torch.clamp(steps + 1, max=batch.steps - 1) * batch.rows + rows
    every = torch.ones_like(chosen)
    return batch.raw_obs(every)[following]


def seen_again(learner: Learner, obs: np.ndarray) -> torch.Tensor:
    """Observations through the scale of now."""
    raw = torch.from_numpy(obs)
    return raw if learner.observations is None else learner.observations.scaled(raw.flatten(1)).view_as(raw)

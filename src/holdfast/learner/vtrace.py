"""An actor-critic whose targets are corrected for the age of the actions (V-trace, Espeholt et al. 2018).

Minibatches are whole rows. For each, the current policy evaluates actions and observations again, so that a second
epoch, a lagging actor and replayed steps are corrected by one formula. Values beyond a batch's edges are those of the
policy that acted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from holdfast.kit.errors import NonFinite
from holdfast.learner.advantages import Trace, explained_variance, vtrace
from holdfast.learner.batch import Batch, array, shuffled_rows
from holdfast.learner.learner import Learner
from holdfast.learner.losses import UNLIMITED, Loss, Minibatch, Objective, actor_critic_loss, normalized, spread_of
from holdfast.learner.replay import LEAST_PRIORITY, Replay, Rows, Sampled
from holdfast.learner.schedules import Pace, between

BETA_START, BETA_FINAL = 0.4, 1.0  # how far the bias of sampling by priority is corrected (Schaul et al. 2016)


class VtraceLesson:
    """One batch, its targets renewed in every minibatch."""

    def __init__(self, learner: Learner, batch: Batch) -> None:
        self.learner, self.batch, self.learned = learner, batch, batch.learned
        config = learner.config
        self.trace = Trace(config.gamma, config.trace_lambda, config.rho_bar, config.c_bar)
        self.spread = 1.0  # what the last minibatch's advantages were divided by
        self.ratios: list[torch.Tensor] = []
        self.advantage = torch.zeros_like(batch.value)  # of the last minibatches
        self.replayed = None if learner.replay is None else ReplayLesson(learner, learner.replay)
        everyone = torch.arange(batch.rows)
        first = vtrace(batch, everyone, batch.value, torch.ones_like(batch.value), self.trace)
        self.explained_variance = explained_variance(batch.value[self.learned], first.value[self.learned])
        learner.learn_scale(first.value[self.learned])

    def epoch(self, pace: Pace, generator: torch.Generator) -> Iterator[Loss]:
        # engines get the current probabilities: the gradient of an unclipped surrogate is then the policy gradient
        objective = Objective(UNLIMITED, 0.0, self.learner.config.value_coef, pace.entropy)
        for rows in shuffled_rows(self.batch, self.learner.config.minibatch, generator):
            if bool(self.learned[:, rows].any()):
                loss = self._descend(rows, objective)
                if self.replayed is not None and self.replayed.is_due:
                    self.replayed.add_gradient(pace, self.spread)
                yield loss

    def close(self) -> dict[str, float]:
        if not self.ratios:
            return {}
        found = {"rho": float(torch.cat(self.ratios).clamp(max=self.trace.rho_bar).mean())}
        if self.replayed is not None:
            self.replayed.keep(self.batch, self.advantage)
            found |= self.replayed.statistics()
        return found

    def _descend(self, rows: torch.Tensor, objective: Objective) -> Loss:
        learner, learned = self.learner, self.learned[:, rows].flatten()
        with torch.set_grad_enabled(learner.engine.follows):
            output = learner.rollouts(self.batch, rows)
            actions = self.batch.actions[:, rows].flatten(0, 1)
            log_prob, entropy = learner.policy.head.evaluate(output.actions, learner.policy.extra, actions)
        with torch.no_grad():
            part, log_ratio = self._part(rows, learned, actions, log_prob, output.value)
        kept = (log_prob[learned], entropy[learned], output.value[learned])
        loss = actor_critic_loss(objective, learner.config.rho_bar, part, log_ratio, *kept)
        if learner.engine.follows:
            learner.optimizer.zero()
            loss.total.backward()
        else:
            learner.engine.descend(part, objective)
        return loss

    def _part(
        self,
        rows: torch.Tensor,
        learned: torch.Tensor,
        actions: torch.Tensor,
        log_prob: torch.Tensor,
        value: torch.Tensor,
    ) -> tuple[Minibatch, torch.Tensor]:
        """The minibatch under the current targets, and the log ratios of its actions' probabilities to those at the
        time."""
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


# --- replay ---------------------------------------------------------------------------------------------------------


class ReplayLesson:
    """Learning from replayed steps during one update.

    Each is judged by the current policy, as V-trace judges fresh ones: ratio, values and advantage are current, only
    what happened is stored. The gradient is added to that of the minibatch it is replayed beside.
    """

    def __init__(self, learner: Learner, replay: Replay) -> None:
        self.learner, self.replay, self.is_due = learner, replay, replay.is_due
        self.losses: list[float] = []
        self.unique: list[float] = []
        self.ages: list[np.ndarray] = []
        self.beta = 0.0

    def add_gradient(self, pace: Pace, spread: float) -> None:
        """Add the gradient of one replayed minibatch; `spread` is the scale of the fresh steps' advantages."""
        config = self.replay.config
        self.beta = between(BETA_START, BETA_FINAL, pace.progress)
        sampled = self.replay.sample(self.beta)
        loss = config.coef * self._loss(sampled, spread)
        if not bool(torch.isfinite(loss)):
            raise NonFinite("the loss is not finite: replay; the weights are as before this step")
        loss.backward()
        self.losses.append(float(loss.detach()))
        self.unique.append(len(np.unique(sampled.places)) / len(sampled.places))
        self.ages.append(sampled.age)

    def _loss(self, sampled: Sampled, spread: float) -> torch.Tensor:
        learner, rows = self.learner, sampled.rows
        output = learner.eager.forward(learner.normalized(torch.from_numpy(rows.obs)))
        log_prob, _ = learner.policy.head.evaluate(output.actions, learner.policy.extra, torch.from_numpy(rows.actions))
        weight, reward, goes_on, then = (
            torch.from_numpy(numbers.astype(np.float32))
            for numbers in (sampled.weight, rows.reward, rows.goes_on, rows.log_prob)
        )
        with torch.no_grad():
            worth = learner.value_in_reward(output.value)
            following = learner.eager.forward(learner.normalized(torch.from_numpy(rows.next_obs)))
            after = learner.value_in_reward(following.value)
            rho = (log_prob - then).exp().clamp(max=learner.config.rho_bar)
            surprise = rho * (reward + learner.config.gamma * goes_on * after - worth)
            goal = learner.value_in_network(worth + surprise)
            self.replay.set_priority(sampled.places, array(surprise))
        policy = -(weight * surprise / spread * log_prob).mean()
        return policy + learner.config.value_coef * (weight * (output.value - goal) ** 2).mean()

    def keep(self, batch: Batch, advantage: torch.Tensor) -> None:
        """After an update: keep its learned steps [T, R] whose next observation is in the batch."""
        chosen = batch.learned & ~batch.truncated
        chosen[-1] &= batch.terminated[-1]
        self.replay.push(
            Rows(
                obs=array(batch.raw_obs(chosen)),
                actions=array(batch.actions.flatten(0, 1)[chosen.flatten()]),
                log_prob=array(batch.log_prob[chosen]),
                reward=array(batch.reward[chosen]),
                next_obs=array(_next_obs(batch, chosen)),
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


def _next_obs(batch: Batch, chosen: torch.Tensor) -> torch.Tensor:
    """Observations after the chosen steps; after an end any will do, as its value is not used."""
    steps, rows = torch.nonzero(chosen, as_tuple=True)
    following = torch.clamp(steps + 1, max=batch.steps - 1) * batch.rows + rows
    every = torch.ones_like(chosen)
    return batch.raw_obs(every)[following]

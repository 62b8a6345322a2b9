"""An actor-critic whose targets are corrected for the age of the actions (V-trace, Espeholt et al. 2018).

Minibatches are whole rows. Each is asked anew what the policy of the moment thinks of its actions and states, so that
a second epoch, a lagging actor and replayed steps are corrected by one formula. Values beyond a batch's edges are those
of the policy that acted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from holdfast.kit.errors import NonFinite
from holdfast.learner.advantages import Trace, explained_variance, vtrace
from holdfast.learner.batch import Batch, array
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Loss, Minibatch, actor_critic_loss, normalized, spread_of
from holdfast.learner.ppo import shuffled_rows
from holdfast.learner.replay import LEAST_PRIORITY, Drawn, Replay, Rows
from holdfast.learner.schedules import Pace, between


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


# --- replay ---------------------------------------------------------------------------------------------------------


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

"""Learned policies in a world outside training: actions for all its rows, memory carried along."""

from __future__ import annotations

import numpy as np
import torch

from holdfast.learner.batch import as_rows
from holdfast.learner.learner import Learner
from holdfast.worlds.api import World
from holdfast.worlds.spaces import Discrete


class Tally:
    """How often each action was the greedy one of a living agent, per role with discrete actions."""

    def __init__(self) -> None:
        self.counts: dict[str, np.ndarray] = {}

    def count(self, name: str, learner: Learner, actions: torch.Tensor, alive: np.ndarray) -> None:
        if isinstance(learner.role.actions, Discrete):
            found = np.bincount(actions.numpy()[alive.reshape(-1)], minlength=learner.role.actions.n)
            self.counts[name] = self.counts.get(name, np.int64(0)) + found

    def top_shares(self) -> dict[str, float]:
        return {name: float(counts.max() / max(1, counts.sum())) for name, counts in self.counts.items()}


class PolicyActor:
    """A learned policy as an `Act` for evaluations and videos: all roles, memory reset where an episode begins."""

    def __init__(
        self, learners: dict[str, Learner], generator: torch.Generator | None = None, tally: Tally | None = None
    ) -> None:
        self.tally = tally
        self.learners = learners
        self.generator = generator  # None: greedy actions
        self.hidden: dict[str, torch.Tensor] = {}
        self.values: dict[str, float] = {}  # the value of each role's first agent, in units of reward

    @torch.inference_mode()
    def __call__(self, world: World) -> dict[str, np.ndarray]:
        return {name: self._act(world, name, learner) for name, learner in self.learners.items()}

    def _act(self, world: World, name: str, learner: Learner) -> np.ndarray:
        policy, buffers = learner.policy, world.roles[name]
        agents = buffers.alive.shape[1]  # an evaluation may have more agents than training had
        obs = learner.normalized(as_rows(buffers.obs))
        starts = torch.from_numpy(np.repeat(world.clock.t == 0, agents))
        if name not in self.hidden:
            self.hidden[name] = torch.zeros(len(obs), policy.core_size)
        output = learner.ask(obs, self.hidden[name], starts)
        self.hidden[name] = output.hidden
        self.values[name] = float(learner.value_in_reward(output.value[:1])[0])
        if self.generator is None:
            actions = policy.head.greedy(output.actions, policy.extra)
            if self.tally is not None:
                self.tally.count(name, learner, actions, buffers.alive)
        else:
            actions, _ = policy.head.sample(output.actions, policy.extra, self.generator)
        chosen: np.ndarray = policy.head.for_world(actions).numpy()
        return chosen.reshape(world.lanes, agents, *chosen.shape[1:])

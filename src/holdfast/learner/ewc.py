"""Elastic weight consolidation (Kirkpatrick et al. 2017): hold weights in proportion to their importance.

The importance of a weight is the diagonal of the Fisher information: the mean square of the gradient of log pi(a|o)
over single samples, with actions sampled from the policy itself. Squared gradients of batches would be far noisier.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.learner.learner import Learner

ONLINE_DECAY = 0.9


class Anchor:
    """The weights one learner is held to, and their importance."""

    def __init__(self, learner: Learner, strength: float, online: bool) -> None:
        self.learner, self.strength, self.online = learner, strength, online
        self.fisher = torch.zeros_like(learner.optimizer.parameters)
        self.centre = torch.zeros_like(learner.optimizer.parameters)
        self.taken = torch.zeros(1, dtype=torch.int64)
        learner.optimizer.before_step = self.pull

    def take(self, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor, generator: torch.Generator) -> None:
        """Measure importance on rows [N] of normalised observations, and hold the weights where they are now."""
        found = fisher(self.learner, obs, hidden, starts, generator)
        kept = ONLINE_DECAY * self.fisher if self.online else 0.0
        self.fisher = kept + found
        self.centre = self.learner.optimizer.parameters.detach().clone()
        self.taken += 1

    def pull(self) -> None:
        """Add the gradient of the penalty to that in the optimiser."""
        if self.strength > 0.0 and int(self.taken):
            optimizer = self.learner.optimizer
            with torch.no_grad():
                optimizer.gradients.add_(self.fisher * (optimizer.parameters - self.centre), alpha=self.strength)

    def penalty(self) -> float:
        """Half the strength times the squared distance, each weight by its importance."""
        moved = self.learner.optimizer.parameters.detach() - self.centre
        return 0.5 * self.strength * float((self.fisher * moved**2).sum())

    def distance(self) -> float:
        """How far the weights have moved, in units of importance."""
        moved = self.learner.optimizer.parameters.detach() - self.centre
        return float((self.fisher * moved**2).sum().sqrt())

    def arrays(self) -> dict[str, np.ndarray]:
        return {"fisher": self.fisher.numpy(), "centre": self.centre.numpy(), "taken": self.taken.numpy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.fisher, self.centre, self.taken = (
            torch.from_numpy(np.array(arrays[name])) for name in ("fisher", "centre", "taken")
        )


def fisher(
    learner: Learner, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """Mean square of each parameter's gradient over single samples, by one backward pass per sample."""
    policy, optimizer = learner.policy, learner.optimizer
    total = torch.zeros_like(optimizer.parameters)
    for n in range(len(obs)):
        row = slice(n, n + 1)
        output = policy(obs[row], hidden[row], starts[row])
        with torch.no_grad():
            action, _ = policy.head.sample(output.actions, policy.extra, generator)
        log_prob, _ = policy.head.evaluate(output.actions, policy.extra, action)
        optimizer.zero()
        log_prob.sum().backward()
        total += optimizer.gradients**2
    optimizer.zero()
    return total / len(obs)

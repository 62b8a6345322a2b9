"""Imitating the presses of an explored way: what seldom happens by chance is tried at all.

To press DOWN on one pipe of many teaches nothing until it is done; a policy that stopped pressing DOWN never learns it.
A small part of each update therefore raises the chance of what was pressed on the way (as the robust phase of Ecoffet
et al. 2021 does): with backward starts around the frontier, else everywhere, less and less until half of the run is
over. What the policy finds itself may be better than the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from holdfast.games.mario.backward import Backward
from holdfast.games.mario.exploring import Passed
from holdfast.learner.learner import Learner

OBSERVED = "player.obs"  # of a moment's rows
AT_ONCE = 128  # moments of a long way per step
AHEAD, BEHIND = 32, 64  # moments before and after the frontier of backward starts
OVER_AT = 0.5  # of the run


class Imitation:
    """Adds to a learner's gradients before each of its steps."""

    def __init__(self, learner: Learner, weight: float, backward: Backward | None) -> None:
        self.learner, self.weight, self.backward = learner, weight, backward
        self.obs, self.presses = np.zeros((0, 1), np.float32), np.zeros(0, np.int64)
        self.fading = 1.0
        self.agreement = 0.0  # geometric mean of the presses' chances at the last step
        learner.optimizer.before_step = self.pull

    def take(self, way: Sequence[Passed]) -> None:
        known = [one for one in way if one.press >= 0]
        self.obs = np.concatenate([one.place.rows[OBSERVED][:, 0] for one in known])
        self.presses = np.array([one.press for one in known], np.int64)

    def at(self, share: float) -> None:
        """So much of the run is over."""
        self.fading = 1.0 if self.backward is not None else max(0.0, 1.0 - share / OVER_AT)

    def chosen(self) -> slice:
        """Moments of the way that the next step looks at."""
        if self.backward is not None:
            frontier = self.backward.frontier
            return slice(max(0, frontier - AHEAD), frontier + BEHIND if frontier else 0)
        apart = max(1, round(len(self.presses) / AT_ONCE))
        return slice(self.learner.optimizer.updates % apart, None, apart)

    def pull(self) -> None:
        rows = self.chosen()
        pressed = torch.from_numpy(self.presses[rows])
        if not len(pressed) or self.fading == 0.0:
            return
        policy = self.learner.policy
        output = self.learner.eager.forward(self.learner.normalized(torch.from_numpy(self.obs[rows])))
        log_prob, _ = policy.head.evaluate(output.actions, policy.extra, pressed)
        loss = -log_prob.mean()
        (self.weight * self.fading * loss).backward()
        self.agreement = float(torch.exp(-loss.detach()))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"obs": self.obs, "presses": self.presses}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.obs, self.presses = np.array(arrays["obs"]), np.array(arrays["presses"])

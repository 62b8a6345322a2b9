"""The rollout buffer of one role: named arrays [T, rows], a row being one agent of one lane.

Allocated once by torch, so that every array begins at a cache line; `array()` gives NumPy the same memory. Any
implementation of the update reads these arrays and the flat parameters of `optim.py`, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Grid


class Batch(NamedTuple):
    """T steps of R rows of one role."""

    obs: torch.Tensor  # [T, R, ...] as given to the policy: normalised float32, or image bytes
    actions: torch.Tensor  # [T, R] or [T, R, K]
    log_prob: torch.Tensor  # [T, R] of the action when it was taken
    value: torch.Tensor  # [T, R] in units of reward
    reward: torch.Tensor  # [T, R]
    valid: torch.Tensor  # [T, R] bool: the agent was alive and acted
    forced: torch.Tensor  # [T, R] bool: the action was not chosen by the policy
    terminated: torch.Tensor  # [T, R] bool: the episode ended; nothing to bootstrap from
    truncated: torch.Tensor  # [T, R] bool: the episode was cut short; bootstrap from `bootstrap`
    bootstrap: torch.Tensor  # [T, R] value of the final observation where truncated
    starts: torch.Tensor  # [T, R] bool: first step of an episode, memory is empty
    hidden: torch.Tensor  # [R, H] memory before the first step (H = 0 without a core)
    last_value: torch.Tensor  # [R] value of the observation after the last step
    scale: torch.Tensor  # [2, D] mean and standard deviation the observations were normalised by (D = 0 for images)

    @property
    def steps(self) -> int:
        return self.reward.shape[0]

    @property
    def rows(self) -> int:
        return self.reward.shape[1]

    @property
    def learned(self) -> torch.Tensor:
        """[T, R] bool: the agent was alive and its policy chose the action."""
        return self.valid & ~self.forced

    def raw_obs(self, chosen: torch.Tensor) -> torch.Tensor:
        """Observations [M, ...] of the chosen [T, R] steps, as the world gave them."""
        obs = self.obs.flatten(0, 1)[chosen.flatten()]
        return obs if self.scale.shape[1] == 0 else (obs.flatten(1) * self.scale[1] + self.scale[0]).view_as(obs)


def make_batch(role: Role, lanes: int, steps: int, core_size: int) -> Batch:
    rows, size = lanes * role.agents, 0 if role.observations.is_image else role.observations.size
    kept = torch.uint8 if role.observations.is_image else torch.float32
    one = isinstance(role.actions, Discrete | Grid)
    choice = (steps, rows) if one else (steps, rows, len(role.actions))
    whole = torch.float32 if isinstance(role.actions, Continuous) else torch.int64

    def numbers() -> torch.Tensor:
        return torch.zeros(steps, rows)

    def flags() -> torch.Tensor:
        return torch.zeros(steps, rows, dtype=torch.bool)

    return Batch(
        obs=torch.zeros(steps, rows, *role.observations.shape, dtype=kept),
        actions=torch.zeros(choice, dtype=whole),
        log_prob=numbers(),
        value=numbers(),
        reward=numbers(),
        valid=flags(),
        forced=flags(),
        terminated=flags(),
        truncated=flags(),
        bootstrap=numbers(),
        starts=flags(),
        hidden=torch.zeros(rows, core_size),
        last_value=torch.zeros(rows),
        scale=torch.stack([torch.zeros(size), torch.ones(size)]),
    )


def shuffled_rows(batch: Batch, minibatch: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """The numbers of a batch's rows in random order, in parts of about `minibatch` agent-steps."""
    order = torch.randperm(batch.rows, generator=generator)
    return order.split(max(1, minibatch // batch.steps))


def array(tensor: torch.Tensor) -> np.ndarray:
    """The same memory as a NumPy array."""
    shared: np.ndarray = tensor.detach().numpy()
    return shared


def as_rows(buffer: np.ndarray) -> torch.Tensor:
    """[N, A, ...] -> [N*A, ...], the same memory."""
    return torch.from_numpy(buffer.reshape(-1, *buffer.shape[2:]))

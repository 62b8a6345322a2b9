"""Prioritised replay (Schaul et al. 2016): a ring buffer of single agent-steps.

It stores the observations before and after a step, the action with its probability, and the reward: no outputs of a
policy or value network. Value, advantage and importance ratio are computed when the step is replayed; a stored n-step
return would be that of the older policy that went on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from holdfast.config.sections import ReplayConfig
from holdfast.kit.errors import NonFinite
from holdfast.learner.saved_rows import refuse_rows
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Grid

LEAST_PRIORITY = 1e-5
HALF_LIMIT = 6.0e4  # float16 ends at 65,504
SCALARS = ("log_prob", "reward")


class Rows(NamedTuple):
    """What is kept of some agent-steps."""

    obs: np.ndarray  # [M, ...] as the world gave them, not normalised
    actions: np.ndarray
    log_prob: np.ndarray  # [M] of the action when it was taken
    reward: np.ndarray  # [M]
    next_obs: np.ndarray  # [M, ...] after the step
    goes_on: np.ndarray  # [M] bool: the episode did not end with it
    born: np.ndarray  # [M] number of the update that kept it
    priority: np.ndarray  # [M]


class Sampled(NamedTuple):
    """Rows to be replayed."""

    places: np.ndarray
    rows: Rows
    weight: np.ndarray  # [M] corrects the bias of sampling; 0 for what is too old
    age: np.ndarray  # [M] in updates


def row_kinds(role: Role, config: ReplayConfig) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of each array of a row."""
    actions: tuple[int, ...] = () if isinstance(role.actions, Discrete | Grid) else (len(role.actions),)
    number = np.dtype(np.float16 if config.fp16_scalars else np.float32)
    obs = (role.observations.shape, np.dtype(np.uint8 if role.observations.is_image else np.float32))
    return {
        "obs": obs,
        "actions": (actions, np.dtype(np.float32 if isinstance(role.actions, Continuous) else np.int64)),
        **dict.fromkeys(SCALARS, ((), number)),
        "next_obs": obs,
        "goes_on": ((), np.dtype(np.bool_)),
        "born": ((), np.dtype(np.int64)),
        "priority": ((), np.dtype(np.float32)),
    }


def capacity_of(role: Role, config: ReplayConfig) -> int:
    """As many rows as configured and as memory allows, but enough to sample from."""
    row = sum(int(np.prod(shape)) * kind.itemsize for shape, kind in row_kinds(role, config).values())
    return max(1024, 2 * config.batch, min(config.capacity, int(config.max_gb * 1e9 / row)))


class Replay:
    """The replay buffer of one role."""

    def __init__(self, role: Role, config: ReplayConfig, generator: torch.Generator) -> None:
        self.role, self.config, self.generator = role, config, generator
        self.capacity = capacity_of(role, config)
        self.rows: Rows | None = None  # allocated by the first push
        self.size = self.place = self.updates = self.pushed = 0

    def _allocated(self) -> Rows:
        if self.rows is None:
            kinds = row_kinds(self.role, self.config)
            self.rows = Rows(**{name: np.zeros((self.capacity, *shape), kind) for name, (shape, kind) in kinds.items()})
        return self.rows

    def push(self, given: Rows) -> None:
        """Store rows in place of the oldest; one call is one update."""
        self._refuse_overflow(given)
        ring, count = self._allocated(), len(given.priority)
        kept = min(count, self.capacity)
        places = (self.place + np.arange(kept)) % self.capacity
        for mine, theirs in zip(ring, given, strict=True):
            mine[places] = theirs[count - kept :]
        self.place = (self.place + kept) % self.capacity
        self.size = min(self.capacity, self.size + kept)
        self.pushed += count
        self.updates += 1

    def _refuse_overflow(self, given: Rows) -> None:
        for name in SCALARS if self.config.fp16_scalars else ():
            values = np.abs(getattr(given, name))
            if len(values) and not values.max() <= HALF_LIMIT:
                raise NonFinite(
                    f"the {name} of a {self.role.name} to be replayed is {values.max():g}, beyond half precision: "
                    "set replay.fp16_scalars = false"
                )

    @property
    def is_due(self) -> bool:
        """Replay in this update?"""
        return self.size >= self.config.batch and self.updates % self.config.interval == 0

    def sample(self, beta: float) -> Sampled:
        ring = self._allocated()
        chances = torch.rand(self.config.batch, dtype=torch.float64, generator=self.generator)
        places, chance = SAMPLERS[self.config.sampler](ring.priority[: self.size], self.config.alpha, chances)
        weight = (self.size * chance) ** -beta
        age = self.updates - ring.born[places]
        weight = np.where(age <= self.config.max_age, weight / weight.max(), 0.0)
        return Sampled(places, Rows(*(field[places] for field in ring)), weight, age)

    def set_priority(self, places: np.ndarray, surprise: np.ndarray) -> None:
        """A place sampled twice gets the same number twice."""
        self._allocated().priority[places] = np.abs(surprise) + LEAST_PRIORITY

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint: what is filled, the counters and the generator."""
        filled = {name: field[: self.size] for name, field in self.rows._asdict().items()} if self.rows else {}
        counters = np.array([self.size, self.place, self.updates, self.pushed], np.int64)
        return {**filled, "counters": counters, "generator": self.generator.get_state().numpy()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        kinds = row_kinds(self.role, self.config)
        refuse_rows(f"replay of {self.role.name}", self.role.actions, kinds, self.capacity, arrays)
        self.size, self.place, self.updates, self.pushed = (int(number) for number in arrays["counters"])
        self.generator.set_state(torch.from_numpy(np.array(arrays["generator"])))
        for name, field in self._allocated()._asdict().items() if self.size else ():
            field[: self.size] = arrays[name]

    def statistics(self) -> dict[str, float]:
        priority = self._allocated().priority[: self.size]
        return {
            "replay_size": self.size,
            "replay_fill": self.size / self.capacity,
            "replay_pushed": self.pushed,
            "replay_priority_mean": float(priority.mean()) if self.size else 0.0,
            "replay_priority_p50": float(np.quantile(priority, 0.5)) if self.size else 0.0,
            "replay_priority_p99": float(np.quantile(priority, 0.99)) if self.size else 0.0,
        }


# --- samplers: places with probability in proportion to priority ** alpha ---------------------------------------------


def sample_with_torch(priority: np.ndarray, alpha: float, chances: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Places [M] for chances [M] in [0, 1), and the probability of each."""
    shares = torch.from_numpy(priority).double().pow_(alpha)
    sums = shares.cumsum(0)
    places = torch.searchsorted(sums, chances * sums[-1], right=True).clamp_(max=len(shares) - 1)
    return places.numpy(), (shares[places] / sums[-1]).numpy()


def sample_with_numpy(priority: np.ndarray, alpha: float, chances: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    shares = priority.astype(np.float64) ** alpha
    sums = np.cumsum(shares)
    places = np.minimum(np.searchsorted(sums, chances.numpy() * sums[-1], side="right"), len(shares) - 1)
    return places, shares[places] / sums[-1]


SAMPLERS = {"device": sample_with_torch, "numpy": sample_with_numpy}

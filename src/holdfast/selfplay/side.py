"""One role of self-play with all that learning changes about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.learner.ewc import Anchor
from holdfast.learner.learner import Learner
from holdfast.learner.rnd import EMBED, LEARNING_RATE, WIDTH, Novelty
from holdfast.state import torch_generator
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import HISTORY

NOVELTY, SPARE = 12, 14  # purposes of torch generators


class Side:
    """One role's learner with all that learning changes about it."""

    def __init__(self, config: Config, role: Role, number: int, generator: torch.Generator) -> None:
        self.number, self.name = number, role.name
        self.learner = Learner(role, config.policy, config.learner, generator, config.rollout.threads)
        self.anchor: Anchor | None = None
        self.novelty: Novelty | None = None
        if config.ewc.strength > 0.0 and has_role(config.ewc.roles, number):
            self.anchor = Anchor(self.learner, config.ewc.strength, config.ewc.keep == "online")
        if config.rnd.coef > 0.0 and has_role(config.rnd.roles, number):
            seed = torch_generator(config.run.seed, NOVELTY + 100 * number)
            size = role.observations.size
            self.novelty = Novelty(newest_columns(role), size, WIDTH, EMBED, LEARNING_RATE, seed)

    def parts(self) -> dict[str, Any]:
        """What a frozen copy of this side consists of."""
        found: dict[str, Any] = dict(self.learner.parts())
        found |= {} if self.anchor is None else {"ewc": self.anchor}
        found |= {} if self.novelty is None else {"rnd": self.novelty}
        return found


def has_role(roles: str, number: int) -> bool:
    return roles == "both" or roles == ("first", "second")[number]


def newest_columns(role: Role) -> slice:
    """The numbers of a sight that are of now: not the copies of earlier ones in its history."""
    start = 0
    for name, shape in getattr(role.observations, "parts", ()):
        size = int(np.prod(shape))
        if name == HISTORY:
            return slice(start + size - shape[-1], start + size)
        start += size
    return slice(0, role.observations.acting)


def spare_maker(config: Config, role: Role) -> Any:
    """Makes learners of a role's shape, to be filled with frozen weights."""

    def make() -> Learner:
        return Learner(role, config.policy, config.learner, torch_generator(0, SPARE), config.rollout.threads)

    return make

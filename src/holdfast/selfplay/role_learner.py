"""The learner of one role in self-play: with EWC and RND where they are asked for, and for frozen copies without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.learner.ewc import Anchor
from holdfast.learner.learner import Learner
from holdfast.learner.rnd import CLIP, EMBED, LEARNING_RATE, SHARE, WIDTH, Bonus, Novelty
from holdfast.selfplay.health import LOG_STD_FLOOR
from holdfast.state import torch_generator
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import HISTORY

NOVELTY, SPARE = 12, 14  # purposes of torch generators


def make_role_learner(config: Config, role: Role, number: int, generator: torch.Generator) -> Learner:
    """`number`: 0 for the first role, 1 for the second."""
    learner = Learner(role, config.policy, config.learner, generator, config.rollout.threads)
    learner.log_std_floor = LOG_STD_FLOOR
    if config.ewc.strength > 0.0 and has_role(config.ewc.roles, number):
        learner.anchor = Anchor(learner, config.ewc.strength, config.ewc.keep == "online")
    if config.rnd.coef > 0.0 and has_role(config.rnd.roles, number):
        seed = torch_generator(config.run.seed, NOVELTY + 100 * number)
        size, bonus = role.observations.size, Bonus(config.rnd.coef, CLIP, SHARE)
        learner.novelty = Novelty(newest_columns(role), size, WIDTH, EMBED, LEARNING_RATE, seed, bonus)
    return learner


def has_role(roles: str, number: int) -> bool:
    return roles == "both" or roles == ("first", "second")[number]


def newest_columns(role: Role) -> slice:
    """The numbers of an observation that are of now: not the copies of earlier ones in its history."""
    start = 0
    for name, shape in getattr(role.observations, "parts", ()):
        size = int(np.prod(shape))
        if name == HISTORY:
            return slice(start + size - shape[-1], start + size)
        start += size
    return slice(0, role.observations.acting)


def spare_maker(config: Config, role: Role) -> Callable[[], Learner]:
    """Makes learners of a role's shape, to be filled with frozen weights."""

    def make() -> Learner:
        return Learner(role, config.policy, config.learner, torch_generator(0, SPARE), config.rollout.threads)

    return make

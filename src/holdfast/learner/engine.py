"""Which engine an update runs on: eager torch takes everything, two engines of our own take plain policies.

`fused` keeps small networks in the nearest caches; `wide` takes any width, and sights looked at by their parts.
"""

from __future__ import annotations

import math
from typing import Literal

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import HISTORY, LIDAR, Continuous, Discrete, Grid

WIDEST, MOST_INPUTS = 128, 512  # of fused: beyond, a tile and the weights leave the nearest caches
ACTIONS = {"fused": (Discrete, Grid), "wide": (Discrete, Grid, Continuous)}
Own = Literal["fused", "wide"]


def obstacles(own: Own, role: Role, policy: PolicyConfig, learner: LearnerConfig) -> list[str]:
    """Why an engine of our own cannot run this, in words; empty when it can."""
    found = {
        f"{role.name} sees images": role.observations.is_image,
        f"{role.name} has {type(role.actions).__name__.lower()} actions": not isinstance(role.actions, ACTIONS[own]),
        f"policy.network = {policy.network}": policy.network == "parts" and own == "fused",
        f"several parts of {role.name}'s sight without an order": policy.network == "parts" and _plain_parts(role) > 1,
        f"policy.core = {policy.core}": policy.core != "none",
        "policy.separate = false": not policy.separate,
        f"policy.norm = {policy.norm}": policy.norm != "none",
        "learner.amp = bf16": learner.amp == "bf16",
        "learner.compile = true": learner.compile,
    }
    return [reason for reason, holds in found.items() if holds]


def _plain_parts(role: Role) -> int:
    """Named parts that choices are made from, other than the ring and the history."""
    sight, start, count = role.observations, 0, 0
    for name, shape in sight.parts:
        count += start < sight.acting and name not in (LIDAR, HISTORY)
        start += math.prod(shape)
    return count


def chosen_engine(role: Role, policy: PolicyConfig, learner: LearnerConfig) -> Literal["torch", "fused", "wide"]:
    """`auto` takes the kernels where they are both able and faster."""
    if learner.engine != "auto":
        return learner.engine
    small = policy.network != "parts" and max([*policy.hidden, 1]) <= WIDEST and role.observations.size <= MOST_INPUTS
    if small and not obstacles("fused", role, policy, learner):
        return "fused"
    return "torch" if obstacles("wide", role, policy, learner) else "wide"

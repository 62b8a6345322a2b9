"""Which engine an update runs on: eager torch takes everything, the fused kernels only small plain policies."""

from __future__ import annotations

from holdfast.config import LearnerConfig, PolicyConfig
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Grid

WIDEST, MOST_INPUTS = 128, 512  # beyond, a tile and the weights leave the nearest caches


def obstacles(role: Role, policy: PolicyConfig, learner: LearnerConfig) -> list[str]:
    """Why the fused kernels cannot run this, in words; empty when they can."""
    found = {
        f"{role.name} sees images": role.observations.is_image,
        f"{role.name} has {type(role.actions).__name__.lower()} actions": not isinstance(role.actions, Discrete | Grid),
        f"policy.core = {policy.core}": policy.core != "none",
        "policy.separate = false": not policy.separate,
        f"policy.norm = {policy.norm}": policy.norm != "none",
        "learner.amp = bf16": learner.amp == "bf16",
        "learner.compile = true": learner.compile,
    }
    return [reason for reason, holds in found.items() if holds]


def is_fused(role: Role, policy: PolicyConfig, learner: LearnerConfig) -> bool:
    """`auto` takes the kernels where they are both able and faster."""
    if learner.engine == "auto":
        small = max([*policy.hidden, 1]) <= WIDEST and role.observations.size <= MOST_INPUTS
        return small and not obstacles(role, policy, learner)
    return learner.engine == "fused"

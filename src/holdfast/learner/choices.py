"""What a policy chooses among, where that is not what the world takes: the points of a grid instead of numbers."""

from __future__ import annotations

from holdfast.config.sections import PolicyConfig
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Grid


def as_chosen(role: Role, config: PolicyConfig) -> Role:
    """The role as its policy plays it: with `policy.grid`, numbers between bounds become one choice of points."""
    if not config.grid or not isinstance(role.actions, Continuous):
        return role
    return role._replace(actions=Grid(role.actions.low, role.actions.high, config.grid))

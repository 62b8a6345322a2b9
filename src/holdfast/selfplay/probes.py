"""Is a pair really playing? Figures of an evaluation that tell balance from two policies that hide or do nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.worlds.api import Episodes

SLOW, UNSEEN, LEANING = 0.3, 0.05, 0.5
HOPELESS_LOW, HOPELESS_HIGH = 0.05, 0.95
FEW_CELLS = 3.0
PROBED = ("speed", "path", "visible", "first_sight", "wall", "circle", "changed", "violated", "cells")
EARLY = 20  # steps; a capture before them was decided at the start


class Probe(NamedTuple):
    """One figure of one role."""

    role: str
    name: str
    value: float


def probe(episodes: Episodes, roles: tuple[str, str]) -> list[Probe]:
    """Means of what the world measures of each role, as far as it does."""
    found = []
    for role in roles:
        for name in PROBED:
            column = f"{role}_{name}"
            if column in episodes.columns:
                found.append(Probe(role, name, float(np.mean(episodes[column]))))
    if "captured" in episodes.columns and len(episodes):
        length = episodes["steps"] if "steps" in episodes.columns else episodes["length"]
        early = (episodes["captured"] > 0.5) & (length < EARLY)
        found.append(Probe(roles[0], "early_captures", float(early.mean())))
    return found


def alarms(probes: list[Probe], roles: tuple[str, str], rates: list[float]) -> list[str]:
    """Why a pair must not be called converged. A low share of sight alarms only together with little movement: a fast
    evader that is seldom seen is doing its work."""
    values = {(found.role, found.name): found.value for found in probes}
    reasons = []
    evader = roles[1]
    speed = values.get((evader, "speed"))
    if speed is not None and speed < SLOW:
        reasons.append(f"hiding: the {evader} moves at {speed:.2f} of its speed")
    for role in roles:
        seen, cells = values.get((role, "visible")), values.get((role, "cells"))
        still = (values.get((role, "speed"), 1.0) < SLOW) or (cells is not None and cells < FEW_CELLS)
        if seen is not None and seen < UNSEEN and still:
            reasons.append(f"blind play: the {role} sees the other {seen:.0%} of the time and hardly moves")
        touching = values.get((role, "wall"), 0.0) + values.get((role, "circle"), 0.0)
        if touching > LEANING:
            reasons.append(f"leaning: the {role} touches walls or circles {touching:.0%} of the time")
    if len(rates) >= 2 and all(not HOPELESS_LOW <= rate <= HOPELESS_HIGH for rate in rates[-2:]):
        reasons.append(f"hopeless: the {roles[0]} won {rates[-2]:.2f} and {rates[-1]:.2f}")
    return reasons

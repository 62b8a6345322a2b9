"""How much each reward term weighs beside the outcome, measured on scripted duels before anything is learned.

Rewards that outweigh the outcome teach something else than the game: a payment for nearing circles fifty times the
default once broke four runs of an earlier project.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import numpy as np

from holdfast.games.pursuit.world.duel import SIDES, TERMS
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.kit.errors import ConfigError

DUELS = 256
LARGEST_SHARE = 0.5  # of the outcome
EVADERS = ("flee", "orbit")  # one that is caught, one that gets away
# Of these alone the default distance reward is known to be small.
WEIGHTS = (
    *("reward_distance", "reward_visibility", "reward_search", "reward_occlusion", "reward_hiding", "reward_survival"),
    *("reward_approach", "reward_collision", "reward_wall", "reward_safety", "reward_unsafe", "reward_intervention"),
    *("reward_capture", "reward_timeout"),
)


@lru_cache(maxsize=64)
def reward_shares(settings: PursuitSettings) -> dict[str, float]:
    """`pursuer distance`, …: the mean size of each term's sum in a duel, as a share of the outcome's."""
    from holdfast.games.pursuit.world.pursuit import Pursuit, play_scripts

    both = dataclasses.replace(settings, play="both", task="duel", opponent="random", reward_allow_dominant=True)
    world = Pursuit(both, DUELS // len(EVADERS), seed=0)
    sizes = np.zeros((2, len(TERMS)))
    for evader in EVADERS:
        sizes += _sizes(world, play_scripts({"pursuer": "greedy", "evader": evader}))
    outcome = np.maximum(sizes[:, [TERMS.index("outcome")]], 1e-12)
    table = sizes / outcome
    return {f"{side} {term}": float(table[i, k]) for i, side in enumerate(SIDES) for k, term in enumerate(TERMS)}


def _sizes(world, act) -> np.ndarray:  # type: ignore[no-untyped-def]
    """[2, TERMS] absolute sums of each term, over one duel in every lane."""
    world.reset()
    waiting = np.ones(world.lanes, np.bool_)
    sizes = np.zeros((2, len(TERMS)))
    while waiting.any():
        world.step(act(world))
        table = world.finished()
        table = table.take(waiting[table["lane"]])
        waiting[table["lane"]] = False
        for i, side in enumerate(SIDES):
            sizes[i] += [np.abs(table[f"{side}_reward_{term}"]).sum() for term in TERMS]
    return sizes


def refuse_dominant(settings: PursuitSettings) -> None:
    """An error for terms that outweigh half of the outcome, unless they are allowed to."""
    usual = PursuitSettings()
    if settings.reward_allow_dominant or all(getattr(settings, name) == getattr(usual, name) for name in WEIGHTS):
        return
    heavy = {name: share for name, share in reward_shares(settings).items() if _is_heavy(name, share)}
    if heavy:
        told = ", ".join(f"{name} {share:.2f}" for name, share in sorted(heavy.items(), key=lambda item: -item[1]))
        raise ConfigError(
            [
                f"world: rewards outweigh {LARGEST_SHARE:g} of the outcome in scripted duels ({told} times it): "
                "lower their weights, or set world.reward.allow_dominant = true"
            ]
        )


def _is_heavy(name: str, share: float) -> bool:
    return not name.endswith("outcome") and share > LARGEST_SHARE

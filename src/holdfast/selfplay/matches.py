"""Duels between frozen players on fixed seeds: evaluations, panels of scripts, cross-play and best responses.

The world and its settings are those of training; only the seeds, the number of lanes and the level are chosen here. All
pairings of a match are played side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from holdfast.learner.learner import Learner
from holdfast.rollout.evaluate import play_once
from holdfast.selfplay.arena import first_wins
from holdfast.selfplay.blindness import Blind, blinded
from holdfast.selfplay.cast import PLACES, Cast, Player
from holdfast.worlds.api import Episodes, Plan, World
from holdfast.worlds.registry import make_world

LANES_AT_ONCE = 4096
Arrays = Mapping[str, np.ndarray]


class Contender(NamedTuple):
    """One player of a match: a frozen policy with its arrays, or a script."""

    player: Player
    arrays: Arrays | None = None

    @property
    def name(self) -> str:
        return self.player.name


def script(name: str) -> Contender:
    return Contender(Player("script", name))


def frozen(name: str, arrays: Arrays) -> Contender:
    return Contender(Player("earlier", name), arrays)


class Ground(NamedTuple):
    """Where matches are played."""

    world_name: str
    settings: Any
    level: Mapping[str, float]  # level parameters that differ from the settings
    threads: int
    make: tuple[Callable[[], Learner], Callable[[], Learner]]  # a learner of each role's shape
    sampled: bool  # actions are drawn as in training
    act_seed: int
    blind: Blind | None = None  # a role that is blind to some angles


def play_matches(
    ground: Ground,
    first: Sequence[Contender],
    second: Sequence[Contender],
    pairs: Sequence[tuple[int, int]],
    keys: np.ndarray,
) -> list[Episodes]:
    """The episodes of each pairing (indices into both lists), each on all the keys."""
    per_round = max(1, min(LANES_AT_ONCE // len(keys), PLACES))
    tables: list[Episodes] = []
    for start in range(0, len(pairs), per_round):
        tables += _play_round(ground, first, second, pairs[start : start + per_round], keys)
    return tables


def _play_round(
    ground: Ground,
    first: Sequence[Contender],
    second: Sequence[Contender],
    pairs: Sequence[tuple[int, int]],
    keys: np.ndarray,
) -> list[Episodes]:
    lanes = len(pairs) * len(keys)
    world = make_world(ground.world_name, ground.settings, lanes, seed=0, threads=ground.threads)
    try:
        if ground.level:
            world.plan(np.arange(lanes), Plan(ground.level))
        generator = torch.Generator().manual_seed(ground.act_seed)
        casts = [Cast(world, make, ground.sampled) for make in ground.make]
        for side, (cast, contenders) in enumerate(zip(casts, (first, second), strict=True)):
            _seat(cast, [contenders[pair[side]] for pair in pairs], len(keys))

        def act(_: World) -> dict[str, np.ndarray]:
            actions = {cast.role.name: cast.act(generator) for cast in casts}
            return actions if ground.blind is None else blinded(world, ground.blind, actions)

        table = play_once(world, act, np.tile(keys, len(pairs)))
        return [table.take(np.flatnonzero(table["lane"] // len(keys) == number)) for number in range(len(pairs))]
    finally:
        world.close()


def _seat(cast: Cast, contenders: list[Contender], each: int) -> None:
    places = cast.seat([(contender.player, contender.arrays) for contender in contenders])
    for number, place in enumerate(places):
        assert place is not None
        cast.promise(np.arange(number * each, (number + 1) * each), place)
    cast.begin(np.arange(cast.world.lanes))


def wins_of_first(episodes: Episodes, roles: tuple[str, str]) -> np.ndarray:
    return first_wins(episodes.columns, roles)

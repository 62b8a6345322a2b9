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
from holdfast.rollout.evaluate import play_until
from holdfast.selfplay.arena import first_wins
from holdfast.selfplay.blindness import Blind, blinded
from holdfast.selfplay.cast import PLACES, Cast, Player
from holdfast.selfplay.stack import Stack
from holdfast.worlds.api import Episodes, Plan, World
from holdfast.worlds.registry import make_world

LANES_AT_ONCE = 4096
FEW_LANES = 64  # as quick as half of them
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
    """Lanes whose duel is over are left behind as soon as they are half of all, in a smaller world."""
    lanes = np.arange(len(pairs) * len(keys))  # of the round, those still played
    generator = torch.Generator().manual_seed(ground.act_seed)
    field = _Field(ground, len(lanes), generator)
    tables: list[Episodes] = []
    try:
        if ground.level:
            field.world.plan(lanes, Plan(ground.level))
        for side, (cast, contenders) in enumerate(zip(field.casts, (first, second), strict=True)):
            _seat(cast, [contenders[pair[side]] for pair in pairs], len(keys))
        field.world.reset(keys=np.tile(keys, len(pairs)))
        while len(lanes):
            waiting = np.ones(len(lanes), np.bool_)
            left = len(lanes) // 2 if len(lanes) > FEW_LANES else 0
            for table in play_until(field.world, field.act, waiting, keys, left):
                tables.append(Episodes({**table.columns, "lane": lanes[table["lane"]]}))
            lanes = lanes[waiting]
            if len(lanes):
                field = field.narrowed(np.flatnonzero(waiting))
    finally:
        field.world.close()
    played = Episodes.joined(tables)
    played = played.take(np.argsort(played["lane"]))
    return [played.take(np.flatnonzero(played["lane"] // len(keys) == number)) for number in range(len(pairs))]


class _Field:
    """A world of duels with those who play in it."""

    def __init__(
        self, ground: Ground, lanes: int, generator: torch.Generator, stacks: Sequence[Stack | None] = (None, None)
    ) -> None:
        self.ground, self.generator = ground, generator
        self.world = make_world(ground.world_name, ground.settings, lanes, seed=0, threads=ground.threads)
        self.casts = [
            Cast(self.world, make, ground.sampled, stack, asks_all=False)
            for make, stack in zip(ground.make, stacks, strict=True)
        ]

    def act(self, _: World) -> dict[str, np.ndarray]:
        actions = {cast.role.name: cast.act(self.generator) for cast in self.casts}
        return actions if self.ground.blind is None else blinded(self.world, self.ground.blind, actions)

    def narrowed(self, lanes: np.ndarray) -> _Field:
        """Only these lanes, as they stand; this one is closed."""
        found = _Field(self.ground, len(lanes), self.generator, [cast.stack for cast in self.casts])
        found.world.load(found.world.chosen(None), self.world.save(lanes), exact=True)
        for mine, theirs in zip(self.casts, found.casts, strict=True):
            theirs.take_over(mine, lanes)
        self.world.close()
        return found


def _seat(cast: Cast, contenders: list[Contender], each: int) -> None:
    places = cast.seat([(contender.player, contender.arrays) for contender in contenders])
    for number, place in enumerate(places):
        assert place is not None
        cast.promise(np.arange(number * each, (number + 1) * each), place)
    cast.begin(np.arange(cast.world.lanes))


def wins_of_first(episodes: Episodes, roles: tuple[str, str]) -> np.ndarray:
    return first_wins(episodes.columns, roles)

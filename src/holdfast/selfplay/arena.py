"""A world of two roles seen from one of them: its learner acts here, a cast of frozen players acts for the other role.

To whoever collects experience it is a world of one role. Each learning role has an arena of its own, whose episodes
wait while the other role has its turn: so an opponent stays fixed for a whole episode however short turns are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from holdfast.kit.rng import derive, uniform
from holdfast.kit.soundness import refuse_misfits
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.learner import Learner
from holdfast.rollout.collect import make_memory
from holdfast.rollout.seat import Seat, below
from holdfast.selfplay.cast import Cast, Player
from holdfast.worlds.api import Episodes, Situation, World

MIX_STREAM = 0x313
LENGTH = "max_steps"  # the level parameter that ends an episode


class Outcome(NamedTuple):
    """Ended episodes of one rollout, as far as self-play asks; arrays [E]."""

    won: np.ndarray  # bool, by the role that learns
    place: np.ndarray  # of the opponent
    mixed: np.ndarray  # bool: was at the level before


def first_wins(columns: Mapping[str, np.ndarray], roles: tuple[str, str]) -> np.ndarray:
    """Who won each episode: by capture where the world has it, else by the larger return."""
    if "captured" in columns:
        return np.asarray(columns["captured"]) > 0.5
    return np.asarray(columns[f"return_{roles[0]}"]) > np.asarray(columns[f"return_{roles[1]}"])


class OneSided(World):
    """The world as `collect` sees it: one role, whose opponents act inside `step`."""

    def __init__(self, inner: World, role: str, cast: Cast | None, generator: torch.Generator) -> None:
        self.inner, self.role, self.cast, self.generator = inner, role, cast, generator
        self.spec, self.lanes, self.threads, self.seed = inner.spec, inner.lanes, inner.threads, inner.seed
        self.clock, self.roles = inner.clock, inner.roles
        self.after_end: Callable[[np.ndarray], None] | None = None

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        chosen = dict(actions)
        if self.cast is not None:
            chosen[self.cast.role.name] = self.cast.act(self.generator)
        self.inner.step(chosen)
        if self.after_end is not None:
            ended = np.flatnonzero(self.clock.terminated | self.clock.truncated)
            if len(ended):
                self.after_end(ended)

    def finished(self) -> Episodes:
        return self.inner.finished()

    def _begin(self, lanes: np.ndarray) -> None:
        self.inner._begin(lanes)

    def save(self, lanes: np.ndarray) -> Situation:
        return self.inner.save(lanes)

    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        self.inner.load(lanes, situation, exact)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.inner.arrays()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        return self.inner.restore(arrays)

    def draw(self, lane: int) -> np.ndarray:
        return self.inner.draw(lane)

    def close(self) -> None:
        self.inner.close()


@dataclass(kw_only=True)
class Arena(Seat):
    """Where one role learns: a seat whose world has opponents in it."""

    world: OneSided
    cast: Cast | None  # none in an exercise, which needs no opponent
    is_first: bool  # the role that learns is the first one of the world
    mix_key: int
    mixed: np.ndarray  # [N] bool: the episode that goes on is at the level before
    mixed_next: np.ndarray  # [N] bool: so will the next one be
    short: np.ndarray  # [N] bool: the episode that goes on ends early, and does not count
    mix: float = 0.0
    levels: tuple[np.ndarray, np.ndarray] | None = None  # rows of the clock's level: current and before
    ended: list[Outcome] = field(default_factory=list)
    promised: tuple[list[dict[str, Any] | None], Any] | None = None  # players of a checkpoint, and where they are kept

    @property
    def role(self) -> str:
        return next(iter(self.learners))

    @property
    def learner(self) -> Learner:
        return self.learners[self.role]

    @property
    def batch(self) -> Batch:
        return self.batches[self.role]

    # --- opponents and levels of coming episodes ---------------------------------------------------------------------

    def _after_end(self, lanes: np.ndarray) -> None:
        """Ended episodes are counted; the ones that began get their promised opponent, the ones after them a level."""
        roles = self.world.spec.roles
        if self.cast is not None:
            columns = {name: self.world.clock.ended[lanes, i] for i, name in enumerate(self.world.spec.columns)}
            won = first_wins(columns, (roles[0].name, roles[1].name))
            counted = ~self.short[lanes]
            place, mixed = self.cast.playing[lanes][counted], self.mixed[lanes][counted]
            self.ended.append(Outcome((won if self.is_first else ~won)[counted], place, mixed))
            self.cast.begin(lanes)
        self.short[lanes] = False
        self.mixed[lanes] = self.mixed_next[lanes]
        self._plan_next(lanes)

    def _plan_next(self, lanes: np.ndarray) -> None:
        if self.levels is None:
            return
        clock = self.world.clock
        if self.mix > 0.0:
            indices = clock.episode_index[lanes]
            keys = [np.uint64(derive(np.uint64(self.mix_key), np.uint64(lane))) for lane in lanes]
            draws = np.array([uniform(key, MIX_STREAM, index) for key, index in zip(keys, indices, strict=True)])
            self.mixed_next[lanes] = draws < self.mix
        else:
            self.mixed_next[lanes] = False
        current, before = self.levels
        clock.level[lanes] = np.where(self.mixed_next[lanes, None], before, current)

    def know_levels(self, current: np.ndarray, before: np.ndarray | None, mix: float) -> None:
        """Rows of level parameters, and the share of episodes at the level before; lanes keep what they were given."""
        self.levels = (current, current if before is None else before)
        self.mix = 0.0 if before is None else mix

    def set_levels(self, current: np.ndarray, before: np.ndarray | None, mix: float) -> None:
        """The same, for all episodes to come."""
        self.know_levels(current, before, mix)
        self._plan_next(np.arange(self.world.lanes))

    def restart(self) -> None:
        """New episodes in all lanes, between two rollouts; the batch before already counts what was to come."""
        lanes = np.arange(self.world.lanes)
        self._spread_ends(lanes)
        self.world.inner.reset()
        for name, starts in self.memory.starts.items():  # new ones: those of a rollout cannot be written to
            self.memory.starts[name] = torch.ones(len(starts), dtype=torch.bool)
        if self.cast is not None:
            self.cast.begin(lanes)
        self.mixed[...] = self.mixed_next
        self._plan_next(lanes)

    def _spread_ends(self, lanes: np.ndarray) -> None:
        """Let the first episodes end one after the other. Lanes that begin together and last their full time end
        together, and a batch in which all duels are lost by time says nothing about the batches before and after."""
        names = [parameter.name for parameter in self.world.spec.level]
        if self.levels is None or LENGTH not in names:
            return
        place = names.index(LENGTH)
        share = 1.0 - (lanes * 89 % self.world.lanes) / self.world.lanes  # above 0, up to 1
        level = self.world.clock.level
        level[lanes, place] = np.ceil(level[lanes, place] * share)
        self.short[lanes] = share < 1.0

    def share_out(self, players: list[tuple[Player, float, Mapping[str, np.ndarray] | None]]) -> list[Player]:
        """Promise lanes to players by their shares, in equal blocks; who could be seated."""
        assert self.cast is not None
        self.cast.drop_unused()
        places = self.cast.seat([(player, arrays) for player, _, arrays in players])
        seated = [
            (player, share, place)
            for (player, share, _), place in zip(players, places, strict=True)
            if place is not None
        ]
        if not seated:
            return []
        total = sum(share for _, share, _ in seated)
        edges = np.round(np.cumsum([0.0, *(share / total for _, share, _ in seated)]) * self.world.lanes).astype(int)
        # lanes are dealt in strides so that every player meets lanes of all ages
        order = np.argsort(np.arange(self.world.lanes) * 61 % self.world.lanes, kind="stable")
        for (_, _, place), start, end in zip(seated, edges[:-1], edges[1:], strict=True):
            self.cast.promise(order[start:end], place)
        return [player for player, _, _ in seated]

    def take_outcomes(self) -> Outcome:
        """The episodes that ended since the last call."""
        parts, self.ended = self.ended, []
        if not parts:
            return Outcome(np.zeros(0, bool), np.zeros(0, np.int32), np.zeros(0, bool))
        return Outcome(*(np.concatenate([getattr(part, name) for part in parts]) for name in Outcome._fields))

    # --- saving ------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        found = {**super().arrays(), "mixed": self.mixed, "mixed_next": self.mixed_next, "short": self.short}
        if self.cast is not None:
            found |= {f"cast/{name}": array for name, array in self.cast.arrays().items()}
        return found

    def meet(self, players: list[dict[str, Any] | None], vault: Any) -> None:
        """Who plays here in the checkpoint that is restored next."""
        self.promised = (players, vault)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        mine = {name: array for name, array in self.arrays().items() if not name.startswith("world/")}
        refuse_misfits(f"arena of {self.role}", mine, arrays)
        for name in ("mixed", "mixed_next", "short"):
            getattr(self, name)[...] = arrays[name]
        if self.cast is not None and self.promised is not None:
            self.cast.restore(below(arrays, "cast/"), *self.promised)
        return super().restore(arrays)


def make_arena(
    inner: World,
    learner: Learner,
    make_opponent: Callable[[], Learner] | None,
    steps: int,
    generator: torch.Generator,
    actions: torch.Generator | None = None,
) -> Arena:
    """An arena whose world has begun; without opponents for an exercise."""
    cast = None if make_opponent is None else Cast(inner, make_opponent)
    world = OneSided(inner, learner.role.name, cast, generator)
    name = learner.role.name
    arena = Arena(
        world=world,
        learners={name: learner},
        memory=make_memory({name: learner}, inner.lanes),
        batches={name: make_batch(learner.role, inner.lanes, steps, learner.policy.core_size)},
        actions=generator if actions is None else actions,
        is_counted=make_opponent is not None,
        cast=cast,
        is_first=inner.spec.roles[0].name == learner.role.name,
        mix_key=int(derive(np.uint64(inner.seed), np.uint64(MIX_STREAM))),
        mixed=np.zeros(inner.lanes, np.bool_),
        mixed_next=np.zeros(inner.lanes, np.bool_),
        short=np.zeros(inner.lanes, np.bool_),
    )
    world.after_end = arena._after_end
    return arena

"""The two roles of self-play at one moment: learners, the arenas they learn in, frozen policies, the book of decisions.

What a checkpoint keeps of it goes through the run's state: learners, arenas and generators are its own, the rest is the
curriculum's memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.rng import derive
from holdfast.learner.learner import Learner, torch_threads
from holdfast.rollout.seat import below
from holdfast.selfplay.arena import Arena, make_arena
from holdfast.selfplay.book import Book
from holdfast.selfplay.exercise import exercise_world
from holdfast.selfplay.league import make_pool
from holdfast.selfplay.role_learner import make_role_learner, spare_maker
from holdfast.selfplay.rollback import RING, Entry, Ring
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.selfplay.schedule import in_schedule, round_length
from holdfast.selfplay.vault import Vault
from holdfast.state import ACTIONS, SHUFFLE, WEIGHTS, Counts, State, torch_generator
from holdfast.worlds.api import World, WorldSpec
from holdfast.worlds.registry import make_world

RIVALS, IMPORTANCE = 11, 13  # purposes of torch generators; more in role_learner.py and rounds.py


@dataclass
class Pair:
    """Two roles that learn from each other."""

    config: Config
    state: State
    vault: Vault = field(default_factory=Vault)
    book: Book = field(default_factory=Book)

    @property
    def spec(self) -> WorldSpec:
        return self.state.world.spec

    @property
    def roles(self) -> tuple[str, str]:
        first, second = self.state.learners
        return first, second

    @property
    def learners(self) -> tuple[Learner, Learner]:
        first, second = self.state.learners.values()
        return first, second

    @property
    def arenas(self) -> tuple[Arena, Arena]:
        """Where each role learns, by its number."""
        first, second = (self.state.seats[seat_of(role)] for role in self.roles)
        assert isinstance(first, Arena) and isinstance(second, Arena)
        return first, second

    @property
    def exercises(self) -> dict[int, Arena]:
        """Where roles still learn alone, by their numbers."""
        found = {number: self.state.seats.get(exercise_of(role)) for number, role in enumerate(self.roles)}
        return {number: arena for number, arena in found.items() if isinstance(arena, Arena)}

    def end_exercise(self, number: int) -> None:
        self.state.seats.pop(exercise_of(self.roles[number])).close()

    @property
    def counts(self) -> Counts:
        return self.state.counts

    @property
    def scheduled(self) -> int:
        """The iteration of the run's schedules."""
        return in_schedule(self.book, self.counts.iteration)

    def keep_in_ring(self, number: int, is_turn_start: bool = False) -> None:
        """Freeze a role so that it can come back here."""
        side_book = self.book.sides[number]
        name = self.vault.freeze(self.learners[number])
        entry = Entry(name, side_book.steps, side_book.pulse.rate, is_turn_start)
        side_book.ring.push(entry, RING)

    def begin_ring(self, number: int) -> None:
        """From here on a role goes back no further than to what it is now."""
        self.book.sides[number].ring = Ring()
        self.keep_in_ring(number, is_turn_start=True)

    def go_back(self, number: int, policy: str) -> None:
        """A role becomes what it was, optimiser and all; what EWC holds, it has measured since and goes on to hold."""
        learner = self.learners[number]
        anchor = learner.anchor
        held = None if anchor is None else {name: array.copy() for name, array in anchor.arrays().items()}
        self.vault.thaw(policy, learner)
        if anchor is not None and held is not None:
            anchor.restore(held)

    # --- what the curriculum remembers -------------------------------------------------------------------------------

    def needed(self) -> set[str]:
        """Frozen policies that anything still refers to."""
        found = self.book.hashes()
        for arena in self._arenas().values():
            found |= arena.cast.hashes() if arena.cast is not None else set()
        return found

    def _arenas(self) -> dict[str, Arena]:
        return {name: seat for name, seat in self.state.seats.items() if isinstance(seat, Arena)}

    def facts(self) -> dict[str, Any]:
        arenas = {name: arena for name, arena in self._arenas().items() if arena.cast is not None}
        players = {name: arena.cast.players_json() for name, arena in arenas.items() if arena.cast is not None}
        return {"book": self.book.to_json(), "players": players}

    def arrays(self) -> dict[str, np.ndarray]:
        needed = self.needed()
        return {f"vault/{name}": array for name, array in self.vault.arrays(needed).items()}

    def forget(self) -> None:
        """Let go of frozen policies that nothing refers to."""
        self.vault.forget_all_but(self.needed())

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        book = dict(facts["book"])
        book.setdefault("shift", book["rounds"] * round_length(self.config))  # version 0.1 did not always write it
        book.setdefault("play_steps", sum(side["steps"] - side["cold_steps"] for side in book["sides"]))  # nor this
        self.book = Book.from_json(book)
        self.vault.restore(below(arrays, "vault/"))
        for name, arena in self._arenas().items():  # their own arrays come after this
            arena.meet(facts["players"].get(name, []), self.vault)


def seat_of(role: str) -> str:
    return f"arena/{role}/"


def exercise_of(role: str) -> str:
    return f"arena/exercise-{role}/"


def initial_pair(config: Config) -> Pair:
    """Self-play before its first step."""
    seed, lanes, threads = config.run.seed, config.rollout.lanes, config.rollout.threads
    torch.set_num_threads(threads)
    worlds: list[World] = []
    for number in (FIRST, SECOND):
        own = int(derive(np.uint64(seed), np.uint64(number)) >> np.uint64(1))
        worlds.append(make_world(config.world_name, config.world, lanes, own, threads))
    roles = worlds[0].spec.roles
    weights = torch_generator(seed, WEIGHTS)
    learners = {roles[n].name: make_role_learner(config, roles[n], n, weights) for n in (FIRST, SECOND)}
    torch.set_num_threads(torch_threads(learners, config.rollout.steps, threads))
    generators = {
        "actions": torch_generator(seed, ACTIONS),
        "shuffle": torch_generator(seed, SHUFFLE),
        "rivals": torch_generator(seed, RIVALS),  # draws opponents' actions
    }
    state = State(learners, {}, generators)
    steps, actions, rivals = config.rollout.steps, generators["actions"], generators["rivals"]
    for number, world in enumerate(worlds):
        world.reset()
        make = spare_maker(config, roles[other(number)])
        name = roles[number].name
        state.seats[seat_of(name)] = make_arena(world, learners[name], make, steps, rivals, actions)
    for number in exercised(config):
        name = roles[number].name
        world = exercise_world(config, name, number)
        world.reset()
        state.seats[exercise_of(name)] = make_arena(world, learners[name], None, steps, rivals, actions)
    pair = Pair(config, state)
    for number, side_book in enumerate(pair.book.sides):
        side_book.pool = make_pool(seed, number)
    pair.book.standing.level = config.levels.start_level
    return pair


def exercised(config: Config) -> tuple[int, ...]:
    return {"none": (), "second": (SECOND,), "both": (FIRST, SECOND)}[config.duel.cold_start]

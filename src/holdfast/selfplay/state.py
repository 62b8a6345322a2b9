"""Self-play at one moment: two learners, the arenas they learn in, every frozen policy, and the book of decisions.

It answers to the same names as the state of an ordinary run, so that checkpoints, views and resuming are shared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from holdfast.config import Config
from holdfast.errors import CheckpointError
from holdfast.learner.batch import Batch
from holdfast.learner.learner import Learner
from holdfast.rng import derive
from holdfast.selfplay.arena import Arena, make_arena
from holdfast.selfplay.book import Book
from holdfast.selfplay.exercise import exercise_world
from holdfast.selfplay.league import make_pool
from holdfast.selfplay.rollback import Entry
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.selfplay.schedule import in_schedule, round_length
from holdfast.selfplay.side import Side, spare_maker
from holdfast.selfplay.vault import Vault, arrays_of, put_into
from holdfast.state import ACTIONS, SHUFFLE, WEIGHTS, Counts, below, torch_generator
from holdfast.worlds.api import World
from holdfast.worlds.registry import make_world

RIVALS, IMPORTANCE = 11, 13  # purposes of torch generators; more in side.py and rounds.py
BOOK = "duel/book"


@dataclass
class DuelState:
    """Self-play at one moment."""

    ahead = None  # every role collects in its own arena, never ahead of its update
    config: Config
    world: World  # of the first arena; for its spec
    sides: tuple[Side, Side]
    arenas: list[Arena]  # by number of the role
    exercises: dict[int, Arena]  # only while they are needed
    vault: Vault
    book: Book
    actions: torch.Generator
    shuffle: torch.Generator
    rivals: torch.Generator  # draws opponents' actions
    counts: Counts
    live: tuple[Arena, ...] = ()  # the arenas that collected in this iteration

    @property
    def learners(self) -> dict[str, Learner]:
        return {side.name: side.learner for side in self.sides}

    @property
    def batches(self) -> dict[str, Batch]:
        return {arena.role: arena.batch for arena in self.live}

    @property
    def scheduled(self) -> int:
        """The iteration of the run's schedules."""
        return in_schedule(self.book, self.counts.iteration)

    # --- saving ------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        self.vault.forget_all_but(self.needed())
        found = {f"vault/{name}": array for name, array in self.vault.arrays().items()}
        for side in self.sides:
            found |= {f"{side.name}/{name}": array for name, array in arrays_of(side).items()}
        for name, arena in self._arenas().items():
            found |= {f"arena/{name}/{key}": array for key, array in arena.arrays().items()}
        for name, generator in self._generators().items():
            found[f"generators/{name}"] = generator.get_state().numpy()
        players = {name: arena.cast.players_json() for name, arena in self._arenas().items() if arena.cast is not None}
        text = json.dumps({"book": self.book.to_json(), "players": players}).encode()
        found[BOOK] = np.frombuffer(text, np.uint8)
        return found

    def _arenas(self) -> dict[str, Arena]:
        found = {side.name: arena for side, arena in zip(self.sides, self.arenas, strict=True)}
        return found | {f"exercise-{self.sides[number].name}": arena for number, arena in self.exercises.items()}

    def _generators(self) -> dict[str, torch.Generator]:
        return {"actions": self.actions, "shuffle": self.shuffle, "rivals": self.rivals}

    def needed(self) -> set[str]:
        """Frozen policies that anything still refers to."""
        found = self.book.hashes()
        for arena in self._arenas().values():
            found |= arena.cast.hashes() if arena.cast is not None else set()
        return found

    def restore(self, arrays: Mapping[str, np.ndarray], counts: Mapping[str, Any]) -> list[str]:
        """Become the state these arrays were taken from."""
        if BOOK not in arrays:
            raise CheckpointError("the checkpoint is not one of self-play")
        kept = json.loads(arrays[BOOK].tobytes())
        kept["book"].setdefault("shift", kept["book"]["rounds"] * round_length(self.config))  # it was once not written
        self.book = Book.from_json(kept["book"])
        self.vault.restore(below(arrays, "vault/"))
        self.restore_learners(arrays)
        done = {n for n in self.exercises if f"arena/exercise-{self.sides[n].name}/mixed" not in arrays}
        for number in done:
            self.exercises.pop(number).world.close()
        notes = []
        for name, arena in self._arenas().items():
            notes += arena.restore(below(arrays, f"arena/{name}/"), kept["players"].get(name, []), self.vault)
        for name, generator in self._generators().items():
            generator.set_state(torch.from_numpy(np.array(arrays[f"generators/{name}"])))
        self.counts = Counts(**counts)
        return notes

    def restore_learners(self, arrays: Mapping[str, np.ndarray]) -> None:
        for side in self.sides:
            put_into(side, below(arrays, f"{side.name}/"))


def keep_in_ring(state: DuelState, number: int, is_turn_start: bool = False) -> None:
    """Freeze a role so that it can come back here."""
    side_book = state.book.sides[number]
    name = state.vault.freeze(state.sides[number])
    side_book.ring.push(Entry(name, side_book.steps, side_book.pulse.rate, is_turn_start), state.config.health.ring)


def initial_duel(config: Config) -> DuelState:
    """Self-play before its first step."""
    seed, lanes, threads = config.run.seed, config.rollout.lanes, config.rollout.threads
    torch.set_num_threads(threads)
    worlds = [
        make_world(
            config.world_name, config.world, lanes, int(derive(np.uint64(seed), np.uint64(n)) >> np.uint64(1)), threads
        )
        for n in (FIRST, SECOND)
    ]
    roles = worlds[0].spec.roles
    weights = torch_generator(seed, WEIGHTS)
    sides = (Side(config, roles[0], FIRST, weights), Side(config, roles[1], SECOND, weights))
    rivals = torch_generator(seed, RIVALS)
    arenas = []
    for number, world in enumerate(worlds):
        world.reset()
        make = spare_maker(config, roles[other(number)])
        arenas.append(make_arena(world, sides[number].learner, make, config.rollout.steps, rivals))
    book = Book()
    for number, side_book in enumerate(book.sides):
        side_book.pool = make_pool(seed, number)
    book.standing.level = config.levels.start_level
    exercises = {}
    for number in exercised(config):
        world = exercise_world(config, roles[number].name, number)
        world.reset()
        exercises[number] = make_arena(world, sides[number].learner, None, config.rollout.steps, rivals)
    return DuelState(
        config=config,
        world=worlds[0],
        sides=sides,
        arenas=arenas,
        exercises=exercises,
        vault=Vault(),
        book=book,
        actions=torch_generator(seed, ACTIONS),
        shuffle=torch_generator(seed, SHUFFLE),
        rivals=rivals,
        counts=Counts(),
    )


def exercised(config: Config) -> tuple[int, ...]:
    return {"none": (), "second": (SECOND,), "both": (FIRST, SECOND)}[config.duel.cold_start]

"""Everything that changes during a run, as one value that is saved and loaded whole.

Weights, optimiser, normalisers, world arrays, recurrent memory, random generators, counters and what the curriculum
remembers all hang from here. If something matters for the future of a run and is not in `State`, an interrupted run
would not continue as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.rng import derive
from holdfast.kit.soundness import refuse_misfits
from holdfast.learner.learner import Learner, make_learners, torch_threads
from holdfast.learner.replay import Replay
from holdfast.rollout.ahead import share_threads
from holdfast.rollout.seat import Seat, below, make_seat
from holdfast.worlds.api import World
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.supervisor import Supervisor

WEIGHTS, ACTIONS, SHUFFLE, REPLAY = 1, 2, 3, 100  # purposes of torch generators; replay: one more per role
ONLY = ""  # the name of the only seat of an ordinary run


@dataclass
class Counts:
    """What has been done so far."""

    iteration: int = 0
    agent_steps: int = 0
    episodes: int = 0
    best_score: float | None = None
    best_iteration: int = 0
    solved: bool = False  # an evaluation reached run.stop_score


class Remembers(Protocol):
    """What a curriculum keeps from one iteration to the next."""

    def facts(self) -> dict[str, Any]: ...
    def arrays(self) -> dict[str, np.ndarray]: ...
    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None: ...


@dataclass
class State:
    """A run at one moment."""

    learners: dict[str, Learner]  # by role
    seats: dict[str, Seat]  # by the beginning of their arrays' names
    generators: dict[str, torch.Generator]
    counts: Counts = field(default_factory=Counts)
    memory: Remembers | None = None  # the curriculum's

    # --- the seat of an ordinary run ---------------------------------------------------------------------------------

    @property
    def seat(self) -> Seat:
        return next(iter(self.seats.values()))

    @property
    def world(self) -> World:
        """The first seat's, whose spec is that of all."""
        return self.seat.world

    @property
    def shuffle(self) -> torch.Generator:
        """Shuffles minibatches."""
        return self.generators["shuffle"]

    # --- saved and restored ------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, sharing memory with the live ones."""
        found: dict[str, np.ndarray] = {}
        for role, learner in self.learners.items():
            for part_name, part in learner.parts().items():
                found |= {f"{role}/{part_name}/{name}": array for name, array in part.arrays().items()}
            if learner.replay is not None and learner.replay.config.in_checkpoint:
                found |= {f"{role}/replay/{name}": array for name, array in learner.replay.arrays().items()}
        for prefix, seat in self.seats.items():
            found |= {f"{prefix}{name}": array for name, array in seat.arrays().items()}
        found |= {f"generators/{name}": one.get_state().numpy() for name, one in self.generators.items()}
        if self.memory is not None:
            found |= {f"curriculum/{name}": array for name, array in self.memory.arrays().items()}
        return found

    def facts(self) -> dict[str, Any]:
        """All that is not arrays, as JSON."""
        return {"counts": asdict(self.counts), "curriculum": {} if self.memory is None else self.memory.facts()}

    def restore(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> list[str]:
        """Become the state these were taken from; notes for the user on what could not be exact."""
        self._restore_shared(arrays, facts)
        if self.memory is not None:
            self.memory.restore(facts["curriculum"], below(arrays, "curriculum/"))
        notes = []
        for prefix in list(self.seats):
            mine = below(arrays, prefix)
            if prefix and not mine:  # a seat whose work was done when this was saved
                self.seats.pop(prefix).close()
            else:
                notes += self.seats[prefix].restore(mine)
        return notes + self._restore_replay(arrays)

    def restore_without_lanes(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], world: World) -> None:
        """The same but for the lanes: all of them begin new episodes, in this world. Not an exact resume."""
        self._restore_shared(arrays, facts)
        self.seat.begin_anew(world)
        if self.memory is not None:
            self.memory.restore(facts["curriculum"], below(arrays, "curriculum/"))

    def _restore_shared(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
        self.restore_learners(arrays)
        for name, generator in self.generators.items():
            generator.set_state(torch.from_numpy(np.array(arrays[f"generators/{name}"])))
        self.counts = Counts(**facts["counts"])

    def _restore_replay(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        notes = []
        for role, learner in self.learners.items():
            saved = below(arrays, f"{role}/replay/")
            if learner.replay is not None and saved:
                learner.replay.restore(saved)
            elif learner.replay is not None:
                notes.append(f"the replay of {role} was not saved and begins empty: this resume is not exact")
        return notes

    def restore_learners(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Only what was learned, for evaluations and videos."""
        restore_learners(self.learners, arrays)


def restore_learners(learners: dict[str, Learner], arrays: Mapping[str, np.ndarray]) -> None:
    for role, learner in learners.items():
        for part_name, part in learner.parts().items():
            mine, saved = part.arrays(), below(arrays, f"{role}/{part_name}/")
            refuse_misfits(f"{role} {part_name}", mine, saved)
            part.restore(saved)


def torch_generator(seed: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(int(derive(np.uint64(seed), np.uint64(purpose)) >> np.uint64(1)))


def fresh_learners(config: Config, world: World) -> dict[str, Learner]:
    return make_learners(config, world.spec.roles, torch_generator(config.run.seed, WEIGHTS))


def initial_state(config: Config, supervisor: Supervisor | None = None) -> State:
    """A run of one seat before its first step."""
    lanes, threads, seed = config.rollout.lanes, share_threads(config.rollout), config.run.seed
    torch.set_num_threads(threads.learning)
    world = make_world(config.world_name, config.world, lanes, seed, threads.kernels, supervisor)
    world.reset()
    learners = fresh_learners(config, world)
    torch.set_num_threads(torch_threads(learners, config.rollout.steps, threads.learning))
    for number, learner in enumerate(learners.values() if config.learner.replay else ()):
        learner.replay = Replay(learner.role, config.replay, torch_generator(seed, REPLAY + number))
    actions = torch_generator(seed, ACTIONS)
    followers = fresh_learners(config, world) if config.rollout.lag else None
    return State(
        learners=learners,
        seats={ONLY: make_seat(world, learners, config.rollout.steps, actions, followers)},
        generators={"actions": actions, "shuffle": torch_generator(seed, SHUFFLE)},
    )

"""Everything that changes during a run, as one value that is saved and loaded whole.

Weights, optimiser, normalisers, world arrays, recurrent memory, random generators and counters all hang from here. If
something matters for the future of a run and is not in `State`, an interrupted run would not continue as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from holdfast.config.sections import Config
from holdfast.kit.errors import CheckpointError
from holdfast.kit.rng import derive
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.learner import Learner, make_learners, torch_threads
from holdfast.learner.replay import Replay
from holdfast.rollout.ahead import Ahead, share_threads
from holdfast.rollout.collect import Memory, make_memory
from holdfast.worlds.api import World
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.supervisor import Supervisor

WEIGHTS, ACTIONS, SHUFFLE, REPLAY = 1, 2, 3, 100  # purposes of torch generators; replay: one more per role


@dataclass
class Counts:
    """What has been done so far."""

    iteration: int = 0
    agent_steps: int = 0
    episodes: int = 0
    best_score: float | None = None
    best_iteration: int = 0
    solved: bool = False  # an evaluation reached run.stop_score


@dataclass
class State:
    """A run at one moment."""

    world: World
    learners: dict[str, Learner]
    memory: Memory
    actions: torch.Generator  # draws actions
    shuffle: torch.Generator  # shuffles minibatches
    counts: Counts
    batches: dict[str, Batch]  # what the update learns from: spent when a checkpoint is written, so not part of it
    ahead: Ahead | None  # with a lag: the rollout that is learned from next

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, sharing memory with the live ones."""
        found = {f"world/{name}": array for name, array in self.world.arrays().items()}
        for role, learner in self.learners.items():
            for part_name, part in learner.parts().items():
                found |= {f"{role}/{part_name}/{name}": array for name, array in part.arrays().items()}
            if learner.replay is not None and learner.replay.config.in_checkpoint:
                found |= {f"{role}/replay/{name}": array for name, array in learner.replay.arrays().items()}
            found[f"{role}/memory/hidden"] = self.memory.hidden[role].numpy()
            found[f"{role}/memory/starts"] = self.memory.starts[role].numpy()
        if self.ahead is not None:
            found |= {f"ahead/{name}": array for name, array in self.ahead.arrays().items()}
        found["generators/actions"] = self.actions.get_state().numpy()
        found["generators/shuffle"] = self.shuffle.get_state().numpy()
        return found

    def restore(self, arrays: Mapping[str, np.ndarray], counts: Mapping[str, Any]) -> list[str]:
        """Become the state these arrays were taken from; notes for the user on what could not be exact."""
        self.restore_learners(arrays)
        for role in self.learners:
            self.memory.hidden[role] = torch.from_numpy(np.array(arrays[f"{role}/memory/hidden"]))
            self.memory.starts[role] = torch.from_numpy(np.array(arrays[f"{role}/memory/starts"]))
        self.actions.set_state(torch.from_numpy(np.array(arrays["generators/actions"])))
        self.shuffle.set_state(torch.from_numpy(np.array(arrays["generators/shuffle"])))
        if self.ahead is not None:
            self.ahead.restore(below(arrays, "ahead/"))
        self.counts = Counts(**counts)
        notes = self.world.restore(below(arrays, "world/")) + self._restore_replay(arrays)
        for role, learner in self.learners.items():  # a lane that could not be restored has begun a new episode
            begun = np.repeat(self.world.clock.t == 0, learner.role.agents)
            self.memory.starts[role] |= torch.from_numpy(begun)
        return notes

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
            wrong = [name for name in mine if name not in saved or saved[name].shape != mine[name].shape]
            if wrong:
                raise CheckpointError(
                    f"the saved {role} {part_name} does not fit this configuration: {', '.join(wrong)}"
                )
            part.restore(saved)


def below(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def torch_generator(seed: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(int(derive(np.uint64(seed), np.uint64(purpose)) >> np.uint64(1)))


def fresh_learners(config: Config, world: World) -> dict[str, Learner]:
    return make_learners(config, world.spec.roles, torch_generator(config.run.seed, WEIGHTS))


def initial_state(config: Config, supervisor: Supervisor | None = None) -> State:
    """A run before its first step."""
    lanes, threads, seed = config.rollout.lanes, share_threads(config.rollout), config.run.seed
    torch.set_num_threads(threads.learning)
    world = make_world(config.world_name, config.world, lanes, seed, threads.kernels, supervisor)
    world.reset()
    learners = fresh_learners(config, world)
    torch.set_num_threads(torch_threads(learners, config.rollout.steps, threads.learning))
    for number, learner in enumerate(learners.values() if config.learner.replay else ()):
        learner.replay = Replay(learner.role, config.replay, torch_generator(seed, REPLAY + number))

    def batches() -> dict[str, Batch]:
        steps = config.rollout.steps
        return {name: make_batch(one.role, lanes, steps, one.policy.core_size) for name, one in learners.items()}

    return State(
        world=world,
        learners=learners,
        memory=make_memory(learners, lanes),
        actions=torch_generator(seed, ACTIONS),
        shuffle=torch_generator(seed, SHUFFLE),
        counts=Counts(),
        batches=batches(),
        ahead=Ahead(batches(), fresh_learners(config, world)) if config.rollout.lag else None,
    )

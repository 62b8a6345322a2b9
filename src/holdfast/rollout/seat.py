"""A seat: roles that learn in one world. An ordinary run has one seat; self-play has one for every role, with opponents
inside its world. All that a seat carries from one iteration to the next is part of the run's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from holdfast.config.sections import RolloutConfig
from holdfast.kit.soundness import refuse_misfits
from holdfast.kit.timing import Clock
from holdfast.learner.batch import Batch, make_batch
from holdfast.learner.learner import Learner
from holdfast.rollout.ahead import Ahead, Collector
from holdfast.rollout.collect import Deal, Memory, collect, make_memory
from holdfast.worlds.api import Episodes, World


@dataclass
class Seat:
    """A world, the learners that act in it, their recurrent memory and their batches."""

    world: World
    learners: dict[str, Learner]
    memory: Memory
    batches: dict[str, Batch]  # what the update learns from: spent when a checkpoint is written, so never saved
    actions: torch.Generator  # of sampled actions
    ahead: Ahead | None = None  # with a lag: the rollout that is learned from next
    is_counted: bool = True  # its episodes are the run's episodes; not those of an exercise
    collector: Collector | None = None  # only with a lag

    def open(self, config: RolloutConfig) -> None:
        if self.ahead is not None:
            self.collector = Collector(self, self.ahead, config)

    def collect(self, clock: Clock, deal: Deal | None = None) -> Episodes | None:
        """Fill the batches; returns the episodes that ended."""
        if self.collector is not None:
            return self.collector.next(clock, deal)
        return collect(self.world, self.learners, self.batches, self.memory, self.actions, clock, deal)

    def settle(self, clock: Clock) -> None:
        """After the update: wait for a rollout that was begun ahead."""
        if self.collector is not None:
            self.collector.settle(clock)

    def close(self) -> None:
        if self.collector is not None:
            self.collector.close()
        self.world.close()

    def begin_anew(self, world: World) -> None:
        """Continue in another world, every lane at the start of an episode."""
        self.world.close()
        self.world = world
        self.memory = make_memory(self.learners, world.lanes)

    # --- saved and restored ------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        found = {f"world/{name}": array for name, array in self.world.arrays().items()}
        found |= self._memory_arrays()
        if self.ahead is not None:
            found |= {f"ahead/{name}": array for name, array in self.ahead.arrays().items()}
        return found

    def _memory_arrays(self) -> dict[str, np.ndarray]:
        hidden = {f"{role}/memory/hidden": self.memory.hidden[role].numpy() for role in self.learners}
        return hidden | {f"{role}/memory/starts": self.memory.starts[role].numpy() for role in self.learners}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """Restore what `arrays` gave; returns notes for the user on what could not be exact."""
        refuse_misfits("memory", self._memory_arrays(), arrays)
        for role in self.learners:
            self.memory.hidden[role] = torch.from_numpy(np.array(arrays[f"{role}/memory/hidden"]))
            self.memory.starts[role] = torch.from_numpy(np.array(arrays[f"{role}/memory/starts"]))
        if self.ahead is not None:
            self.ahead.restore(below(arrays, "ahead/"))
        notes = self.world.restore(below(arrays, "world/"))
        for role, learner in self.learners.items():  # a lane that could not be restored has begun a new episode
            begun = np.repeat(self.world.clock.t == 0, learner.role.agents)
            self.memory.starts[role] |= torch.from_numpy(begun)
        return notes


def make_seat(
    world: World,
    learners: dict[str, Learner],
    steps: int,
    actions: torch.Generator,
    followers: dict[str, Learner] | None,
) -> Seat:
    """A seat in a world that has begun. `followers` act one update behind the learners, where there is a lag."""

    def batches() -> dict[str, Batch]:
        return {name: make_batch(one.role, world.lanes, steps, one.policy.core_size) for name, one in learners.items()}

    ahead = None if followers is None else Ahead(batches(), followers)
    return Seat(world, learners, make_memory(learners, world.lanes), batches(), actions, ahead)


def below(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

"""Collecting one rollout ahead of the update, for a run with a lag of one update.

The rollout ahead is acted by frozen copies of the policies taken at the swap, in a thread of its own, whether it
overlaps the update or is waited for. Until it is settled that thread alone touches the world, its memory, the generator
of actions and the spare batches, so overlap changes no byte. Swaps depend on counts, never on time.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch

from holdfast.config.sections import RolloutConfig
from holdfast.kit.soundness import refuse_misfits
from holdfast.kit.timing import Clock
from holdfast.learner.batch import Batch, array
from holdfast.learner.learner import Learner, torch_threads
from holdfast.learner.saved_rows import refuse_actions
from holdfast.rollout.collect import Deal, Memory, collect, learn_observation_scales
from holdfast.worlds.api import Episodes, World


class Threads(NamedTuple):
    """Threads of each part of a run. Kernels give the same bytes on any number; torch may not, so its numbers depend on
    the lag alone, not on whether collecting and learning overlap."""

    kernels: int
    acting: int  # of torch, in the collector
    learning: int  # of torch, in the update


def share_threads(config: RolloutConfig) -> Threads:
    if config.lag == 0:
        return Threads(config.threads, config.threads, config.threads)
    half = max(1, config.threads // 2)
    return Threads(half if config.overlap else config.threads, half, max(1, config.threads - half))


@dataclass
class Ahead:
    """The rollout of the next update, and the frozen policies that act in it; part of the run's state."""

    batches: dict[str, Batch]
    actors: dict[str, Learner]
    episodes: Episodes | None = None
    is_full: bool = False

    def arrays(self) -> dict[str, np.ndarray]:
        if not self.is_full:
            return {}
        ended = self.episodes.columns if self.episodes else {}
        return self._batch_arrays() | {f"episodes/{name}": column for name, column in ended.items()}

    def _batch_arrays(self) -> dict[str, np.ndarray]:
        return {
            f"{role}/{name}": array(field)
            for role, batch in self.batches.items()
            for name, field in batch._asdict().items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.is_full = bool(arrays)
        if self.is_full:
            refuse_misfits("rollout that waits", self._batch_arrays(), arrays)
            for role, actor in self.actors.items():
                refuse_actions(f"rollout of {role} that waits", actor.role.actions, arrays[f"{role}/actions"])
        for role, batch in self.batches.items() if self.is_full else ():
            for name, field in batch._asdict().items():
                array(field)[...] = arrays[f"{role}/{name}"]
        prefix = "episodes/"
        ended = {name.removeprefix(prefix): column for name, column in arrays.items() if name.startswith(prefix)}
        self.episodes = Episodes(ended) if ended else None


class Collected(Protocol):
    """The parts of a seat that collecting reads and changes."""

    world: World
    learners: dict[str, Learner]
    batches: dict[str, Batch]
    memory: Memory
    actions: torch.Generator


class Collector:
    """Fills the batches of an update with the rollout that was collected during the one before."""

    def __init__(self, seat: Collected, ahead: Ahead, config: RolloutConfig) -> None:
        self.seat, self.ahead = seat, ahead
        self.overlaps = config.overlap
        self._clock = Clock()  # of the thread, while it overlaps
        acting = torch_threads(seat.learners, config.steps, share_threads(config).acting)
        self._thread = ThreadPoolExecutor(1, "collector", initializer=torch.set_num_threads, initargs=(acting,))
        self._begun: Future[Episodes | None] | None = None

    def next(self, clock: Clock, deal: Deal | None = None) -> Episodes | None:
        """Fill the batches, and begin the rollout after them; returns the episodes that ended."""
        seat, ahead = self.seat, self.ahead
        if not ahead.is_full:  # the first of a run
            self._begin(clock, deal)
            self._wait()
            self.settle(clock)
        episodes = ahead.episodes
        seat.batches, ahead.batches = ahead.batches, seat.batches
        self._begin(self._clock if self.overlaps else clock, deal)
        if not self.overlaps:
            self._wait()
        return episodes

    def _begin(self, clock: Clock, deal: Deal | None) -> None:
        seat, ahead = self.seat, self.ahead
        for name, actor in ahead.actors.items():
            actor.follow(seat.learners[name])
        ahead.is_full = False
        self._begun = self._thread.submit(
            collect, seat.world, ahead.actors, ahead.batches, seat.memory, seat.actions, clock, deal, False
        )

    def _wait(self) -> None:
        assert self._begun is not None
        self._begun.exception()

    def settle(self, clock: Clock) -> None:
        """Wait for the rollout ahead after an update; an exception in its thread is raised here."""
        if self._begun is None:
            return
        with clock("wait"):
            self.ahead.episodes = self._begun.result()
        self._begun = None
        clock.join(self._clock, "overlapped")
        self._clock = Clock()
        learn_observation_scales(self.seat.learners, self.ahead.batches)
        self.ahead.is_full = True

    def close(self) -> None:
        """Wait for a rollout under way; leave nothing running."""
        self._thread.shutdown(wait=True)

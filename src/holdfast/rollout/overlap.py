"""Where batches come from: now, or, with a lag of one update, from a rollout that was collected while the learner was
busy with the one before.

The lagging collector acts with frozen copies of the policies taken at the swap, in a thread of its own, whether it
overlaps the update or is waited for. What it touches (world, memory, action generator, the spare batches) nobody else
does until it is settled, so overlap changes no byte. Swaps depend on counts, never on time.
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
from holdfast.learner.learner import Learner
from holdfast.learner.saved_rows import refuse_actions
from holdfast.rollout.collect import Deal, Memory, collect, fill, learn_observation_scale
from holdfast.worlds.api import Episodes, World


class Threads(NamedTuple):
    """Who computes on how many threads. Kernels give the same bytes on any number; torch may not, so its numbers
    depend on the lag alone, not on whether collecting and learning overlap."""

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
    """A rollout that waits to be learned from, and the frozen policies it was acted by; part of the run's state."""

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


class RunParts(Protocol):
    """What of a run's state collecting reads and moves."""

    world: World
    learners: dict[str, Learner]
    batches: dict[str, Batch]
    memory: Memory
    actions: torch.Generator
    ahead: Ahead | None


class Collector:
    """Fills the batches an update learns from."""

    def __init__(self, run: RunParts, config: RolloutConfig) -> None:
        self.run = run
        self.overlaps = config.overlap
        self._clock = Clock()  # of the thread, while it overlaps
        self._thread: ThreadPoolExecutor | None = None
        if run.ahead is not None:
            acting = share_threads(config).acting
            self._thread = ThreadPoolExecutor(1, "collector", initializer=torch.set_num_threads, initargs=(acting,))
        self._begun: Future[Episodes | None] | None = None

    def next(self, clock: Clock, deal: Deal | None = None) -> Episodes | None:
        """Fill the batches; the episodes that ended in them. With a lag, also begin the rollout after them."""
        run, ahead = self.run, self.run.ahead
        if ahead is None:
            return collect(run.world, run.learners, run.batches, run.memory, run.actions, clock, deal)
        if not ahead.is_full:  # a run's first rollout has nothing to lag behind
            self._begin(ahead, clock, deal)
            self._wait()
            self.settle(clock)
        episodes = ahead.episodes
        run.batches, ahead.batches = ahead.batches, run.batches
        self._begin(ahead, self._clock if self.overlaps else clock, deal)
        if not self.overlaps:
            self._wait()
        return episodes

    def _begin(self, ahead: Ahead, clock: Clock, deal: Deal | None) -> None:
        assert self._thread is not None
        for name, actor in ahead.actors.items():
            actor.follow(self.run.learners[name])
        ahead.is_full = False
        self._begun = self._thread.submit(
            fill, self.run.world, ahead.actors, ahead.batches, self.run.memory, self.run.actions, clock, deal
        )

    def _wait(self) -> None:
        assert self._begun is not None
        self._begun.exception()

    def settle(self, clock: Clock) -> None:
        """After an update: wait for the rollout that was begun; an exception in its thread is raised here."""
        ahead = self.run.ahead
        if ahead is None or self._begun is None:
            return
        with clock("wait"):
            ahead.episodes = self._begun.result()
        self._begun = None
        clock.join(self._clock, "overlapped")
        self._clock = Clock()
        learn_observation_scale(self.run.learners, ahead.batches)
        ahead.is_full = True

    def close(self) -> None:
        """Let a rollout under way end; nothing is left running."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)

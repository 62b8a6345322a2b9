"""How far a deck is dealt: resets by arithmetic before a run, and what is left of each block at any time.

The arithmetic assumes that no episode ends early; the staggered first episodes of a run are not counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import Literal, NamedTuple

from holdfast.curriculum.deck_spec import Stage
from holdfast.curriculum.schedule import Schedule

OnEmpty = Literal["spawn", "cycle", "stop"]


class Block(NamedTuple):
    """A stage of the deck as it waits in the queue."""

    number: int  # its place in the text, from 1
    label: str
    type: str
    deals: int  # per school


def blocks_of(stages: Iterable[Stage]) -> tuple[Block, ...]:
    return tuple(Block(number, stage.label, stage.type, stage.deals) for number, stage in enumerate(stages, start=1))


class Reading(NamedTuple):
    """The queue at one moment; deals are counted over all schools."""

    consumed: int
    capacity: int
    block: Block | None  # None once all is dealt
    progress: int  # deals taken from the block
    remaining: int
    ratio: float  # remaining / capacity
    remaining_by_type: dict[str, int]
    reinjections: dict[str, int]  # returns of a type after another type was dealt
    reinjections_legacy: dict[str, int]  # blocks of a type entered, minus 1: adjacent blocks count

    @property
    def type(self) -> str:
        return self.block.type if self.block else ""

    @property
    def label(self) -> str:
        return self.block.label if self.block else ""


def read_queue(blocks: Sequence[Block], consumed: int, schools: int = 1, on_empty: OnEmpty = "spawn") -> Reading:
    """The state of the queue after so many deals over all schools. The next deal comes from the current block."""
    ends = [end * schools for end in accumulate(block.deals for block in blocks)]
    capacity = ends[-1] if ends else 0
    laps, position = divmod(consumed, capacity) if on_empty == "cycle" and capacity else (0, min(consumed, capacity))
    current = next((index for index, end in enumerate(ends) if position < end), None)
    reached = len(blocks) if current is None else current + 1
    entered = [block.type for block in blocks] * laps + [block.type for block in blocks[:reached]]
    left: Counter[str] = Counter()
    for block, end in zip(blocks, ends, strict=True):
        left[block.type] += min(end - position, block.deals * schools) if position < end else 0
    start = 0 if current is None else ends[current] - blocks[current].deals * schools
    return Reading(
        consumed=consumed,
        capacity=capacity,
        block=None if current is None else blocks[current],
        progress=0 if current is None else position - start,
        remaining=capacity - position,
        ratio=(capacity - position) / capacity if capacity else 0.0,
        remaining_by_type=dict(left),
        reinjections=_less_one([kind for kind, _ in groupby(entered)], left),
        reinjections_legacy=_less_one(entered, left),
    )


def _less_one(entered: list[str], types: Iterable[str]) -> dict[str, int]:
    counts = Counter(entered)
    return {kind: max(0, counts[kind] - 1) for kind in types}


def episode_limit(steps: int, force_reset_steps: int) -> int:
    """The longest a training episode can be."""
    return min(steps, force_reset_steps) if force_reset_steps else steps


def first_limit(lane: int, lanes: int, steps: int) -> int:
    """The length of a lane's very first episode, so that lanes do not reset in lock-step."""
    return math.ceil((lane + 1) * steps / lanes)


class QueuePlan(NamedTuple):
    """All that decides when a school takes its next situation."""

    blocks: tuple[Block, ...]
    schedule: Schedule
    rollout_steps: int  # of one iteration
    episode_steps: int  # longest training episode, forced resets included
    share: float = 1.0  # of resets that deal from the deck
    phase_reset: Literal["on_change", "always"] = "on_change"
    on_empty: OnEmpty = "spawn"

    def resets(self, iteration: int) -> int:
        """Resets of one school up to the end of an iteration."""
        total = 0
        for length in self._stretches():
            done = min(iteration, length)
            if done <= 0:
                break
            total += 1 + done * self.rollout_steps // self.episode_steps
            iteration -= length
        return total

    def _stretches(self) -> list[int]:
        """Iterations between resets that come from phase changes."""
        phases = self.schedule.phases
        if self.phase_reset == "always":
            return [phase.iterations for phase in phases]
        return [sum(phase.iterations for phase in same) for _, same in groupby(phases, key=lambda phase: phase.fish)]

    def consumed(self, iteration: int) -> int:
        """Expected deals of one school, rounded down."""
        return math.floor(self.resets(iteration) * self.share + 1e-9)

    def reading(self, iteration: int) -> Reading:
        """The forecast for the end of an iteration, counted for one school."""
        return read_queue(self.blocks, self.consumed(iteration), on_empty=self.on_empty)

    def readings(self) -> list[tuple[int, Reading]]:
        """The forecast for every iteration of the run."""
        return [(iteration, self.reading(iteration)) for iteration in range(1, self.schedule.iterations + 1)]

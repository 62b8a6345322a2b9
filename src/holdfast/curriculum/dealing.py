"""Dealing: which lanes take a situation from the deck when they reset, and which one.

A school's k-th deal is fixed by its place in the queue, whatever the other schools do: item k·S + s of a block goes to
school s. Whether a reset deals at all is a counter-based draw, so that a resumed run deals the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_queue import Block, OnEmpty, Reading, read_queue
from holdfast.kit.rng import uniform

DECK_STREAM = 0xDEC


class Draw(NamedTuple):
    """One situation for one lane."""

    lane: int
    block: int  # index into the stages as they were written
    item: int  # which of the endless row of the block's items: the file's own, again and again


class Dealer:
    """The deck's queue in use; part of the run's state."""

    def __init__(self, blocks: Sequence[Block], lanes: int, share: float, on_empty: OnEmpty) -> None:
        self.blocks = tuple(blocks)
        self.lanes, self.share, self.on_empty = lanes, share, on_empty
        self.taken = np.zeros(lanes, np.int64)  # deals of each lane

    @property
    def capacity(self) -> int:
        """Deals of one lane."""
        return sum(block.deals for block in self.blocks)

    @property
    def consumed(self) -> int:
        return int(self.taken.sum())

    @property
    def furthest(self) -> int:
        return int(self.taken.max())

    @property
    def is_empty(self) -> bool:
        return self.on_empty != "cycle" and bool((self.taken >= self.capacity).all())

    def entered(self) -> list[str]:
        """Labels of the blocks from which something has been dealt."""
        starts = accumulate((block.deals for block in self.blocks), initial=0)
        return [block.label for block, start in zip(self.blocks, starts, strict=False) if self.furthest > start]

    def reading(self) -> Reading:
        return read_queue(self.blocks, self.consumed, self.lanes, self.on_empty)

    def draw(self, lanes: np.ndarray, lane_keys: np.ndarray, episodes: np.ndarray, ready: Sequence[bool]) -> list[Draw]:
        """What the lanes that have just reset are dealt; `episodes` counts the episodes each lane has begun.

        `ready` says which stages hold anything yet; a lane whose turn another one is waits.
        """
        found = []
        for lane in lanes:
            place = self.taken[lane]
            if self.on_empty == "cycle":
                place %= self.capacity
            if place >= self.capacity or uniform(lane_keys[lane], DECK_STREAM, np.int64(episodes[lane])) >= self.share:
                continue
            draw = self._draw_at(int(lane), int(place))
            if ready[draw.block]:
                found.append(draw)
                self.taken[lane] += 1
        return found

    def _draw_at(self, lane: int, place: int) -> Draw:
        ends = list(accumulate(block.deals for block in self.blocks))
        index = next(number for number, end in enumerate(ends) if place < end)
        block = self.blocks[index]
        return Draw(lane, block.number - 1, (place - ends[index] + block.deals) * self.lanes + lane)

    def facts(self) -> dict[str, Any]:
        return {"blocks": [list(block) for block in self.blocks], "taken": self.taken.tolist()}

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.blocks = tuple(Block(*block) for block in facts["blocks"])
        self.taken = np.asarray(facts["taken"], np.int64)

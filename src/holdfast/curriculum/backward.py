"""Start states along one way through a stage: episodes begin near its end first, and ever earlier as that works.

A way that exploring found is thousands of presses, which no policy guesses; but from a few steps before the end the
rest of it is soon learned, and then a few steps more (Salimans and Chen 2018, "Learning Montezuma's Revenge from a
single demonstration"). Where a stage's way turns back, as a maze's does, this goes round the corner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.curriculum.starts import BIN_STREAM, ITEM_STREAM, SHARE_STREAM, Moment, Starts
from holdfast.rng import uniform
from holdfast.worlds.api import Situation

WINDOW = 6  # moments of the way that are practised now
BACK = 3  # moments by which the window moves
REVIEW = 0.2  # of episodes begin somewhere later on the way
TRIES = 24  # episodes from the window until it may move
GOOD = 0.4  # share of them that must have cleared the stage


@dataclass
class Backward(Starts):
    """As `Starts`, until a way is known; then `moments` are the way, and a moment's place is its number on it."""

    follows: bool = False
    frontier: int = 0  # first moment of the window
    tried: int = 0  # episodes from the window since it moved, the older ones counting less
    won: int = 0

    @property
    def way_left(self) -> float:
        """Of the way, what no episode has begun from."""
        return self.frontier / len(self.moments) if self.follows else 1.0

    def follow(self, way: list[tuple[int, int, dict[str, np.ndarray]]]) -> None:
        """Take a way: room, x and rows of each moment, in order."""
        self.follows = True
        self.moments = [Moment(number, room, x, rows) for number, (room, x, rows) in enumerate(way)]
        self.frontier = max(0, len(way) - WINDOW)

    def keep(self, standing: np.ndarray, situations: Situation) -> None:
        if not self.follows:
            super().keep(standing, situations)

    def ended(self, lane: int, cleared: bool, room: int, room_x: int, looped: bool = False) -> None:
        moment = self.begun[lane]
        if not self.follows or moment is None:
            super().ended(lane, cleared, room, room_x, looped)
            return
        self.begun[lane] = None
        moment.tried += 1
        moment.won += int(cleared)
        if not self.frontier <= moment.place < self.frontier + WINDOW:
            return
        self.tried += 1
        self.won += int(cleared)
        if self.tried >= TRIES:
            if self.won >= GOOD * self.tried:
                self.frontier, self.tried, self.won = max(0, self.frontier - BACK), 0, 0
            else:
                self.tried, self.won = self.tried // 2, self.won // 2

    def draw(self, lanes: np.ndarray, lane_keys: np.ndarray, episodes: np.ndarray) -> list[tuple[int, Moment]]:
        if not self.follows:
            return super().draw(lanes, lane_keys, episodes)
        found = []
        for lane in lanes.tolist():
            key, count = lane_keys[lane], np.int64(episodes[lane])
            if uniform(key, SHARE_STREAM, count) >= self.share:
                continue
            ahead = len(self.moments) - self.frontier
            reach = ahead if uniform(key, BIN_STREAM, count) < REVIEW else min(WINDOW, ahead)
            moment = self.moments[self.frontier + int(uniform(key, ITEM_STREAM, count) * reach)]
            self.begun[lane] = moment
            found.append((lane, moment))
        self.dealt += len(found)
        return found

    def facts(self) -> dict[str, Any]:
        way = {"follows": self.follows, "frontier": self.frontier, "tried": self.tried, "won": self.won}
        return {**super().facts(), "way": way}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(facts, arrays)
        self.follows, self.frontier, self.tried, self.won = (
            facts["way"][name] for name in ("follows", "frontier", "tried", "won")
        )

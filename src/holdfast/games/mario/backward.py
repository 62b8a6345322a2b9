"""Start states along one way through a stage: episodes begin near its end first, and ever earlier as that works.

A way that exploring found is thousands of presses, which no policy guesses; but from a few steps before the end the
rest of it is soon learned, and then a few steps more (Salimans and Chen 2018, "Learning Montezuma's Revenge from a
single demonstration"). Where a stage's way turns back, as a maze's does, this goes round the corner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.curriculum.starts import Moment, Starts, Tally
from holdfast.worlds.api import Situation

LONGEST_STEP = 16  # moments by which the frontier moves at most; a moment is a step of the world
WINDOW = 4  # moments from the frontier on that are practised, at least
REVIEW = 0.2  # of episodes begin somewhere later on the way
TRIES = 24  # episodes from the window until the next decision
STRETCH = 16  # moments of a way that are judged together
LEAST = 0.02  # weight of a stretch that always or never leads on; 0.25 is the most
PATIENCE = 3  # decisions against it until the frontier goes half a step towards the end again

OF_THE_WAY = ("follows", "frontier", "step", "tried", "won", "misses")


@dataclass
class Backward(Starts):
    """As `Starts`, until a way is known; then `moments` are the way, and a moment's place is its number on it."""

    follows: bool = False
    frontier: int = 0  # first moment that is practised
    step: int = WINDOW  # by which the frontier moved last
    tried: int = 0  # episodes from the window since the last decision
    won: int = 0
    misses: int = 0  # decisions in a row that the frontier must wait

    @property
    def way_left(self) -> float:
        """Of the way, what no episode has begun from."""
        return self.frontier / len(self.moments) if self.follows else 1.0

    @property
    def window(self) -> int:
        return min(max(self.step, WINDOW), len(self.moments) - self.frontier)

    def follow(self, way: list[tuple[int, int, dict[str, np.ndarray]]]) -> None:
        """Take a way: room, x and rows of each moment, in order."""
        self.follows = True
        self.moments = [Moment(number, room, x, rows) for number, (room, x, rows) in enumerate(way)]
        self.frontier = max(0, len(way) - self.step)

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
        if self.frontier <= moment.place < self.frontier + self.window:
            self.tried += 1
            self.won += int(cleared)
            if self.tried >= TRIES:
                self._decide()

    def _decide(self) -> None:
        """Earlier, by longer and longer steps while that works; where it does not, by shorter ones."""
        good = self.won >= self.settings.move_on * self.tried
        self.tried, self.won = 0, 0
        self.misses = 0 if good else self.misses + 1
        if good:
            self.step = min(2 * self.step, LONGEST_STEP)
            self.frontier = max(0, self.frontier - self.step)
        elif self.misses >= PATIENCE:
            self.misses, self.step = 0, max(1, self.step // 2)
            self.frontier = min(self.frontier + self.step, len(self.moments) - 1)

    def _chooser(self) -> Callable[[float, float], Moment]:
        """At the frontier, or for a review anywhere later on the way."""
        if not self.follows:
            return super()._chooser()
        ahead = len(self.moments) - self.frontier

        def choose(review_at: float, item_at: float) -> Moment:
            reach = ahead if review_at < REVIEW else self.window
            return self.moments[self.frontier + int(item_at * reach)]

        return choose

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "way": {name: getattr(self, name) for name in OF_THE_WAY}}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(facts, arrays)
        for name in OF_THE_WAY:
            setattr(self, name, facts["way"][name])


@dataclass
class Along(Backward):
    """Anywhere on the way from the beginning on, most where it is open whether the next room is reached."""

    def follow(self, way: list[tuple[int, int, dict[str, np.ndarray]]]) -> None:
        super().follow(way)
        self.frontier = 0
        self.tallies = {number: Tally() for number in range(-(-len(way) // STRETCH))}

    def keep(self, standing: np.ndarray, situations: Situation) -> None:
        if self.follows:
            self.forget()
        else:
            super().keep(standing, situations)

    def ended(self, lane: int, cleared: bool, room: int, room_x: int, looped: bool = False) -> None:
        moment = self.begun[lane]
        if self.follows and moment is not None:
            tally = self.tallies[moment.place // STRETCH]
            tally.tried += 1.0
            tally.won += float(cleared or room > moment.room)
        super().ended(lane, cleared, room, room_x, looped)

    def _decide(self) -> None:
        self.tried, self.won = 0, 0

    def _chooser(self) -> Callable[[float, float], Moment]:
        if not self.follows:
            return super()._chooser()
        weights = np.array([tally.weight for tally in self.tallies.values()]) ** self.settings.focus + LEAST
        ends = np.cumsum(weights / weights.sum())

        def choose(stretch_at: float, item_at: float) -> Moment:
            first = min(int(np.searchsorted(ends, stretch_at, "right")), len(ends) - 1) * STRETCH
            return self.moments[first + int(item_at * min(STRETCH, len(self.moments) - first))]

        return choose

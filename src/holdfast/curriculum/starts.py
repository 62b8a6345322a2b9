"""Start states: episodes that begin along the level instead of at its start, where there is most to learn.

Before each iteration the lanes as they stand are kept, sorted into bins of the level's length and height, so that a way
seldom taken is not forgotten for the usual one. A bin's weight is
p(1 - p), p being how often an episode that began in it got past the next stretch: what always works teaches nothing,
nor does what never works (a fall into a pit). The share of such episodes fades as the level is cleared from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from holdfast.config.options import MORE_THAN_0, option
from holdfast.kit.rng import uniform
from holdfast.worlds.api import Situation

SHARE_STREAM, BIN_STREAM, ITEM_STREAM = 0x57A1, 0x57A2, 0x57A3
BIN_PX, STOREY_PX = 64, 64  # length and height of a bin of saved states
REACH_PX = 128  # an episode that gets this much further, or to a new room, succeeds
ROOM = 1 << 16  # more than the bins of a room
STOREYS = 8  # more than there are bins above each other
RATE_STEP = 0.02  # of the running clear rate: about the last fifty episodes from the level's start
PRIOR = 0.25  # successes and failures that a bin is thought to have had: few, or all bins would weigh alike
ON = ("starts.share", MORE_THAN_0)


@dataclass(frozen=True)
class StartsSettings:
    """Episodes that begin from moments of earlier ones, chosen by what can be learned there."""

    expert: ClassVar = True

    share: float = option(
        0.0,
        "Fraction of episodes that begin from saved states along the level while it is never cleared from its "
        "start; it falls as that succeeds.",
        low=0.0,
        high=1.0,
        expert=False,
        example="0.5",
    )
    keep: int = option(
        6,
        "Number of saved states per bin of the level; the oldest leave first.",
        low=1,
        high=64,
        only=ON,
    )
    focus: float = option(
        1.0,
        "Exponent of a bin's weight; above 1 concentrates on bins that succeed sometimes.",
        low=0.0,
        high=8.0,
        only=ON,
    )
    forget: float = option(
        0.9,
        "Weight of a bin's earlier results after each iteration: 1 never forgets, 0 counts the last iteration only.",
        low=0.0,
        high=1.0,
        only=ON,
    )
    explore: int = option(
        0,
        "Number of steps of random exploration before the first iteration, from ever new places, to find ways "
        "through. Raise it for levels that random play does not solve.",
        low=0,
        only=ON,
        unit="steps",
        example="400000",
    )
    backward: bool = option(
        False,
        "Begin along one explored way to the end: near its end first, and ever earlier as that succeeds.",
        only=("starts.explore", MORE_THAN_0),
    )
    along: bool = option(
        False,
        "Begin anywhere along one explored way to the end, most often where the next room is reached sometimes.",
        only=("starts.explore", MORE_THAN_0),
    )
    move_on: float = option(
        0.5,
        "Fraction of episodes from the frontier that must clear the level before starts.backward moves it "
        "towards the start.",
        low=0.0,
        high=1.0,
        only=("starts.backward", (True,)),
    )
    imitate: float = option(
        0.0,
        "Coefficient of an imitation loss towards the buttons pressed on an explored way: around the frontier "
        "with starts.backward, else everywhere and fading over the first half of the run.",
        low=0.0,
        high=10.0,
        only=("starts.explore", MORE_THAN_0),
        example="0.1",
    )
    hopeless: int = option(4, "Drop a saved state after this many failed episodes without a success.", low=1, only=ON)


@dataclass
class Moment:
    """One kept lane."""

    place: int  # its bin
    room: int
    x: int
    rows: dict[str, np.ndarray]  # of its situation, one row each
    tried: int = 0
    won: int = 0


@dataclass
class Tally:
    """Results of a bin, earlier ones counting less."""

    tried: float = 0.0
    won: float = 0.0

    @property
    def weight(self) -> float:
        rate = (self.won + PRIOR) / (self.tried + 2.0 * PRIOR)
        return rate * (1.0 - rate)


@dataclass
class Starts:
    """All kept moments and what is known of them: part of a run's state."""

    settings: StartsSettings
    lanes: int
    moments: list[Moment] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    clear_rate: float = 0.0  # of episodes from the level's start
    dealt: int = 0

    def __post_init__(self) -> None:
        self.begun: list[Moment | None] = [None] * self.lanes  # where each lane's episode began; None: at the start

    @property
    def share(self) -> float:
        return self.settings.share * (1.0 - self.clear_rate)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def bin_of(self, room: int, x: int, y: int) -> int:
        storey = min(max(y // STOREY_PX, 0), STOREYS - 1)
        return room * ROOM + x // BIN_PX * STOREYS + storey

    def keep(self, standing: np.ndarray, situations: Situation) -> None:
        """Take in the lanes that stand [N, 4] (in control, room, x, y) at these situations; forget a little."""
        for lane in np.flatnonzero(standing[:, 0]):
            room, x, y = (int(number) for number in standing[lane, 1:])
            rows = {name: array[lane : lane + 1] for name, array in situations.rows.items()}
            self._add(Moment(self.bin_of(room, x, y), room, x, rows))
        self.forget()

    def forget(self) -> None:
        """Earlier results count less."""
        for tally in self.tallies.values():
            tally.tried *= self.settings.forget
            tally.won *= self.settings.forget

    def seed(self, room: int, x: int, y: int, rows: dict[str, np.ndarray]) -> None:
        """A moment that is known to lead on, unless its bin is full."""
        place = self.bin_of(room, x, y)
        if sum(one.place == place for one in self.moments) < self.settings.keep:
            self._add(Moment(place, room, x, rows, won=1))

    def _add(self, moment: Moment) -> None:
        """In a full bin the oldest goes; but half of its places belong to moments that led on, or what was once found
        would be lost among the many that lead nowhere."""
        same = [one for one in self.moments if one.place == moment.place]
        if len(same) >= self.settings.keep:
            unproven = [one for one in same if one.won == 0]
            protected = unproven and len(same) - len(unproven) <= self.settings.keep // 2
            self._drop(unproven[0] if protected else same[0])
        self.moments.append(moment)
        self.tallies.setdefault(moment.place, Tally())

    def _drop(self, moment: Moment) -> None:
        self.moments = [one for one in self.moments if one is not moment]

    # --- what came of it ---------------------------------------------------------------------------------------------

    def ended(self, lane: int, cleared: bool, room: int, room_x: int, looped: bool = False) -> None:
        """An episode of a lane is over; it came to this room, and in it to this x. One that a maze sent back was on a
        wrong way from where it chose it, so that has not succeeded, however far it came: bins get their weight where
        ways part."""
        moment, self.begun[lane] = self.begun[lane], None
        if moment is None:
            self.clear_rate += RATE_STEP * (float(cleared) - self.clear_rate)
            return
        further = room > moment.room or (room == moment.room and room_x >= moment.x + REACH_PX)
        won = cleared or (further and not looped)
        tally = self.tallies[moment.place]
        tally.tried += 1.0
        tally.won += float(won)
        moment.tried += 1
        moment.won += int(won)
        if moment.won == 0 and moment.tried >= self.settings.hopeless:
            self._drop(moment)

    # --- dealing -----------------------------------------------------------------------------------------------------

    def chances(self) -> tuple[list[int], np.ndarray]:
        """Bins that hold a moment, and how likely each is."""
        places = sorted({moment.place for moment in self.moments})
        weights = np.array([self.tallies[place].weight for place in places]) ** self.settings.focus
        return places, weights / weights.sum()

    def draw(self, lanes: np.ndarray, lane_keys: np.ndarray, episodes: np.ndarray) -> list[tuple[int, Moment]]:
        """Which of the lanes that have just reset begin where; `episodes` counts those each lane has begun."""
        if not self.moments:
            return []
        choose, found = self._chooser(), []
        for lane in lanes.tolist():
            key, count = lane_keys[lane], np.int64(episodes[lane])
            if uniform(key, SHARE_STREAM, count) < self.share:
                self.begun[lane] = moment = choose(uniform(key, BIN_STREAM, count), uniform(key, ITEM_STREAM, count))
                found.append((lane, moment))
        self.dealt += len(found)
        return found

    def _chooser(self) -> Callable[[float, float], Moment]:
        """Two numbers from 0 to 1 choose a bin by its weight, and one of its moments."""
        places, chances = self.chances()
        ends = np.cumsum(chances)

        def choose(bin_at: float, item_at: float) -> Moment:
            place = places[min(int(np.searchsorted(ends, bin_at, "right")), len(places) - 1)]
            inside = [moment for moment in self.moments if moment.place == place]
            return inside[int(item_at * len(inside))]

        return choose

    # --- saved and taken back ----------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Everything but the moments' arrays, as JSON."""
        kept = self._kept()
        place = {id(moment): number for number, moment in enumerate(kept)}
        return {
            "moments": [[one.place, one.room, one.x, one.tried, one.won] for one in kept],
            "in_use": len(self.moments),
            "tallies": [[number, tally.tried, tally.won] for number, tally in self.tallies.items()],
            "begun": [None if one is None else place[id(one)] for one in self.begun],
            "clear_rate": self.clear_rate,
            "dealt": self.dealt,
        }

    def _kept(self) -> list[Moment]:
        """The moments in use, then those that were dropped while a lane still plays from them."""
        dropped = {id(one): one for one in self.begun if one is not None}
        for moment in self.moments:
            dropped.pop(id(moment), None)
        return [*self.moments, *dropped.values()]

    def arrays(self) -> dict[str, np.ndarray]:
        kept = self._kept()
        return {name: np.concatenate([one.rows[name] for one in kept]) for name in kept[0].rows} if kept else {}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        kept = [
            Moment(place, room, x, {name: array[number : number + 1] for name, array in arrays.items()}, tried, won)
            for number, (place, room, x, tried, won) in enumerate(facts["moments"])
        ]
        self.moments = kept[: facts["in_use"]]
        self.tallies = {number: Tally(tried, won) for number, tried, won in facts["tallies"]}
        self.begun = [None if number is None else kept[number] for number in facts["begun"]]
        self.clear_rate, self.dealt = facts["clear_rate"], facts["dealt"]

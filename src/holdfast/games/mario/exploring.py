"""Exploring a stage before anything is learned: which places can be reached at all, and on which ways to its end.

Random presses from an archive of moments, one for each small cell of the stage, in the air or on firm ground, and
with each number of emptied blocks around (a hidden block that was hit may be the step to a pipe): Ecoffet et al. 2021,
"First return, then explore". Go back to a moment from which little was tried, best far ahead, press buttons at random,
keep what is new. A maze is solved that way in seconds: a wrong way ends the episode, a right one leaves moments behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.mario import CLEARED, Mario
from holdfast.worlds.api import Situation

CELL_PX = 16
PATIENCE = 40  # steps of a lane without a new cell, then it goes elsewhere
TRAIL_STEPS = 4  # between two moments of a way that fill bins
LONGEST_PRESS = 9
ENOUGH = 4  # ways to the end
NO_PRESS = -1

Key = tuple[int, int, int, bool, int]  # of a cell: room, column, row, in the air, emptied blocks


class Place(NamedTuple):
    """A moment of a lane."""

    room: int
    x: int
    y: int
    rows: dict[str, np.ndarray]


class Passed(NamedTuple):
    """A moment on a way, and what was pressed from there."""

    place: Place
    press: int  # number of the action; NO_PRESS at the end of what is known


@dataclass
class Cell:
    """The first moment seen in a cell of the stage."""

    place: Place
    parent: Cell | None  # where the lane came from
    presses: list[int] = field(default_factory=list)  # and what it pressed since, step by step
    tried: int = 0
    leads_on: bool = False  # somebody got further from here


@dataclass
class Explored:
    """What exploring found."""

    cells: list[Cell] = field(default_factory=list)
    ends: list[Cell] = field(default_factory=list)  # the last cells of ways that cleared the stage
    steps: int = 0

    def shortest(self) -> list[Cell]:
        """Of the ways to the end, the one of fewest cells, in order."""
        return min((lineage(end) for end in self.ends), key=len)[::-1]


def lineage(cell: Cell | None) -> list[Cell]:
    found = []
    while cell is not None:
        found.append(cell)
        cell = cell.parent
    return found


def press_chances(buttons: tuple[int, ...]) -> np.ndarray:
    """To the right more often than not, and down where there may be pipes."""
    weights = np.ones(len(buttons))
    for place, held in enumerate(buttons):
        wanted = held & BITS["RIGHT"] or held == BITS["DOWN"]
        weights[place] = 3.0 if wanted else 0.5 if held & BITS["LEFT"] or held == 0 else 1.0
    return weights / weights.sum()


class Explorer:
    """A world whose lanes press at random."""

    def __init__(self, world: Mario, generator: np.random.Generator, reach_px: int) -> None:
        self.world, self.generator, self.reach_px = world, generator, reach_px
        self.chances = press_chances(world.buttons)
        self.found = Explored()
        self.archive: dict[Key, Cell] = {}
        self.at: list[Cell | None] = [None] * world.lanes
        self.presses: list[list[int]] = [[] for _ in range(world.lanes)]
        self.pressed, self.left = np.zeros(world.lanes, np.int64), np.zeros(world.lanes, np.int64)
        self.patience = np.full(world.lanes, PATIENCE)

    def go(self, steps: int) -> Explored:
        """So many steps of all lanes together, or fewer once there are ways enough."""
        self.world.reset()
        while self.found.steps < steps and len(self.found.ends) < ENOUGH:
            self._press()
            self.found.steps += self.world.lanes
            over = self.world.clock.terminated | self.world.clock.truncated
            for lane in np.flatnonzero(over):
                self._note_end(int(lane))
            self._keep(over)
            self.patience -= 1
            self._go_back(np.flatnonzero(over | (self.patience <= 0)))
        return self.found

    def _press(self) -> None:
        change = self.left <= 0
        count = int(change.sum())
        self.pressed[change] = self.generator.choice(len(self.chances), count, p=self.chances)
        self.left[change] = self.generator.integers(1, LONGEST_PRESS + 1, count)
        self.left -= 1
        self.world.step({"player": self.pressed[:, None]})
        for presses, pressed in zip(self.presses, self.pressed.tolist(), strict=True):
            presses.append(pressed)

    def _note_end(self, lane: int) -> None:
        end = self.at[lane]
        if self.world.clock.ended[lane, CLEARED] > 0.0 and end is not None:
            self.found.ends.append(end)

    def _keep(self, over: np.ndarray) -> None:
        standing = self.world.standing()
        consoles = self.world.state.console
        airborne = consoles[:, facts.AIR_STATE] != 0
        tiles = consoles[:, facts.TILES : facts.TILES + 2 * facts.TILE_PAGE_BYTES]
        emptied = (tiles == facts.EMPTIED_BLOCK).sum(axis=1)
        for lane in np.flatnonzero((standing[:, 0] > 0) & ~over).tolist():
            room, x, y = (int(number) for number in standing[lane, 1:])
            key = room, x // CELL_PX, y // CELL_PX, bool(airborne[lane]), int(emptied[lane])
            if key not in self.archive:
                self._add(lane, key, self._place(lane, room, x, y))

    def _place(self, lane: int, room: int, x: int, y: int) -> Place:
        return Place(room, x, y, dict(self.world.of_episode(self.world.save(np.array([lane]))).rows))

    def _add(self, lane: int, key: Key, place: Place) -> None:
        cell = Cell(place, self.at[lane], self.presses[lane])
        self.archive[key] = cell
        self.found.cells.append(cell)
        self.at[lane], self.presses[lane], self.patience[lane] = cell, [], PATIENCE
        for before in lineage(cell.parent):
            here = before.place
            before.leads_on |= place.room > here.room or place.x >= here.x + self.reach_px

    def _go_back(self, lanes: np.ndarray) -> None:
        if not len(lanes) or not self.found.cells:
            return
        cells = self.found.cells
        tried = np.array([cell.tried for cell in cells])
        depth = np.argsort(np.lexsort(([cell.place.x for cell in cells], [cell.place.room for cell in cells]))) / len(
            cells
        )
        weights = (0.3 + 2.0 * depth) ** 3 / np.sqrt(tried + 1.0)
        chosen = self.generator.choice(len(cells), len(lanes), p=weights / weights.sum())
        self._begin_at(lanes, [cells[one] for one in chosen])
        for lane, one in zip(lanes, chosen, strict=True):
            cells[one].tried += 1
            self.at[lane], self.presses[lane] = cells[one], []
        self.patience[lanes], self.left[lanes] = PATIENCE, 0

    def _begin_at(self, lanes: np.ndarray, cells: list[Cell]) -> None:
        spec = self.world.spec
        places = [Situation(spec.name, spec.version, cell.place.rows, checked=True) for cell in cells]
        self.world.begin_from(lanes, Situation.joined(places))

    # --- what was found ----------------------------------------------------------------------------------------------

    def on_the_way(self) -> list[Place]:
        """Moments on ways to the end, or while there is none, those that lead on."""
        if not self.found.ends:
            return [cell.place for cell in self.found.cells if cell.leads_on]
        chosen = list({id(cell): cell for end in self.found.ends for cell in lineage(end)}.values())
        between = self.retraced(chosen)
        return [place for cell, passed in zip(chosen, between, strict=True)
                for place in (cell.place, *(one.place for one in passed[TRAIL_STEPS - 1 :: TRAIL_STEPS]))]  # fmt: skip

    def way(self) -> list[Passed]:
        """Every step of the shortest way to the end, from the first cell on."""
        cells = self.found.shortest()
        pressed = [cell.presses[0] for cell in cells[1:]] + [NO_PRESS]  # from each cell on
        between = [*self.retraced(cells)[1:], []]
        return [
            one
            for cell, press, passed in zip(cells, pressed, between, strict=True)
            for one in (Passed(cell.place, press), *passed)
        ]

    def retraced(self, cells: list[Cell]) -> list[list[Passed]]:
        """What the lanes that found these cells passed since the cells before, by the same presses again."""
        passed: dict[int, list[Passed]] = {id(cell): [] for cell in cells}
        later = [cell for cell in cells if cell.parent is not None and len(cell.presses) > 1]
        for start in range(0, len(later), self.world.lanes):
            self._retrace(later[start : start + self.world.lanes], passed)
        return [passed[id(cell)] for cell in cells]

    def _retrace(self, cells: list[Cell], passed: dict[int, list[Passed]]) -> None:
        lanes = np.arange(len(cells))
        self._begin_at(lanes, [cell.parent for cell in cells if cell.parent is not None])
        for step in range(max(len(cell.presses) for cell in cells) - 1):  # the last one leads to the cell itself
            pressed = np.zeros(self.world.lanes, np.int64)
            pressed[lanes] = [cell.presses[min(step, len(cell.presses) - 1)] for cell in cells]
            self.world.step({"player": pressed[:, None]})
            standing = self.world.standing()
            for lane, cell in enumerate(cells):
                if step < len(cell.presses) - 1 and standing[lane, 0]:
                    room, x, y = (int(number) for number in standing[lane, 1:])
                    place = self._place(lane, room, x, y)
                    passed[id(cell)].append(Passed(place, cell.presses[step + 1]))

"""Consoles in workers: buttons and bytes to write go in, the RAM after every frame comes out, lane by lane.

A lane's row is the RAM as its emulator last showed it. Whoever changes bytes of a row changes them in the emulator
before its next frame, so code that was written for our own console works on these.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from holdfast.worlds.workers import wire
from holdfast.worlds.workers.block import Block, read_picture
from holdfast.worlds.workers.crew import Crew
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.worker import Job

CONSOLE = "holdfast.games.mario.backends.nes_py_console:NesPyConsole"
RAM_BYTES, POKES = 2048, 4  # as the worker says


class Consoles:
    """One emulator for every lane."""

    def __init__(self, supervisor: Supervisor, rom: str, frames: int, rows: np.ndarray) -> None:
        self.rows = rows  # [N, RAM_BYTES]
        self._shown = rows.copy()  # what the emulators hold
        self.seen = np.zeros((len(rows), frames, RAM_BYTES), np.uint8)
        self.dead = set[int]()  # lanes without a worker
        self.crew = Crew(supervisor, Job(CONSOLE, json.dumps({"rom": rom, "frames": frames}), 0))
        self.crew.start(len(rows))

    def _block(self, lane: int) -> Block:
        block = self.crew.workers[lane].block
        assert block is not None
        return block

    def reset(self, lanes: list[int], numbers: np.ndarray) -> list[int]:
        """Back to the state kept under each lane's number, or to power-on; the lanes whose worker was lost."""
        lost = self._call(lanes, lambda lane: wire.reset_call(int(numbers[lane])), "reset")
        for lane in set(lanes) - set(lost):
            self._take(lane, 1)
        return lost

    def _call(self, lanes: list[int], message: Callable[[int], bytes], phase: str) -> list[int]:
        lost = self.crew.call(lanes, message, phase)
        self.dead.update(lost)
        return lost

    def replace_dead(self) -> None:
        """New workers for lanes that lost theirs; they are at power-on."""
        self.crew.replace(sorted(self.dead))
        self.dead.clear()

    def run(self, lanes: list[int], buttons: np.ndarray, frames: np.ndarray, keep: bool = False) -> list[int]:
        """Some frames in these lanes, shown in `seen`, the last also in `rows`; the lanes whose worker was lost."""
        for lane in lanes:
            action = self._block(lane).action
            action[:3] = buttons[lane], frames[lane], keep
            action[3:] = self._pokes(lane)
        lost = self._call(lanes, lambda lane: wire.STEP, "step")
        for lane in set(lanes) - set(lost):
            self._take(lane, int(frames[lane]))
        return lost

    def _pokes(self, lane: int) -> list[int]:
        places = np.flatnonzero(self.rows[lane] != self._shown[lane])
        assert len(places) <= POKES, places
        pairs = [pair for place in places.tolist() for pair in (place, int(self.rows[lane, place]))]
        return pairs + [RAM_BYTES, 0] * (POKES - len(places))

    def _take(self, lane: int, frames: int) -> None:
        if frames:
            self.seen[lane, :frames] = self._block(lane).obs[:frames, :, 0]
            self._shown[lane] = self.rows[lane] = self.seen[lane, frames - 1]

    def picture(self, lane: int) -> np.ndarray | None:
        """[240, 256, 3]; None if its worker is lost."""
        if lane in self.dead or self._call([lane], lambda lane: wire.DRAW, "draw"):
            return None
        worker = self.crew.workers[lane]
        assert worker.picture_size is not None
        return read_picture(worker.memory, self._block(lane), *worker.picture_size)

    def close(self, ended: bool) -> None:
        """Leave the workers to the next world, or end them."""
        if ended:
            self.crew.close()
        else:
            self.crew.leave()

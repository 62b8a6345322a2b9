"""The Mario world on another emulator: its frames come from supervised workers, all else is the world's own code.

Facts, rewards, ends and what is seen are read from the emulator's RAM by the kernels that read our console's. A lost
worker cuts the episode in it (`end_worker`); lanes cannot be saved, since their state lies in other processes.
Checkpoints keep the buttons of every episode instead, and resuming presses them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from holdfast.games.mario.world import emulated_rules as kernels
from holdfast.games.mario.world.consoles import RAM_BYTES, Consoles
from holdfast.games.mario.world.frames import LONGEST_WAIT
from holdfast.games.mario.world.mario import Mario, mario_spec
from holdfast.games.mario.world.play import COLUMNS, GOES_ON, STAGE_NUMBER, WORKER, Fixed
from holdfast.games.mario.world.rom import OWN
from holdfast.games.mario.world.settings import MarioSettings, make_rules
from holdfast.games.mario.world.starts import Game, ready, to_start, to_title
from holdfast.kit.compiled import announced
from holdfast.kit.errors import ConfigError, SnapshotUnsupported
from holdfast.worlds.api import ArrayWorld, Situation, WorldSpec
from holdfast.worlds.gym_lanes import History, pack, saved_arrays, split_saved, unpack
from holdfast.worlds.spaces import Discrete
from holdfast.worlds.workers.supervisor import Supervisor

BUTTONS = Discrete(256)  # what a history is made of


def refuse(settings: MarioSettings) -> None:
    """What only our own console can do."""
    wrong = {
        "world.obs = pixels": settings.obs == "pixels",
        "world.auto_start = false": not settings.auto_start,
        f"world.rom = {OWN}": settings.rom == OWN,
        "world.blocks = true": settings.blocks,
    }
    problems = [f"{what} needs world.backend = console, not {settings.backend}" for what in wrong if wrong[what]]
    if problems:
        raise ConfigError(problems)


class EmulatedMario(Mario):
    """N emulators with the game in them, each in a process of its own."""

    def problems_of(self, rows: Mapping[str, np.ndarray]) -> list[str]:
        """As of any world: what the emulators write is RAM, and no console of ours."""
        return ArrayWorld.problems_of(self, rows)

    def __init__(
        self, settings: MarioSettings, lanes: int, seed: int, threads: int = 1, supervisor: Supervisor | None = None
    ) -> None:
        """Without a supervisor the world has one of its own, which ends with it."""
        refuse(settings)
        super().__init__(settings, lanes, seed, threads)
        self.reason, self.distance = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
        self.base, self.pressed = np.zeros(lanes), np.zeros(lanes, np.int64)
        self.places, self.noops = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
        self.histories: list[History] = [[] for _ in range(lanes)]  # frames without a button, then buttons
        self._lost = np.zeros(lanes, np.bool_)
        self.own_supervisor = Supervisor() if supervisor is None else None
        used = supervisor or self.own_supervisor
        assert used is not None
        self.consoles = Consoles(used, self.rom.path, settings.frame_skip, self.state.console)

    def _make_spec(self) -> WorldSpec:
        spec = mario_spec(self.settings)
        return spec._replace(columns=(*COLUMNS, "end_worker"))

    def _make_fixed(self) -> Fixed:
        """Nothing of a console of ours: workers have the machine and keep the starts."""
        return self._fixed_with(Game(np.zeros(0, np.uint8), np.zeros(0, np.uint32)), np.zeros((0, RAM_BYTES), np.uint8))

    def _compile(self) -> None:
        self.rules = make_rules(self.settings, 0, self.forward if self.settings.forward_steps else 0)
        none, clock, player = np.empty(0, np.int64), self.clock, self.player
        with announced("mario on another emulator", kernels.__file__):
            kernels.draw_starts(clock, self.fixed.cumulated, none, none, none)
            kernels.open_lanes(self.state, self.fixed, self.rules, player, none, none)
            kernels.press_lanes(clock, self.state, self.fixed, self.rules, player, np.empty((0, 1), np.int64), none)
            nobody, seen = np.empty(0, np.bool_), np.empty((0, 1, RAM_BYTES), np.uint8)
            kernels.watch_frames(self.state, self.rules, seen, 1, nobody, none, np.empty(0), none)
            kernels.shorten_waits(self.state, nobody, nobody)
            kernels.settle_lanes(clock, self.state, self.rules, player, none, np.empty(0), none)

    @property
    def lost(self) -> np.ndarray:
        return self._lost

    # --- episodes ---

    def _begin(self, lanes: np.ndarray) -> None:
        kernels.draw_starts(self.clock, self.fixed.cumulated, lanes, self.places, self.noops)
        self._start(lanes.tolist(), self.fixed.stages[self.places], self.noops)
        kernels.open_lanes(self.state, self.fixed, self.rules, self.player, lanes, self.places)
        for lane in lanes.tolist():
            self.histories[lane] = [self.noops[lane]]

    def _start(self, lanes: list[int], stages: np.ndarray, noops: np.ndarray) -> None:
        """The start of each lane's stage, then its frames without a button; with new workers where one fails."""
        waiting = lanes
        while waiting:
            self.consoles.replace_dead()
            lost = self.consoles.reset(waiting, stages)
            lost += self._boot([lane for lane in waiting if lane not in lost], stages)
            lost += self._wait([lane for lane in waiting if lane not in lost], noops)
            waiting = lost

    def _boot(self, lanes: list[int], stages: np.ndarray) -> list[int]:
        """From power-on to the stage, once in the life of a worker; the lanes whose worker was lost."""
        rows, path, lost = self.state.console, self.rom.path, list[int]()
        begun = [lane for lane in lanes if not ready(rows[lane])]
        plans = {lane: chain(to_title(rows[lane], path), to_start(rows[lane], int(stages[lane]))) for lane in begun}
        buttons, one = np.zeros(self.lanes, np.int64), np.ones(self.lanes, np.int64)
        while plans:
            held = {lane: pressed for lane, plan in plans.items() if (pressed := next(plan, None)) is not None}
            for lane, pressed in held.items():
                buttons[lane] = pressed
            lost += self.consoles.run(list(held), buttons, one)
            plans = {lane: plans[lane] for lane in held if lane not in lost}
        there = [lane for lane in begun if lane not in lost]
        return lost + self.consoles.run(there, buttons, 0 * one, keep=True)

    def _wait(self, lanes: list[int], noops: np.ndarray) -> list[int]:
        left, lost = noops.copy(), list[int]()
        while going := [lane for lane in lanes if left[lane] and lane not in lost]:
            frames = np.minimum(left, self.settings.frame_skip)
            lost += self.consoles.run(going, np.zeros_like(noops), frames)
            left -= frames
        return lost

    def _step(self, actions: np.ndarray) -> None:
        kernels.press_lanes(self.clock, self.state, self.fixed, self.rules, self.player, actions, self.pressed)
        going = np.ones(self.lanes, np.bool_)
        going[list(self.consoles.dead)] = False
        self._play(self.pressed, going)
        lost = list(self.consoles.dead)
        self._lost[:] = False
        self._lost[lost] = True
        self.reason[lost], self.base[lost], self.distance[lost] = WORKER, 0.0, 0
        kernels.settle_lanes(self.clock, self.state, self.rules, self.player, self.reason, self.base, self.distance)
        for lane, history in enumerate(self.histories):
            history.append(self.pressed[lane])
        ended = np.flatnonzero(self.clock.terminated | self.clock.truncated)
        if len(ended):
            self._begin(ended)

    def _play(self, pressed: np.ndarray, going: np.ndarray) -> None:
        """The game's part of a step in the lanes that are `going`; those whose episode goes on afterwards stay so."""
        self.reason[:], self.base[:], self.distance[:] = GOES_ON, 0.0, 0
        self._frames(pressed, self.settings.frame_skip, going, self.base, self.distance)
        busy, nothing = np.zeros_like(going), np.zeros_like(pressed)
        for _ in range(LONGEST_WAIT if self.rules.skip_busy else 0):
            kernels.shorten_waits(self.state, going, busy)
            if not busy.any():
                break
            going &= ~busy
            self._frames(nothing, 1, busy, np.zeros_like(self.base), np.zeros_like(self.distance))  # waiting is unpaid
            going |= busy

    def _frames(
        self, buttons: np.ndarray, frames: int, going: np.ndarray, base: np.ndarray, distance: np.ndarray
    ) -> None:
        lost = self.consoles.run(np.flatnonzero(going).tolist(), buttons, np.full(self.lanes, frames, np.int64))
        going[lost] = False
        kernels.watch_frames(self.state, self.rules, self.consoles.seen, frames, going, self.reason, base, distance)

    # --- saving ---

    def save(self, lanes: np.ndarray) -> Situation:
        raise SnapshotUnsupported(
            f"mario on {self.settings.backend} cannot be saved: its consoles live in other processes; "
            "world.backend = console can"
        )

    def load(self, lanes: np.ndarray, situation: Situation, exact: bool = False) -> None:
        raise SnapshotUnsupported(f"no situation can be loaded into mario on {self.settings.backend}")

    def arrays(self) -> dict[str, np.ndarray]:
        packed = pack(self.histories, self.settings.max_steps + 1, BUTTONS)
        return {**super().arrays(), **saved_arrays(packed)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """Press the buttons of every episode again; where that leads elsewhere, begin a new one and say so."""
        fixed, packed = split_saved(arrays, self.lanes, f"mario on {self.settings.backend}")
        notes = super().restore(fixed)
        self.histories = unpack(packed, BUTTONS)
        begun = [lane for lane in range(self.lanes) if self.histories[lane]]
        same = self._rebuilt(begun) if begun else set()
        other = [lane for lane in begun if lane not in same]
        if other:
            self._begin(np.array(other, np.int64))
            notes.append(f"lanes {other} begin new episodes: their buttons led elsewhere this time")
        return notes

    def _rebuilt(self, lanes: list[int]) -> set[int]:
        """Play these lanes' histories side by side; the lanes that came to the RAM that was saved."""
        saved = {name: array.copy() for name, array in self._named()}
        stages = saved["track"][:, STAGE_NUMBER]
        noops = np.array([history[0] if history else 0 for history in self.histories], np.int64)
        self._start(lanes, stages, noops)
        places = np.searchsorted(self.fixed.stages, stages)
        kernels.open_lanes(self.state, self.fixed, self.rules, self.player, np.array(lanes, np.int64), places)
        left = set(lanes)
        for t in range(1, max(len(self.histories[lane]) for lane in lanes)):
            left -= self._repeat([lane for lane in left if t < len(self.histories[lane])], t)
        same = {lane for lane in left if (self.state.console[lane] == saved["console"][lane]).all()}
        for name, array in self._named():
            array[...] = saved[name]
        return same

    def _repeat(self, lanes: list[int], t: int) -> set[int]:
        """Step t of these lanes once more; those whose episode came to an end in it."""
        going = np.zeros(self.lanes, np.bool_)
        going[lanes] = True
        for lane in lanes:
            self.pressed[lane] = self.histories[lane][t]
        self._play(self.pressed, going)
        return {lane for lane in lanes if not going[lane]}

    # --- the rest ---

    def screen(self, lane: int) -> np.ndarray:
        picture = self.consoles.picture(lane)
        if picture is None:  # its worker was lost; the episode in it ends with the next step
            return np.zeros((240, 256, 3), np.uint8)
        return picture

    def close(self) -> None:
        self.consoles.close(ended=self.own_supervisor is not None)
        if self.own_supervisor is not None:
            self.own_supervisor.close()

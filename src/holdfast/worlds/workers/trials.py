"""Trials of backends: build, reset, step and close whole pools again and again, and count what really worked.

A trial counts only if its environments are no stubs: what they show changes in every lane, and on the game holding
RIGHT moves Mario to the right.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import HoldfastError, MissingPackage, WorldError
from holdfast.worlds.api import World
from holdfast.worlds.gym import PLAYER, GymSettings
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.world import WorkerWorld

PHASES = ("build", "reset", "step", "close")
CARTPOLE = "gym:CartPole-v1"
X_PAGE, X_PIXEL = 0x006D, 0x0086  # where the game keeps Mario's place in the level
RIGHT_ACTION, RIGHT_BUTTON, START_BUTTON = 1, 128, 8  # the first of the sets of actions
FRAME_SKIP = 4
BOOT_FRAMES, LOADING_FRAMES = 40, 200  # from power-on to the title; from START to control
TRIAL_S = 600.0  # hard: a trial that takes longer ends the whole command with a traceback


class Trial(NamedTuple):
    """One trial as it is written down."""

    backend: str
    trial: int
    lanes: int
    steps: int
    ok: bool
    phase: str  # the last one reached
    seconds: dict[str, float]
    frames_per_s: float
    markers: dict[str, int]
    error: str


class Pool:
    """Something that can be tried."""

    frames_per_step = 1

    def build(self, lanes: int, seed: int, folder: Path) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        raise NotImplementedError

    def step(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def seen(self) -> np.ndarray:
        """[N, numbers] what must change in every lane."""
        raise NotImplementedError

    def markers(self) -> dict[str, int]:
        return {}


class WorkerPool(Pool):
    """Something in workers, with a supervisor of its own."""

    world: World
    action: int

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings

    def build(self, lanes: int, seed: int, folder: Path) -> None:
        self.supervisor = Supervisor(self.settings, folder)
        self.world = self.make(lanes, seed)

    def make(self, lanes: int, seed: int) -> World:
        raise NotImplementedError

    def reset(self) -> None:
        self.world.reset()

    def step(self) -> None:
        self.world.step({PLAYER: np.full((self.world.lanes, 1), self.action, np.int64)})

    def close(self) -> None:
        self.world.close()
        self.supervisor.close()

    def markers(self) -> dict[str, int]:
        said = [line["marker"] for line in self.supervisor.markers.since(0.0)]
        return {marker: said.count(marker) for marker in dict.fromkeys(said)}


class CartPolePool(WorkerPool):
    """A Gymnasium environment."""

    action = 0

    def make(self, lanes: int, seed: int) -> World:
        return WorkerWorld(CARTPOLE, GymSettings(backend="workers"), lanes, seed, 1, self.supervisor)

    def seen(self) -> np.ndarray:
        return self.world.roles[PLAYER].obs[:, 0].copy()


class NesPyPool(WorkerPool):
    """The Mario world on nes_py, holding RIGHT."""

    frames_per_step = FRAME_SKIP
    action = RIGHT_ACTION

    def make(self, lanes: int, seed: int) -> World:
        from holdfast.games.mario.world.emulated import EmulatedMario
        from holdfast.games.mario.world.settings import MarioSettings

        self.game = EmulatedMario(MarioSettings(backend="nes_py"), lanes, seed, 1, self.supervisor)
        return self.game

    def seen(self) -> np.ndarray:
        return places(self.game.state.console)


class ConsolePool(Pool):
    """Our own console with the same game, started by its START button."""

    frames_per_step = FRAME_SKIP

    def build(self, lanes: int, seed: int, folder: Path) -> None:
        from holdfast.nes.cartridge import load_rom
        from holdfast.nes.console import Console
        from holdfast.nes.rivals import mario_rom

        path = mario_rom()
        if path is None:
            raise MissingPackage("the console's trials need a ROM: pip install gym-super-mario-bros")
        self.console = Console(load_rom(path), lanes)

    def reset(self) -> None:
        self.console.power_on()
        self.console.step(0, BOOT_FRAMES)
        self.console.step(START_BUTTON, 2)
        self.console.step(0, LOADING_FRAMES)

    def step(self) -> None:
        self.console.step(RIGHT_BUTTON, FRAME_SKIP)

    def close(self) -> None:
        del self.console

    def seen(self) -> np.ndarray:
        return places(self.console.ram)


def places(ram: np.ndarray) -> np.ndarray:
    """[N, 1] Mario's x."""
    return 256 * ram[:, X_PAGE, None].astype(np.int64) + ram[:, X_PIXEL, None]


BACKENDS: dict[str, Callable[[WorkerSettings], Pool]] = {
    "console": lambda settings: ConsolePool(),
    "nes_py": NesPyPool,
    "gym": CartPolePool,
}
NEEDS = {"console": "gym_super_mario_bros", "nes_py": "nes_py", "gym": "gymnasium"}


def missing(backend: str) -> str | None:
    """The package without which this backend cannot be tried."""
    return None if importlib.util.find_spec(NEEDS[backend]) else NEEDS[backend]


def trials(
    backend: str, numbers: range, lanes: int, steps: int, settings: WorkerSettings, root: Path
) -> Iterator[Trial]:
    for number in numbers:
        folder = root / f"{backend}-{number:04d}"
        folder.mkdir(parents=True)
        faulthandler.dump_traceback_later(TRIAL_S, exit=True, file=2)  # standard error, whatever sys.stderr is
        try:
            yield _try(backend, number, BACKENDS[backend](settings), lanes, steps, folder)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _try(backend: str, number: int, pool: Pool, lanes: int, steps: int, folder: Path) -> Trial:
    seconds: dict[str, float] = {}
    error = ""
    calls: dict[str, Callable[[], Any]] = {
        "build": lambda: pool.build(lanes, number, folder),
        "reset": pool.reset,
        "step": lambda: _steps(pool, steps),
        "close": pool.close,
    }
    phase = ""
    for phase, call in calls.items():
        begun = time.perf_counter()
        try:
            call()
        except HoldfastError as problem:
            error = f"{type(problem).__name__}: {problem}"
            break
        finally:
            seconds[phase] = time.perf_counter() - begun
    stepped = lanes * steps * pool.frames_per_step / seconds["step"] if "step" in seconds and not error else 0.0
    markers = pool.markers() if phase == "close" else {}
    wrong = {"respawned", "killed", "error"} & markers.keys()
    error = error or (f"not without incident: {', '.join(sorted(wrong))}" if wrong else "")
    return Trial(backend, number, lanes, steps, not error, phase, seconds, stepped, markers, error)


def _steps(pool: Pool, steps: int) -> None:
    first = pool.seen()
    changed = np.zeros(len(first), np.bool_)
    for _ in range(steps):
        pool.step()
        now = pool.seen()
        changed |= (now > first).any(axis=1) if now.dtype == np.int64 else (now != first).any(axis=1)
    if not changed.all():
        raise WorldError(f"lanes {np.flatnonzero(~changed).tolist()} showed nothing new in {steps} steps: a stub?")

"""Trials of backends: build, reset, step and close whole pools again and again, and count what really worked.

A trial counts only if its environments are no stubs: what they show changes in every lane.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.kit.errors import HoldfastError, WorldError
from holdfast.worlds.api import World
from holdfast.worlds.gym import PLAYER, GymSettings
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.world import WorkerWorld

PHASES = ("build", "reset", "step", "close")
CARTPOLE = "gym:CartPole-v1"
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


class Backend(NamedTuple):
    """Something to try, and the package it needs."""

    needs: str
    make: Callable[[WorkerSettings], Pool]


def backends() -> dict[str, Backend]:
    """All there are: of our games, and a Gymnasium environment."""
    games = (own_game(name).pools for name in OURS)
    found = {name: backend for pools in games if pools is not None for name, backend in pools().items()}
    return {**found, "gym": Backend("gymnasium", CartPolePool)}


def missing(backend: str) -> str | None:
    """The package without which this backend cannot be tried."""
    needs = backends()[backend].needs
    return None if importlib.util.find_spec(needs) else needs


def trials(
    backend: str, numbers: range, lanes: int, steps: int, settings: WorkerSettings, root: Path
) -> Iterator[Trial]:
    for number in numbers:
        folder = root / f"{backend}-{number:04d}"
        folder.mkdir(parents=True)
        faulthandler.dump_traceback_later(TRIAL_S, exit=True, file=2)  # standard error, whatever sys.stderr is
        try:
            yield _try(backend, number, backends()[backend].make(settings), lanes, steps, folder)
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

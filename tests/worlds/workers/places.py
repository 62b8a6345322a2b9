"""Worlds in workers for the tests, with limits short enough to wait for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.worlds.gym import GymSettings
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.world import WorkerWorld

DRILL = "holdfast.worlds.workers.drill:Drill"
QUICK = {"start_parallel": 4, "start_delay_s": 0.0, "prewarm": False}  # a loaded machine is slow to start processes


@contextmanager
def supervisor(folder: Path, **options: Any) -> Iterator[Supervisor]:
    made = Supervisor(WorkerSettings(**{**QUICK, **options}), folder)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def world(folder: Path, name: str = DRILL, lanes: int = 2, seed: int = 1, **options: Any) -> Iterator[WorkerWorld]:
    """A world of its own; `kwargs` and `max_steps` go to the environment, everything else to the workers."""
    kwargs, max_steps = options.pop("kwargs", {}), options.pop("max_steps", 0)
    with supervisor(folder, **options) as boss:
        made = WorkerWorld(
            name, GymSettings(backend="workers", kwargs=kwargs, max_steps=max_steps), lanes, seed, 1, boss
        )
        try:
            yield made
        finally:
            made.close()


def zeros(made: WorkerWorld) -> dict[str, np.ndarray]:
    return {"player": np.zeros((made.lanes, 1), np.int64)}


def markers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "workers.jsonl").read_text().splitlines()]


def pids(folder: Path) -> set[int]:
    return {line["pid"] for line in markers(folder)}


def living(folder: Path) -> list[int]:
    """Workers of this folder that still run; a zombie does not."""
    return [pid for pid in pids(folder) if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def signal_worker(made: WorkerWorld, lane: int, which: int) -> None:
    os.kill(made.crew.workers[lane].pid, which)

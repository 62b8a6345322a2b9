"""Fault drills: a worker is killed, hangs or crashes in import, build, reset or step, and must be replaced."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from holdfast.kit.errors import HoldfastError
from holdfast.worlds.gym import PLAYER, GymSettings
from holdfast.worlds.workers.drill import draw_tickets
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.supervisor import Supervisor
from holdfast.worlds.workers.world import WorkerWorld

DRILL = "holdfast.worlds.workers.drill:Drill"
PLACES, FAULTS = ("import", "build", "reset", "step"), ("kill", "hang", "raise")
HANG_S = 3.0  # the limit of whatever hangs in a drill
STEPS = 12


class Drilled(NamedTuple):
    """How one drill went."""

    place: str
    fault: str
    recovered: bool
    seconds: float  # from the call that met the fault to its return, the time-out included
    detail: str


def drill(place: str, fault: str, folder: Path) -> Drilled:
    """Two workers, of which one fails once."""
    folder.mkdir(parents=True)
    tickets, name = folder / "tickets", DRILL
    draw_tickets(tickets, 0)
    if place == "import":
        name = _faulty_module(folder, tickets, fault)
    limit = {f"{place}_s": HANG_S} if fault == "hang" else {}
    supervisor = Supervisor(WorkerSettings(start_delay_s=0.0, **limit), folder)  # type: ignore[arg-type]
    kwargs = {} if place == "import" else {"tickets": str(tickets), "place": place, "fault": fault}
    settings = GymSettings(backend="workers", kwargs=kwargs)
    try:
        return _drilled(place, fault, name, settings, supervisor, tickets)
    except HoldfastError as error:
        return Drilled(place, fault, False, 0.0, f"{type(error).__name__}: {error}".splitlines()[0])
    finally:
        supervisor.close()


def _drilled(
    place: str, fault: str, name: str, settings: GymSettings, supervisor: Supervisor, tickets: Path
) -> Drilled:
    """The first worker, which goes ahead of the others, is left alone: it shows that the environment works at all."""
    world = WorkerWorld(name, settings, 1, 1, 1, supervisor)
    try:
        world.reset()
        if place in ("import", "build"):
            draw_tickets(tickets, 1)
            begun = time.perf_counter()
            other = WorkerWorld(name, settings, 2, 2, 1, supervisor)
            other.reset()
            seconds = time.perf_counter() - begun
            other.close()
        else:
            draw_tickets(tickets, 1)
            begun = time.perf_counter()
            world.reset() if place == "reset" else _step(world)
            seconds = time.perf_counter() - begun
        for _ in range(STEPS):
            _step(world)
    finally:
        world.close()
    lost = [line for line in supervisor.markers.since(0.0) if line["marker"] == "killed"]
    good = len(lost) == 1 and supervisor.replaced == 1 and not any(tickets.iterdir())
    return Drilled(place, fault, good, seconds, str(lost[0]["reason"]) if lost else "nothing was lost")


def _step(world: WorkerWorld) -> None:
    world.step({PLAYER: np.zeros((world.lanes, 1), np.int64)})


def _faulty_module(folder: Path, tickets: Path, fault: str) -> str:
    """A module that goes wrong while it is imported."""
    name = f"drill_{abs(hash(str(folder)))}"
    lines = [
        "from holdfast.worlds.workers.drill import Drill, go_wrong, has_ticket",
        f"if has_ticket({str(tickets)!r}):",
        f"    go_wrong({fault!r})",
    ]
    (folder / f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # workers get the parent's path; the parent never imports it
    return f"{name}:Drill"

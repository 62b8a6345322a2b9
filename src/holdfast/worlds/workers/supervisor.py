"""What all workers of a run share: settings, the baton, the budget of replacements, markers, and idle workers.

A crew (the workers of one world) comes from here and leaves its workers here, so that every evaluation after the
first finds its environments already built.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from holdfast.worlds.workers.block import Layout
from holdfast.worlds.workers.markers import Markers, log_path
from holdfast.worlds.workers.settings import BUDGET_WINDOW_S, SUPERVISED, WorkerSettings
from holdfast.worlds.workers.worker import Job, Worker


def is_supervised(settings: object) -> bool:
    """Whether a world of these settings keeps its environments in workers."""
    return getattr(settings, "backend", None) in SUPERVISED


class Baton:
    """At most `places` workers build at once. Whoever is lost gives it back through its supervisor."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()

    def take(self, worker: Worker) -> bool:
        with self._lock:
            if self._free == 0:
                return False
            self._free -= 1
            worker.has_baton = True
            return True

    def give_back(self, worker: Worker) -> bool:
        """True if this worker had it: both sides give it back, the second time counts for nothing."""
        with self._lock:
            had, worker.has_baton = worker.has_baton, False
            self._free += had
            return had


class Budget:
    """How often one worker may be replaced."""

    def __init__(self, respawns: int) -> None:
        self._respawns = respawns
        self._times: dict[int, list[float]] = {}

    def allows(self, number: int) -> bool:
        """Count a replacement of this worker; False if it is one too many."""
        now = time.monotonic()
        recent = [moment for moment in self._times.get(number, []) if now - moment < BUDGET_WINDOW_S]
        self._times[number] = [*recent, now]
        return len(recent) < self._respawns


class Supervisor:
    """Starts and keeps the workers of a run."""

    def __init__(self, settings: WorkerSettings | None = None, folder: Path | None = None) -> None:
        """`folder` gets workers.jsonl and the logs; without one they go to a temporary folder."""
        self.settings = settings or WorkerSettings()
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="holdfast-workers-")
        self.folder = folder or Path(self._temporary.name if self._temporary else "")
        self.markers = Markers(self.folder)
        self.baton = Baton(self.settings.start_parallel)
        self.budget = Budget(self.settings.respawns)
        self.layouts: dict[Job, Layout] = {}  # of environments that were built at least once
        self.replaced = 0
        self._idle: dict[Job, list[Worker]] = {}
        self._numbers = 0
        self._lock = threading.Lock()

    def new_number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers - 1

    def spawn(self, number: int, attempt: int) -> Worker:
        worker = Worker(number, attempt, log_path(self.folder, number))
        self.mark(worker, "spawned" if attempt == 1 else "respawned")
        return worker

    def mark(self, worker: Worker, marker: str, **facts: object) -> None:
        self.markers.write(worker.number, worker.pid, worker.attempt, marker, **facts)

    def take_idle(self, job: Job, count: int) -> list[Worker]:
        """Built workers that wait for a world, at most `count`; those that died while idle are dropped."""
        with self._lock:
            idle = self._idle.get(job, [])
            taken, self._idle[job] = idle[:count], idle[count:]
        return taken

    def keep_idle(self, job: Job, workers: list[Worker]) -> None:
        with self._lock:
            self._idle.setdefault(job, []).extend(workers)

    def close(self) -> None:
        """Close the idle workers; crews in use close their own."""
        from holdfast.worlds.workers.crew import Crew

        for job, workers in self._idle.items():
            crew = Crew(self, job)
            crew.adopt(workers)
            crew.close()
        self._idle = {}
        self.markers.close()
        if self._temporary is not None:
            self._temporary.cleanup()

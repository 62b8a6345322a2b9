"""Worker processes on this machine, each with its share of the cores.

A worker's output goes to a log that stays locked for as long as the worker lives, whoever started it. So a driver that
comes after a killed one finds the workers that go on without it, and waits for them instead of starting others.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from holdfast.kit.errors import DiskFull, RunFolderError
from holdfast.studies.executor import Ended
from holdfast.studies.piece import Piece

LOGS = "logs"


@dataclass
class Worker:
    """One process, or one that an earlier driver left behind."""

    piece: Piece
    log: Path
    begun_s: float
    offset: int  # where its words begin in the log
    process: subprocess.Popen[bytes] | None
    usage: psutil.Process | None = field(default=None, repr=False)

    def poll(self) -> tuple[bool, int | None]:
        """Is it gone, and with which status?"""
        if self.process is not None:
            status = self.process.poll()
            return status is not None, status
        with _open_log(self.log) as file:
            return _locked(file), None

    def signal(self, number: int) -> None:
        pid = self.process.pid if self.process is not None else _holder(self.piece.folder / "lock")
        if pid is not None and not self.poll()[0]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def words(self) -> str:
        with self.log.open("rb") as file:
            file.seek(self.offset)
            return file.read().decode(errors="replace")


class Local:
    """The default executor: it needs no further package."""

    compiles_here = True

    def __init__(self, folder: Path, slots: int) -> None:
        self.folder, self.slots = folder, slots
        self.workers: dict[int, Worker] = {}

    def start(self, piece: Piece) -> str:
        path = self.folder / LOGS / f"{piece.run}.log"
        path.parent.mkdir(exist_ok=True)
        with _open_log(path) as log:
            if not _locked(log):
                self.workers[piece.trial] = Worker(piece, path, time.monotonic(), log.tell(), None)
                return f"trial {piece.trial} is still being worked on by a process of an earlier driver: waiting for it"
            process = subprocess.Popen(
                piece.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **share_of_cores(piece.threads)},
                start_new_session=True,  # the terminal's Ctrl-C reaches the driver, which passes it on once
            )
            self.workers[piece.trial] = Worker(piece, path, time.monotonic(), log.tell(), process)
        return ""

    def ended(self) -> list[Ended]:
        found = []
        for trial, worker in list(self.workers.items()):
            gone, status = worker.poll()
            if gone:
                del self.workers[trial]
                elapsed_s, name = time.monotonic() - worker.begun_s, str(worker.log.relative_to(self.folder))
                found.append(Ended(trial, status, elapsed_s, worker.words(), name))
        return found

    def interrupt(self, number: int) -> None:
        for worker in self.workers.values():
            worker.signal(number)

    def cpu_shares(self) -> dict[int, float]:
        """Cores in use by each worker since it was last asked."""
        found = {}
        for trial, worker in self.workers.items():
            if worker.process is None:
                continue
            with contextlib.suppress(psutil.Error):
                worker.usage = worker.usage or psutil.Process(worker.process.pid)
                found[trial] = worker.usage.cpu_percent() / 100.0
        return found

    def close(self) -> None: ...


def share_of_cores(threads: int) -> dict[str, str]:
    """What keeps a process to so many threads."""
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


def _open_log(path: Path) -> IO[bytes]:
    try:
        file = path.open("ab")
        file.seek(0, os.SEEK_END)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"the disk is full: {path} could not be written") from error
        raise RunFolderError(f"{path} cannot be written: {error.strerror}") from error
    return file


def _locked(file: IO[bytes]) -> bool:
    """Take the lock, which this process and all it starts with the file then hold together."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(lock: Path) -> int | None:
    """The process that holds a run's lock, by its own word."""
    try:
        return int(lock.read_text())
    except (OSError, ValueError):
        return None

"""The supervisor's side of one worker process: start it, talk to it, and end it for certain."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.worlds.workers import wire
from holdfast.worlds.workers.block import Block, Layout
from holdfast.worlds.workers.settings import TERMINATE_S

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """What a worker is to host; workers with equal jobs can stand in for each other."""

    name: str
    kwargs: str  # JSON, so that jobs can be compared
    max_steps: int


class Worker:
    """One process and the files that lead to it."""

    def __init__(self, number: int, attempt: int, log: Path) -> None:
        self.number, self.attempt, self.log = number, attempt, log
        self.phase = "spawn"
        self.deadline = float("inf")
        self.has_baton = False
        self.released = False
        self.block: Block | None = None
        self.picture_size: list[int] | None = None  # height and width of the last picture it drew
        self._spawn()

    def _spawn(self) -> None:
        """A fresh interpreter that shares nothing with this one but three files."""
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        their_life, self._life = os.pipe()
        self.memory = os.memfd_create("holdfast-worker")
        given = (theirs.fileno(), their_life, self.memory)
        command = [sys.executable, "-P", "-m", "holdfast.worlds.workers.process", *map(str, given)]
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=given,
                start_new_session=True,  # Ctrl-C is for the parent: it ends its workers itself, after saving
                env=_environment(),
            )
        theirs.close()
        os.close(their_life)
        self.channel.setblocking(False)
        self.pidfd = os.pidfd_open(self.process.pid)

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, content: bytes) -> bool:
        try:
            self.channel.send(content)
        except OSError:
            return False  # it died; why is found out by whoever waits for the answer
        return True

    def receive(self) -> bytes | None:
        """The next message; b"" if the process is gone, None if there is nothing to read."""
        try:
            return self.channel.recv(wire.LONGEST)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def map_block(self, layout: Layout) -> None:
        self.block = Block(self.memory, layout)

    def status(self) -> int | None:
        """How the process ended (negative: the signal), None while it lives. It is not reaped by this question: until
        it is, its number cannot belong to another process, and what it started can be ended with it."""
        found = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def how_it_ended(self) -> str:
        self.wait_s(1.0)  # a dying process closes its files a moment before its status is known
        status = self.status()
        if status is None:
            return "closed its channel"
        return f"ended with status {status}" if status >= 0 else f"was killed by {signal.Signals(-status).name}"

    def wait_s(self, seconds: float) -> bool:
        """Wait for its end, without reaping it."""
        ended = select.poll()
        ended.register(self.pidfd, select.POLLIN)
        return bool(ended.poll(1000.0 * max(0.0, seconds)))

    def release(self) -> None:
        """Close this side's files; the block goes when nothing looks at it any more."""
        self.block, self.released = None, True
        self.channel.close()
        for file in (self._life, self.memory, self.pidfd):
            with contextlib.suppress(OSError):
                os.close(file)


def _environment() -> dict[str, str]:
    """The parent's variables, its import path, and one thread per library: there is a process for every lane."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**dict.fromkeys(THREADS, "1"), **os.environ, "PYTHONPATH": path}


def end(workers: list[Worker], grace_s: float = 0.0) -> None:
    """Terminate, wait, kill, reap: afterwards none of these processes exists, nor what they started.

    `grace_s`: how long they may take to end by themselves first.
    """
    limit = time.monotonic() + grace_s
    alive = [worker for worker in workers if not worker.wait_s(limit - time.monotonic())]
    for worker in alive:
        _signal(worker, signal.SIGTERM)
        _signal(worker, signal.SIGCONT)  # a stopped process sees the other signal only when it goes on
    limit = time.monotonic() + TERMINATE_S
    for worker in alive:
        worker.wait_s(limit - time.monotonic())
    for worker in workers:
        _signal(worker, signal.SIGKILL)
        worker.process.wait()


def _signal(worker: Worker, which: signal.Signals) -> None:
    """To the worker and whatever it started: they are one process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.process.pid, which)


def job_message(job: Job, delay_s: float, lock_file: str) -> dict[str, Any]:
    """The first message to a worker."""
    return {
        "name": job.name,
        "kwargs": json.loads(job.kwargs),
        "max_steps": job.max_steps,
        "delay_s": delay_s,
        "seed": 0,
        "lock_file": lock_file,
    }

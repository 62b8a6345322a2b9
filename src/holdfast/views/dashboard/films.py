"""Filming an episode on demand: `holdfast play` in a process of its own, one at a time, with a time limit.

The process may import the world that the run names, so only runs of our own worlds and of environments that Gymnasium
itself registers are filmed from here; for any other the command is shown, and its user decides.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from holdfast.kit.errors import HoldfastError
from holdfast.views.dashboard.details import checkpoints_of
from holdfast.views.dashboard.folder import Folder
from holdfast.views.dashboard.standing import Facts
from holdfast.worlds.ours import OURS

LIMIT_S = 300.0
TOLD_BYTES = 2000

REGISTERED = re.compile(r"gym:[A-Za-z0-9_\-]+")  # no module: nothing but Gymnasium's own is imported
MOST_EPISODE = 999


class FilmError(HoldfastError):
    """A film that cannot be made from here."""


@dataclass
class Job:
    """One film being made, or made."""

    run: str
    name: str  # of the file in the run's media folder
    state: str = "running"  # then done, failed
    begun_s: float = field(default_factory=time.time)
    seconds: float = 0.0
    told: str = ""  # the end of what the process said, when it failed

    def to_json(self) -> Facts:
        spent = time.time() - self.begun_s if self.state == "running" else self.seconds
        return {"run": self.run, "name": self.name, "state": self.state, "seconds": round(spent, 1), "told": self.told}


class Films:
    """At most one job at a time; the last one is remembered."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.job: Job | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def begin(self, run: str, folder: Folder, world: str, wanted: Facts) -> Job:
        """Start a film; FilmError says why there cannot be one."""
        words, name = command_of(folder, world, wanted)
        with self._lock:
            if self.job is not None and self.job.state == "running":
                raise FilmError(f"a film of {self.job.run} is being made; one at a time")
            said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the thread that waits
            # a session of its own, so that the time limit ends also what it has started
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
            self.job = Job(run, name)
        threading.Thread(target=self._wait, args=(self._process, self.job, said), daemon=True).start()
        return self.job

    def _wait(self, process: subprocess.Popen[bytes], job: Job, said: IO[bytes]) -> None:
        try:
            status: int | None = process.wait(self.limit_s)
        except subprocess.TimeoutExpired:
            _end(process)
            status = None
        with said:
            said.seek(max(0, said.seek(0, os.SEEK_END) - TOLD_BYTES))
            told = said.read().decode("utf-8", "replace").strip()
        job.seconds = time.time() - job.begun_s
        if status is None:
            job.told = f"stopped after {self.limit_s:g} s\n{told}"
        elif status != 0:
            job.told = told or f"the process ended with status {status}"
        job.state = "done" if status == 0 else "failed"

    def close(self) -> None:
        """End a film that is still being made."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def command_of(folder: Folder, world: str, wanted: Facts) -> tuple[list[str], str]:
    """The command line, and the name of the film."""
    checkpoint, episode, sampled = wanted.get("checkpoint", "latest"), wanted.get("episode", 0), wanted.get("sampled")
    known = [one["name"] for one in checkpoints_of(folder)]
    if not known:
        raise FilmError("the run has no checkpoint yet, so there is no policy to film")
    if checkpoint not in ("latest", "best", *known):
        raise FilmError(f"no checkpoint {str(checkpoint)[:40]!r}; there are {', '.join(known[:20])}")
    if type(episode) is not int or not 0 <= episode <= MOST_EPISODE:
        raise FilmError(f"an episode's number is from 0 to {MOST_EPISODE}")
    if sampled not in (None, False, True):
        raise FilmError("sampled is true or false")
    place = shlex.quote(str(folder.path))
    if world not in OURS and not REGISTERED.fullmatch(world):
        raise FilmError(
            f"filming imports the code of the world {world[:100]!r}, which only you can decide: "
            f"holdfast play {place}{' --sampled' if sampled else ''}"
        )
    media = folder.stamp("media")
    if media is None and os.path.lexists(folder.path / "media"):
        raise FilmError("media is a link or no folder; a film is only written into the run's own folder")
    newest = known[0] if checkpoint == "latest" else checkpoint
    name = f"film-{newest}-{'sampled' if sampled else 'greedy'}-episode{episode}.mp4"
    words: list[Any] = [sys.executable, "-m", "holdfast", "play", folder.path, "--checkpoint", checkpoint]
    words += ["--episode", episode, "--video", folder.path / "media" / name, *(["--sampled"] if sampled else [])]
    return [str(word) for word in words], name

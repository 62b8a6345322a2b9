"""The trials of a study and `trials.jsonl`: one line whenever a trial changes, the last line of a trial counts.

The file is only ever appended to. A last line torn by a crash is cut away when it is next opened for writing: what it
said is found again in the run's own folder.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from io import FileIO
from pathlib import Path
from typing import Any

from holdfast.kit.errors import DiskFull, RunFolderError
from holdfast.runs.reading import in_short, read_stream

TRIALS = "trials.jsonl"
WAITING, RUNNING, DONE, PRUNED, FAILED, LOST = "waiting", "running", "done", "pruned", "failed", "lost"
STATES = (WAITING, RUNNING, DONE, PRUNED, FAILED, LOST)
OVER = (DONE, PRUNED, FAILED)


@dataclass(frozen=True)
class Trial:
    """One run of a study; in a population, one member."""

    trial: int  # from 1
    target: str
    options: dict[str, Any]  # beside the study's own
    seed: int
    run: str  # folder below runs/
    state: str = WAITING
    tries: int = 0  # processes that worked on it
    score: float | None = None
    outcome: str = ""  # how the run ended
    reason: str = ""  # why it failed, or at what it was pruned
    traceback: str = ""  # file below the study's folder
    elapsed_s: float = 0.0  # over all tries
    generation: int = 0  # in a population

    @property
    def key(self) -> str:
        """Which question it answers."""
        return json.dumps([self.target, self.options, self.seed], sort_keys=True)

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    def now(self, state: str, **changes: Any) -> Trial:
        return replace(self, state=state, **changes)


def run_name(number: int) -> str:
    """The run folder of a trial."""
    return f"{number:04d}"


@dataclass
class TrialLog:
    """The open file, and the trials as their last lines tell them."""

    path: Path
    trials: dict[int, Trial] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    planned: int = 0  # trials there will be
    _file: FileIO | None = None

    @staticmethod
    def read(path: Path) -> TrialLog:
        """What can be read; damage is told, not hidden."""
        log = TrialLog(path)
        found = read_stream(path)
        for record in found.records:
            trial = _trial(record)
            if trial is None:
                found.damaged.append(f"{path.name}: a line that is no trial")
            else:
                log.trials[trial.trial] = trial
        if found.torn_last:
            log.notes.append(f"the last line of {path.name} was torn: it is found again in the run's folder")
        if found.damaged:
            log.notes.append(f"damage in {path.name} passed over: {in_short(found.damaged)}")
        return log

    @staticmethod
    def open(path: Path) -> TrialLog:
        """For writing: a torn last line is cut away."""
        log = TrialLog.read(path)
        try:
            log._file = path.open("ab", buffering=0)
            whole = path.read_bytes().rfind(b"\n") + 1
            log._file.truncate(whole)
        except OSError as error:
            raise RunFolderError(f"{path} cannot be written: {error.strerror}") from error
        return log

    def write(self, trials: Iterable[Trial]) -> None:
        """Append these, all in one write, and make sure that they are on the disk."""
        assert self._file is not None
        changed = list(trials)
        lines = "".join(json.dumps(asdict(trial)) + "\n" for trial in changed).encode()
        before = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(lines) != len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(before)  # half a line must not be followed by a whole one
            raise DiskFull(f"{self.path} could not be written: {error.strerror}; all runs are whole") from error
        self.trials |= {trial.trial: trial for trial in changed}

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def ordered(self) -> list[Trial]:
        return [self.trials[number] for number in sorted(self.trials)]


def _trial(record: dict[str, Any]) -> Trial | None:
    known = {item.name for item in fields(Trial)}
    try:
        trial = Trial(**{name: value for name, value in record.items() if name in known})
    except TypeError:
        return None
    good = type(trial.trial) is int and isinstance(trial.options, dict) and trial.state in STATES
    return trial if good and Path(trial.run).name == trial.run else None

"""A study's folder: one driver at a time, a plan that is kept as it began, and the trials' log."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from holdfast import __version__
from holdfast.kit.disk import replace_file
from holdfast.kit.errors import ConfigError, DiskFull, RunFolderError, RunLocked, UnknownName, nearest
from holdfast.runs.checkpoint import refuse_link
from holdfast.runs.folder import git_commit, safe_name
from holdfast.studies.piece import Piece
from holdfast.studies.plan import Plan, as_toml, read_plan
from holdfast.studies.trials import TRIALS, Trial, TrialLog

PLAN, BEGAN, RUNS, PAGE = "study.toml", "began.json", "runs", "study.html"


class StudyFolder:
    """`ROOT/NAME`, which need not exist yet."""

    def __init__(self, name: str, root: str | Path = "studies") -> None:
        self.path = Path(root) / safe_name(name)
        self._lock: IO[str] | None = None

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return (self.path / PLAN).is_file()

    @property
    def runs(self) -> Path:
        return self.path / RUNS

    def lock(self) -> None:
        """RunLocked, with the process that has it, if another driver is at work."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            refuse_link(self.path / "lock")
            file = (self.path / "lock").open("a+")
        except OSError as error:
            raise RunFolderError(f"cannot make a study in {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise RunLocked(f"study {self.name} is driven by process {holder}; wait for it or stop it first") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def plan(self) -> Plan:
        """As it was resolved when the study began."""
        if not self.exists:
            known = [path.parent.name for path in self.path.parent.glob(f"*/{PLAN}")]
            raise UnknownName(f"no study {self.name!r} in {self.path.parent}{nearest(self.name, known)}")
        return read_plan(self.path / PLAN)

    def keep_plan(self, plan: Plan) -> None:
        self.write(PLAN, as_toml(plan))

    def write(self, place: str, text: str) -> None:
        try:
            replace_file(self.path / place, text.encode("utf-8", "backslashreplace"))
        except DiskFull:
            raise
        except OSError as error:
            raise RunFolderError(f"{self.path / place} cannot be written: {error.strerror}") from error

    def began(self) -> dict[str, Any]:
        """What it began with: the configuration of each target."""
        path = self.path / BEGAN
        try:
            found = json.loads(path.read_bytes())
            return dict(found["configurations"])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError([f"{path} cannot be read: {error}"]) from error

    def keep_beginning(self, configurations: dict[str, dict[str, Any]]) -> None:
        content = {"holdfast": __version__, "git": git_commit(), "configurations": configurations}
        self.write(BEGAN, json.dumps(content, indent=1) + "\n")

    def piece(self, plan: Plan, trial: Trial, **changes: Any) -> Piece:
        """The whole of a trial, unless a change says where it ends."""
        options = {**plan.options, **trial.options}
        piece = Piece(trial.trial, trial.target, options, trial.seed, str(self.runs), trial.run, plan.threads)
        return replace(piece, **changes)

    def read_trials(self) -> TrialLog:
        return TrialLog.read(self.path / TRIALS)

    def open_trials(self) -> TrialLog:
        return TrialLog.open(self.path / TRIALS)

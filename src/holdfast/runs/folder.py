"""A run is a folder: `run.json` before the first step, then streams, evaluations, checkpoints, media and a report.

Folders are never overwritten. One process writes to a run at a time, held by a lock that dies with the process.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import subprocess
import sys
import time
import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from holdfast import __version__
from holdfast.config.sections import Config, to_json
from holdfast.kit.errors import ConfigError, RunExists, RunFolderError, RunLocked, UnknownName, nearest
from holdfast.runs.checkpoint import refuse_link, write_synced

RUN_FILE = "run.json"
WHOLE = ("finished", "solved", "converged", "unstable")  # how a run comes to an end by itself, as its last event says
PACKAGES = ("numpy", "numba", "torch", "gymnasium", "safetensors")


def safe_name(name: str) -> str:
    """A run's name is one folder's name, never a path."""
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0") or name.startswith("-"):
        raise ConfigError([f"run.name = {name!r} must be a plain folder name"])
    return name


class RunFolder:
    """An open run folder, locked for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: IO[str] | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    def lock(self) -> None:
        refuse_link(self.folder / "lock")
        file = (self.folder / "lock").open("a+")
        if not _locked_soon(file):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise RunLocked(f"run {self.name} is in use by process {holder}; wait for it or stop it first")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def describe(self) -> dict[str, Any]:
        """The content of run.json."""
        path = self.folder / RUN_FILE
        try:
            found = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"{path} cannot be read: {error}") from error
        if not isinstance(found, dict) or "config" not in found:
            raise RunFolderError(f"{path} is not a run description")
        return found

    def write_description(self, description: dict[str, Any]) -> None:
        aside = self.folder / f".{RUN_FILE}"
        aside.unlink(missing_ok=True)
        write_synced(aside, json.dumps(description, indent=1).encode())
        os.replace(aside, self.folder / RUN_FILE)

    def write_json(self, place: str, content: Any) -> None:
        """One whole file below the run, replaced in one move."""
        path = self.folder / place
        refuse_link(path.parent)
        path.parent.mkdir(exist_ok=True)
        aside = path.with_name(f".{path.name}")
        aside.unlink(missing_ok=True)
        write_synced(aside, json.dumps(content).encode())
        os.replace(aside, path)


def _locked_soon(file: IO[str]) -> bool:
    """Whoever lists the runs holds a shared lock for a moment; a writer holds its own for good."""
    for _ in range(20):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            time.sleep(0.01)
    return False


def is_locked(folder: Path) -> bool:
    """Is a process of this machine writing to the run?"""
    try:
        with (folder / "lock").open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def create_run(config: Config, preset: str, command: list[str]) -> RunFolder:
    """A new folder for a new run: the name asked for, or the preset's name and the next free number."""
    root = Path(config.run.root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = _claim(root, config.run.name, preset)
        run = RunFolder(folder)
        run.lock()
        run.write_description(_description(config, preset, command))
    except OSError as error:
        raise RunFolderError(f"cannot make a run in {root}: {os.strerror(error.errno or errno.EIO)}") from error
    return run


def _claim(root: Path, wanted: str, preset: str) -> Path:
    if wanted:
        folder = root / safe_name(wanted)
        try:
            folder.mkdir()
        except FileExistsError:
            raise RunExists(
                f"run {wanted!r} exists in {root}; "
                f"continue it with: holdfast resume {wanted}, or choose another --run.name"
            ) from None
        return folder
    stem = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in Path(preset).stem)
    number = 1
    while True:
        try:
            (root / f"{stem}-{number}").mkdir()
            return root / f"{stem}-{number}"
        except FileExistsError:
            number += 1


def _description(config: Config, preset: str, command: list[str]) -> dict[str, Any]:
    return {
        "format": 1,
        "id": uuid.uuid4().hex,
        "holdfast": __version__,
        "preset": preset,
        "command": command,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "git": git_commit(),
        "config": to_json(config),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def git_commit() -> str:
    """The commit of the sources in use, marked when they differ from it; empty outside a clone."""
    where = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=where,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def find_run(name: str, root: str = "runs") -> RunFolder:
    """A run by its name below the root, or by its path."""
    for folder in (Path(root) / name, Path(name)):
        if (folder / RUN_FILE).is_file():
            return RunFolder(folder)
    known = [run.name for run in all_runs(root)]
    raise UnknownName(f"no run {name!r} in {root}/ and no run folder at {name}{nearest(name, known)}")


def all_runs(root: str = "runs") -> list[RunFolder]:
    """The runs below a root, oldest first."""
    folder = Path(root)
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if (path / RUN_FILE).is_file()]
    return [RunFolder(path) for path in sorted(found, key=lambda path: (path / RUN_FILE).stat().st_mtime)]


def command_line() -> list[str]:
    return ["holdfast", *sys.argv[1:]]

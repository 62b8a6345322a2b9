"""A run is a folder: `run.json` before the first step, then streams, evaluations, checkpoints, media and a report.

Folders are never overwritten. One process writes to a run at a time, held by a lock that dies with the process.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from holdfast import __version__
from holdfast.config.sections import Config, to_json
from holdfast.kit.disk import writing
from holdfast.kit.errors import ConfigError, RunExists, RunFolderError, RunLocked, UnknownName, nearest
from holdfast.runs.checkpoint import refuse_link, write_synced
from holdfast.runs.plain_files import is_own_folder, is_plain, read_json
from holdfast.runs.streams import open_inside

RUN_FILE = "run.json"
WHOLE = ("finished", "solved", "converged", "unstable")  # how a run comes to an end by itself, as its last event says
MOST_BYTES = 1 << 24  # of a description
PARTS: dict[str, type] = {"config": dict, "versions": dict, "earlier_configs": list}
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
        path = self.folder / "lock"
        with writing(path):
            file = os.fdopen(open_inside(path), "a+", encoding="utf-8", errors="replace")
        if not _locked_soon(file):
            file.seek(0)
            holder = file.read(20).strip() or "unknown"
            file.close()
            raise RunLocked(f"run {self.name} is in use by process {holder}; wait for it or stop it first")
        with writing(path):
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
            found = read_json(path, MOST_BYTES)
        except (OSError, ValueError) as error:
            problem = RunFolderError(f"{path} cannot be read: {error}")
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM):
                problem.exit_status = 1  # the system's fault, not that of what was asked for
            raise problem from error
        if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
            raise RunFolderError(f"{path} is not a run description")
        wrong = [name for name, kind in PARTS.items() if name in found and not isinstance(found[name], kind)]
        if wrong:
            raise RunFolderError(f"{path} is not a run description: {', '.join(wrong)} cannot be what it says")
        return found

    def write_description(self, description: dict[str, Any]) -> None:
        aside = self.folder / f".{RUN_FILE}"
        with writing(self.folder / RUN_FILE, "the one before it is whole"):
            aside.unlink(missing_ok=True)
            write_synced(aside, json.dumps(description, indent=1).encode())
            os.replace(aside, self.folder / RUN_FILE)

    def write_json(self, place: str, content: Any) -> None:
        """One whole file below the run, replaced in one move."""
        path = self.folder / place
        refuse_link(path.parent)
        aside = path.with_name(f".{path.name}")
        with writing(path):
            path.parent.mkdir(exist_ok=True)
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
    try:  # a pipe of this name must not make the reader wait
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def create_run(config: Config, preset: str, command: list[str]) -> RunFolder:
    """A new folder for a new run: the name asked for, or the preset's name and the next free number."""
    root = Path(config.run.root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = _claim(root, config.run.name, preset)
    except OSError as error:
        raise RunFolderError(f"cannot make a run in {root}: {os.strerror(error.errno or errno.EIO)}") from error
    run = RunFolder(folder)
    run.lock()
    try:
        if (folder / RUN_FILE).exists():  # another process took the same folder over, and was quicker
            raise RunExists(f"run {folder.name!r} has just been begun in {root} by another process")
        run.write_description(_description(config, preset, command))
    except RunExists:
        run.unlock()
        raise
    except BaseException:  # a folder without its description would be no run, and in the way of the next one
        shutil.rmtree(folder, ignore_errors=True)
        run.unlock()
        raise
    return run


def _claim(root: Path, wanted: str, preset: str) -> Path:
    if wanted:
        folder = root / safe_name(wanted)
        try:
            folder.mkdir()
        except FileExistsError:
            if _was_never_begun(folder):
                return folder
            if not (folder / RUN_FILE).exists():
                raise RunExists(
                    f"{folder} exists and is no run: it has no {RUN_FILE}; remove it, or choose another --run.name"
                ) from None
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


def _was_never_begun(folder: Path) -> bool:
    """A process that died between making its folder and describing the run leaves a lock at most; whoever takes the
    folder over must get that lock first."""
    if not is_own_folder(folder):
        return False
    return {path.name for path in folder.iterdir()} <= {"lock", f".{RUN_FILE}"}


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
        if is_plain(folder / RUN_FILE):
            return RunFolder(folder)
    for folder in (Path(root) / name, Path(name)):
        if folder.is_dir() and name not in ("", "."):
            raise UnknownName(f"{folder} is no run: it has no {RUN_FILE}")
    known = [run.name for run in all_runs(root)]
    raise UnknownName(f"no run {name!r} in {root}/ and no run folder at {name}{nearest(name, known)}")


def all_runs(root: str = "runs") -> list[RunFolder]:
    """The runs below a root, oldest first."""
    folder = Path(root)
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if is_own_folder(path) and is_plain(path / RUN_FILE)]
    return [RunFolder(path) for path in sorted(found, key=lambda path: (path / RUN_FILE).lstat().st_mtime)]


def command_line() -> list[str]:
    return ["holdfast", *sys.argv[1:]]

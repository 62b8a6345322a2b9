"""Checkpoints: a folder of safetensors, JSON and checksums, written aside and renamed, so it is whole or not there.

Nothing here unpickles: loading a checkpoint can run no code. A damaged one is refused by name and the one before it is
used. Names: `000040` by iteration; the files `latest` and `best` hold such a name.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from holdfast.config import CheckpointConfig
from holdfast.errors import CheckpointError, DiskFull

FORMAT = 1
BEST, BEST_WORST = "best", "best-worst"  # by the mean score; by the worst episode
TENSORS, FACTS, MANIFEST = "state.safetensors", "state.json", "manifest.json"


class Saved(NamedTuple):
    """A checkpoint in memory."""

    name: str
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]  # counts and stream positions


def name_of(iteration: int) -> str:
    return f"{iteration:06d}"


class Checkpoints:
    """The checkpoints folder of one run."""

    def __init__(self, folder: Path, config: CheckpointConfig) -> None:
        self.folder = folder
        self.config = config

    def save(self, iteration: int, arrays: Mapping[str, np.ndarray], facts: dict[str, Any]) -> Path:
        """Write one checkpoint, point `latest` to it, and remove what is no longer kept."""
        try:
            place = self._write(name_of(iteration), arrays, facts)
            point(self.folder / "latest", place.name)
        except OSError as error:
            raise _as_disk_full(error, self.folder) from error
        self.prune()
        return place

    def mark_best(self, iteration: int, pointer: str = BEST) -> None:
        if (self.folder / name_of(iteration)).is_dir():
            point(self.folder / pointer, name_of(iteration))

    def _write(self, name: str, arrays: Mapping[str, np.ndarray], facts: dict[str, Any]) -> Path:
        self.folder.mkdir(exist_ok=True)
        aside, place = self.folder / f".writing-{name}", self.folder / name
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        try:
            tensors = save_tensors({key: np.ascontiguousarray(array) for key, array in arrays.items()})
            text = json.dumps({"format": FORMAT, **facts}, indent=1).encode()
            sums = {TENSORS: _sum(tensors), FACTS: _sum(text)}
            for file, content in ((TENSORS, tensors), (FACTS, text), (MANIFEST, json.dumps(sums, indent=1).encode())):
                write_synced(aside / file, content)
            sync_folder(aside)
            if place.exists():  # of an earlier life of this run, or the same moment saved twice
                shutil.rmtree(place)
            os.rename(aside, place)
            sync_folder(self.folder)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return place

    def names(self) -> list[str]:
        """All checkpoints, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.name.isdigit() and path.is_dir())

    def pointed(self, pointer: str) -> str | None:
        try:
            name = (self.folder / pointer).read_text().strip()
        except OSError:
            return None
        return name if name in self.names() else None

    def load(self, name: str) -> Saved:
        return load(self.folder / name)

    def load_latest(self) -> tuple[Saved, list[str]]:
        """The newest checkpoint that is whole, and a note for each damaged one that was passed over."""
        notes: list[str] = []
        for name in reversed(self.names()):
            try:
                return self.load(name), notes
            except CheckpointError as error:
                notes.append(f"{error}; using the one before it")
        reason = "; ".join(notes) if notes else "it was stopped before its first checkpoint"
        raise CheckpointError(f"{self.folder.parent.name} has no usable checkpoint: {reason}")

    def drop_after(self, iteration: int) -> None:
        """Remove damaged checkpoints of a future that will be lived again."""
        for name in self.names():
            if int(name) > iteration:
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def prune(self) -> None:
        """Keep the newest, the best and the milestones; then the budget, oldest first, never the newest or best."""
        names = self.names()
        for stale in self.folder.glob(".writing-*"):
            shutil.rmtree(stale, ignore_errors=True)
        sacred = {names[-1], self.pointed(BEST), self.pointed(BEST_WORST)}
        kept = sacred | set(names[-self.config.keep :]) | {name for name in names if self._is_milestone(name)}
        for name in names:
            if name not in kept:
                shutil.rmtree(self.folder / name, ignore_errors=True)
        self._obey_budget(sacred)

    def _is_milestone(self, name: str) -> bool:
        every = self.config.milestone_every
        return every > 0 and int(name) % every == 0

    def _obey_budget(self, sacred: set[str | None]) -> None:
        sizes = {name: folder_bytes(self.folder / name) for name in self.names()}
        for name in list(sizes):
            if sum(sizes.values()) <= self.config.budget_mb * 1e6:
                return
            if name not in sacred:
                shutil.rmtree(self.folder / name, ignore_errors=True)
                del sizes[name]


def load(place: Path) -> Saved:
    """Read and verify one checkpoint folder."""
    try:
        sums = json.loads((place / MANIFEST).read_text())
        contents = {file: (place / file).read_bytes() for file in (TENSORS, FACTS)}
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint {place} is not complete: {error}") from error
    for file, content in contents.items():
        if not isinstance(sums, dict) or sums.get(file) != _sum(content):
            raise CheckpointError(f"checkpoint {place} is damaged: {file} does not match its checksum")
    try:
        facts = json.loads(contents[FACTS])
        arrays = load_tensors(contents[TENSORS])
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"checkpoint {place} cannot be read: {error}") from error
    if facts.get("format") != FORMAT:
        raise CheckpointError(
            f"checkpoint {place} has format {facts.get('format')}; this Holdfast reads format {FORMAT}: update it"
        )
    return Saved(place.name, arrays, facts)


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def point(pointer: Path, name: str) -> None:
    """Replace a small file in one move."""
    aside = pointer.with_name(f".{pointer.name}")
    write_synced(aside, f"{name}\n".encode())
    os.replace(aside, pointer)


def write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _as_disk_full(error: OSError, folder: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"the disk is full: {folder} could not be written; earlier checkpoints are whole")
    return error

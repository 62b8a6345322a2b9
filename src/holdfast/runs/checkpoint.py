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

from holdfast.config.sections import CheckpointConfig
from holdfast.kit.disk import writing
from holdfast.kit.errors import CheckpointError, CheckpointOutOfReach, RunFolderError
from holdfast.runs.plain_files import parse_json, read_json, read_plain
from holdfast.runs.saved_facts import problems_of

FORMAT = 1
BEST, BEST_WORST = "best", "best-worst"  # by the mean score; by the worst episode
TENSORS, FACTS, META, MANIFEST = "state.safetensors", "state.json", "meta.json", "manifest.json"


LONGEST_NAME = 100
INCOMPLETE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EINVAL,
    errno.ENXIO,
)  # not there, or no file


class Saved(NamedTuple):
    """A checkpoint in memory."""

    name: str
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]  # counts and stream positions
    meta: dict[str, Any]  # what it says about itself; empty in checkpoints of older versions


def name_of(iteration: int) -> str:
    return f"{iteration:06d}"


class Checkpoints:
    """The checkpoints folder of one run."""

    def __init__(self, folder: Path, config: CheckpointConfig) -> None:
        self.folder = folder
        self.config = config

    def save(
        self,
        iteration: int,
        arrays: Mapping[str, np.ndarray],
        facts: dict[str, Any],
        meta: dict[str, Any] | None = None,
    ) -> Path:
        """Write one checkpoint, point `latest` to it, and remove what is no longer kept."""
        with writing(self.folder, "earlier checkpoints are whole"):
            place = self._write(name_of(iteration), arrays, facts, meta)
            point(self.folder / "latest", place.name)
            self.prune()
        return place

    def mark_best(self, iteration: int, pointer: str = BEST) -> None:
        if (self.folder / name_of(iteration)).is_dir():
            with writing(self.folder / pointer, "the checkpoint itself is whole"):
                point(self.folder / pointer, name_of(iteration))

    def _write(
        self, name: str, arrays: Mapping[str, np.ndarray], facts: dict[str, Any], meta: dict[str, Any] | None
    ) -> Path:
        refuse_link(self.folder)
        self.folder.mkdir(exist_ok=True)
        aside, place = self.folder / f".writing-{name}", self.folder / name
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        try:
            contents = {
                TENSORS: save_tensors({key: np.ascontiguousarray(array) for key, array in arrays.items()}),
                FACTS: json.dumps({"format": FORMAT, **facts}, indent=1).encode(),
            }
            if meta is not None:
                contents[META] = json.dumps(meta, indent=1).encode()
            contents[MANIFEST] = manifest_of(contents)
            for file, content in contents.items():
                write_synced(aside / file, content)
            sync_folder(aside)
            if place.exists():  # of an earlier life of this run, or the same moment saved twice
                shutil.rmtree(place)
            os.rename(aside, place)
            sync_folder(self.folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return place

    def names(self) -> list[str]:
        """All checkpoints, oldest first."""
        refuse_link(self.folder)  # else a run whose checkpoints lie behind a link would begin anew
        if not self.folder.is_dir():
            return []
        found = [path for path in self.folder.iterdir() if path.name.isdecimal() and path.name.isascii()]
        return sorted(path.name for path in found if path.is_dir() and not path.is_symlink())

    def pointed(self, pointer: str) -> str | None:
        try:
            name = read_plain(self.folder / pointer, most=LONGEST_NAME).decode("ascii", "replace").strip()
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
            except CheckpointOutOfReach:
                raise  # an older one must not take the place of one that is whole
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
        for stale in self.folder.glob(".writing-*"):
            shutil.rmtree(stale, ignore_errors=True)
        for name in self.doomed():
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def doomed(self) -> list[str]:
        """What `prune` would remove, oldest first."""
        names = self.names()
        if not names:
            return []
        sacred = {names[-1], self.pointed(BEST), self.pointed(BEST_WORST)}
        kept = sacred | set(names[-self.config.keep :]) | {name for name in names if self._is_milestone(name)}
        sizes = {name: folder_bytes(self.folder / name) for name in names if name in kept}
        for name in list(sizes):
            if sum(sizes.values()) > self.config.budget_mb * 1e6 and name not in sacred:
                del sizes[name]
        return [name for name in names if name not in sizes]

    def _is_milestone(self, name: str) -> bool:
        every = self.config.milestone_every
        return every > 0 and int(name) % every == 0


def load(place: Path) -> Saved:
    """Read and verify one checkpoint folder."""
    contents = verified(place)
    try:
        facts, meta = parse_json(contents[FACTS]), parse_json(contents.get(META, b"{}"))
    except (ValueError, KeyError) as error:
        raise CheckpointError(f"checkpoint {place} cannot be read: {error}") from error
    if not isinstance(facts, dict) or not isinstance(meta, dict):
        raise CheckpointError(f"checkpoint {place} cannot be read: {FACTS} and {META} must be tables")
    _refuse_other_format(place, facts.get("format"))
    try:
        arrays = load_tensors(contents[TENSORS])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"checkpoint {place} cannot be read: {error}") from error
    saved = Saved(place.name, arrays, facts, meta)
    problems = problems_of(saved.name, facts, meta)
    if problems:
        raise CheckpointError(f"checkpoint {place} holds what no run writes: {'; '.join(problems)}")
    return saved


def _refuse_other_format(place: Path, found: Any) -> None:
    text = f"checkpoint {place} has format {found!r}; this Holdfast reads format {FORMAT}: update it"
    if type(found) is int and found > FORMAT:  # whole, and newer than what lies before it
        raise CheckpointOutOfReach(text)
    if found != FORMAT:
        raise CheckpointError(text)


def verified(place: Path) -> dict[str, bytes]:
    """The contents of a checkpoint's files, each as its checksum says."""
    try:
        sums = read_json(place / MANIFEST)
        if not isinstance(sums, dict):
            raise ValueError(f"{MANIFEST} is not a table")
        files = [TENSORS, FACTS, *([META] if META in sums else [])]
        contents = {file: read_plain(place / file) for file in files}
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in INCOMPLETE:
            raise CheckpointOutOfReach(
                f"checkpoint {place} cannot be read, though it may be whole: {error}; mend that, or move it away to go "
                "on from the one before it"
            ) from error
        raise CheckpointError(f"checkpoint {place} is not complete: {error}") from error
    for file, content in contents.items():
        if sums.get(file) != _sum(content):
            raise CheckpointError(f"checkpoint {place} is damaged: {file} does not match its checksum")
    return contents


def refuse_link(path: Path) -> None:
    """What a run writes must stay inside its folder."""
    if path.is_symlink():
        raise RunFolderError(f"{path} is a link; a run writes only to its own folder: remove the link")


def manifest_of(contents: Mapping[str, bytes]) -> bytes:
    """Checksums of all files but the manifest itself."""
    sums = {file: _sum(content) for file, content in contents.items() if file != MANIFEST}
    return json.dumps(sums, indent=1).encode()


def folder_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def point(pointer: Path, name: str) -> None:
    """Replace a small file in one move."""
    aside = pointer.with_name(f".{pointer.name}")
    aside.unlink(missing_ok=True)
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

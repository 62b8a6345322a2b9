"""A run folder as bytes, to a node that does not see it and back: all of it there, what changed of it back.

A driver may be killed while it unpacks. So every file is replaced in one move, streams come before the checkpoints that
count their lines, a result comes after them, and what is gone is removed last: the folder can be gone on with always.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from holdfast.kit.disk import replace_file
from holdfast.kit.errors import RunFolderError
from holdfast.runs.folder import RUN_FILE

LEFT = ("lock",)  # of the process that has the folder open
LAST = ("result.json", "pruned.json")


class Parcel(NamedTuple):
    """Files by their place in the run folder."""

    archive: bytes
    files: list[str]  # all that the folder has, packed or not


def files_of(folder: Path) -> dict[str, Path]:
    """Regular files, without what is being written."""
    found = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in place.parts)
        if not hidden and path.is_file() and not path.is_symlink() and str(place) not in LEFT:
            found[place.as_posix()] = path
    return found


def pack(folder: Path, known: dict[str, str] | None = None) -> Parcel:
    """All files, or those that are not as in `known`."""
    known, files, buffer = known or {}, files_of(folder), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for place, path in files.items():
            content = path.read_bytes()
            if known.get(place) != digest(content):
                info = tarfile.TarInfo(place)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return Parcel(buffer.getvalue(), list(files))


def digests(folder: Path) -> dict[str, str]:
    return {place: digest(path.read_bytes()) for place, path in files_of(folder).items()}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def unpack(parcel: Parcel, folder: Path) -> None:
    """Make the folder what was packed; files it has beside that are removed."""
    with tarfile.open(fileobj=io.BytesIO(parcel.archive)) as archive:
        members = {member.name: member for member in archive.getmembers() if member.isfile()}
        for place in in_order(members):
            _refuse_outside(place)
            content = archive.extractfile(members[place])
            assert content is not None
            replace_file(folder / place, _at_home(place, content.read(), folder))
    wanted = set(parcel.files)
    for place, path in files_of(folder).items():
        if place not in wanted:
            path.unlink()
    checkpoints = folder / "checkpoints"
    for kept in checkpoints.iterdir() if checkpoints.is_dir() else ():
        if kept.is_dir() and not any(kept.iterdir()):
            shutil.rmtree(kept)


def in_order(places: Iterable[str]) -> list[str]:
    """Streams and evaluations, checkpoints, their pointers, run.json, and what says that the run is over."""

    def rank(place: str) -> tuple[int, str]:
        in_checkpoint = place.startswith("checkpoints/")
        pointer = in_checkpoint and place.count("/") == 1
        return (4 if place in LAST else 3 if place == RUN_FILE else 2 if pointer else 1 if in_checkpoint else 0), place

    return sorted(places, key=rank)


def _refuse_outside(place: str) -> None:
    if place.startswith("/") or ".." in Path(place).parts:
        raise RunFolderError(f"a node sent a file for {place}, outside the run's folder")


def _at_home(place: str, content: bytes, folder: Path) -> bytes:
    """run.json says where its run is: here."""
    if place != RUN_FILE:
        return content
    description = json.loads(content)
    description["config"]["run"]["root"] = str(folder.parent)
    return json.dumps(description, indent=1).encode()

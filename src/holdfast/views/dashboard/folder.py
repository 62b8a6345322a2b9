"""Files below a root, opened part by part: no link is followed, no pipe is waited for, nothing is read without a limit.

Run folders may come from anywhere. Whatever lies in them, a name from a request can only reach a regular file below the
root that the dashboard was given.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_ITEMS = 20_000  # names that are listed of one folder


class Stamp(NamedTuple):
    """What changes when a file or folder does."""

    inode: int
    size: int
    mtime_ns: int


class Item(NamedTuple):
    """One name in a folder."""

    name: str
    is_folder: bool
    is_file: bool


class Folder(NamedTuple):
    """A folder below a root. The root itself may be a link: the user named it."""

    root: Path
    parts: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    def below(self, name: str) -> Folder:
        return Folder(self.root, (*self.parts, *parts_of_place(name)))

    def stamp(self, place: str) -> Stamp | None:
        """Of a regular file or a folder; None for everything else."""
        try:
            # joined by hand: a Path takes longer than the call; without a last slash, which would follow a link
            found = os.lstat("/".join((str(self.root), *self.parts, *((place,) if place else ()))))
        except (OSError, ValueError):
            return None
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return None
        return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)

    @contextmanager
    def file(self, place: str) -> Iterator[int]:
        """A handle to a regular file below this folder; OSError for anything else."""
        *between, name = parts_of_place(place)
        with self._opened(between) as folder:
            handle = os.open(name, FILE, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(f"{place} is not a regular file")
            yield handle
        finally:
            os.close(handle)

    def read(self, place: str, most_bytes: int) -> bytes | None:
        """A whole file; None where there is none that can be read, or a larger one than that."""
        try:
            with self.file(place) as handle:
                size = os.fstat(handle).st_size
                return read_at(handle, 0, size) if size <= most_bytes else None
        except (OSError, ValueError):
            return None

    def read_end(self, place: str, most_bytes: int) -> bytes:
        """The last bytes of a file, from the beginning of a line on; empty where there is none."""
        try:
            with self.file(place) as handle:
                size = os.fstat(handle).st_size
                content = read_at(handle, max(0, size - most_bytes), min(size, most_bytes))
        except (OSError, ValueError):
            return b""
        return content if size <= most_bytes else content[content.find(b"\n") + 1 :]

    def items(self) -> list[Item]:
        """What lies in it, links left out."""
        try:
            with self._opened(()) as folder, os.scandir(folder) as found:
                return [
                    Item(one.name, one.is_dir(follow_symlinks=False), one.is_file(follow_symlinks=False))
                    for one, _ in zip(found, range(MOST_ITEMS), strict=False)
                    if not one.is_symlink()
                ]
        except (OSError, ValueError):
            return []

    def write(self, name: str, content: bytes) -> None:
        """A file of this folder, written aside, synced and renamed over the old one."""
        aside = f".{os.getpid()}-{name}"
        with self._opened(()) as folder:
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(aside, dir_fd=folder)
                raise

    @contextmanager
    def _opened(self, further: list[str] | tuple[str, ...]) -> Iterator[int]:
        handle = os.open(self.root, FOLDER)
        try:
            for part in (*self.parts, *further):
                inside = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                os.close(handle)
                handle = inside
            yield handle
        finally:
            os.close(handle)


def parts_of_place(place: str) -> list[str]:
    """`evals/final.json` as its parts; a part that leads upwards is an error."""
    parts = place.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{place!r} is not a place below a folder")
    return parts


def read_at(handle: int, begin: int, count: int) -> bytes:
    """Bytes of a file that may shrink meanwhile."""
    pieces = []
    while count > 0:
        piece = os.pread(handle, min(count, 1 << 24), begin)
        if not piece:
            break
        pieces.append(piece)
        begin, count = begin + len(piece), count - len(piece)
    return b"".join(pieces)

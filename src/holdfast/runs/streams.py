"""Streams: append-only files of JSON lines, flushed line by line, packed away when they grow too large.

A part that was packed away is called `NAME.<UTC>-<end>.gz`, `end` being the length of the whole stream up to its last
line. So a position in a stream is one number, whatever was packed in between, and a checkpoint can cut back to it.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import shutil
import stat
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.kit.disk import append_whole, writing
from holdfast.kit.errors import RunFolderError
from holdfast.runs.plain_files import is_plain, read_plain

LOOKED_AT_ONCE = 65536  # bytes, when the end of the last whole line is searched


class Rotation(NamedTuple):
    """When a stream is packed away, and how many parts of it are kept."""

    limit_bytes: int = 0  # 0: never
    keep: int = 5


NEVER = Rotation()


class Part(NamedTuple):
    """Lines that were packed away."""

    path: Path
    end: int  # length of the stream up to here

    @property
    def packed(self) -> bool:
        return self.path.suffix == ".gz"

    def read(self) -> bytes:
        """EOFError, OSError or zlib.error where it is damaged; a part says itself how long it can be at most."""
        content = read_plain(self.path)
        if not self.packed:
            return content
        with gzip.open(io.BytesIO(content)) as file:
            unpacked = file.read(self.end + 1)
        if len(unpacked) > self.end:
            raise OSError(errno.EFBIG, "it unpacks to more than the stream had", str(self.path))
        return unpacked


def parts_of(path: Path) -> list[Part]:
    """What was packed away of a stream, oldest first; a part that is just being packed counts once."""
    shape = re.compile(re.escape(path.name) + r"\.\d{8}T\d{6}Z-(\d{15})(\.gz)?")
    found: dict[int, Part] = {}
    names = sorted(item.name for item in path.parent.iterdir()) if path.parent.is_dir() else []
    for name in names:  # "X.gz" comes after "X": a whole packed part is preferred
        match = shape.fullmatch(name)
        if match and is_plain(path.parent / name):
            found[int(match[1])] = Part(path.parent / name, int(match[1]))
    return [found[end] for end in sorted(found)]


class Stream:
    """An append-only file of JSON lines; any thread may write to it.

    `resumable`: checkpoints keep its position, so a part is thrown away only when a later one has been kept.
    """

    def __init__(self, path: Path, rotation: Rotation = NEVER, resumable: bool = False) -> None:
        self.path, self.rotation, self.resumable = path, rotation, resumable
        self._lock = threading.Lock()
        with writing(path):
            self._handle = open_inside(path)
            self._drop_torn_line()
        self._start = max((part.end for part in parts_of(path)), default=0)
        self._needed = self._end()  # a resume may have to cut back to here

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line: all of it, or nothing of it and an error."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self._lock, writing(self.path, "earlier lines are whole"):
            append_whole(self._handle, line)
            if 0 < self.rotation.limit_bytes < self._size():
                self._pack()

    def position(self) -> int:
        """Length of the whole stream, all of it safely on disk; a checkpoint may cut back to here."""
        with self._lock, writing(self.path, "earlier lines are whole"):
            os.fsync(self._handle)
            self._needed = self._end()
            return self._needed

    def close(self) -> None:
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _size(self) -> int:
        return os.fstat(self._handle).st_size

    def _end(self) -> int:
        return self._start + self._size()

    def _drop_torn_line(self) -> None:
        """A process that was killed while it wrote leaves half a line, which would spoil the next one."""
        size = end = self._size()
        while end > 0:
            begin = max(0, end - LOOKED_AT_ONCE)
            found = os.pread(self._handle, end - begin, begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        if end < size:
            os.ftruncate(self._handle, end)

    def _pack(self) -> None:
        """Each step leaves every line in exactly one place for a reader, also if it is the last one."""
        end = self._end()
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        plain = self.path.with_name(f"{self.path.name}.{moment}-{end:015d}")
        os.fsync(self._handle)
        os.rename(self.path, plain)
        try:
            fresh = open_inside(self.path)
        except BaseException:  # the open handle still leads to the file, which gets its name back
            os.rename(plain, self.path)
            raise
        os.close(self._handle)
        self._handle, self._start = fresh, end
        _compress(plain)
        old = parts_of(self.path)[: -self.rotation.keep]
        for part in old:
            if part.end <= self._needed or not self.resumable:
                part.path.unlink()


def end_of(path: Path) -> int:
    """Length of a whole stream that nobody is writing to."""
    packed = max((part.end for part in parts_of(path)), default=0)
    return packed + (path.stat().st_size if path.is_file() else 0)


def _compress(plain: Path) -> None:
    aside, packed = plain.with_name(f".{plain.name}.gz"), plain.with_name(f"{plain.name}.gz")
    try:
        with plain.open("rb") as source, gzip.open(aside, "wb") as target:
            shutil.copyfileobj(source, target)
        os.replace(aside, packed)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    plain.unlink()


def open_inside(path: Path) -> int:
    """A handle to append to a file of a run folder; a link could lead out of the folder and is refused."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RunFolderError(f"{path} is a link; a run writes only to its own folder: remove the link") from None
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise RunFolderError(f"{path} is no plain file: remove it") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):  # a pipe or a device would never end
        os.close(handle)
        raise RunFolderError(f"{path} is no plain file: remove it")
    return handle


def cut_back(path: Path, position: int) -> list[str]:
    """Forget lines after a checkpoint: the resumed run will write them again. Notes on lines that are missing."""
    with writing(path, "nothing of it is lost"):
        return _cut_back(path, position)


def _cut_back(path: Path, position: int) -> list[str]:
    parts = parts_of(path)
    start = max((part.end for part in parts), default=0)
    while parts and start > position:
        last = parts.pop()
        start = parts[-1].end if parts else 0
        unpacked = last.path.with_name(f".{path.name}.unpacked")
        try:
            content = last.read()
        except (EOFError, OSError, zlib.error) as error:
            raise RunFolderError(
                f"{last.path} is damaged ({error}): the stream cannot be cut back to the checkpoint; move the part "
                "away to go on without its lines"
            ) from error
        unpacked.write_bytes(content)
        os.replace(unpacked, path)
        last.path.unlink()
    if path.is_symlink() or (path.exists() and not is_plain(path)):
        raise RunFolderError(f"{path} is a link or no plain file; a run writes only to its own folder: remove it")
    end = start + (path.stat().st_size if path.exists() else 0)
    if end > position:
        os.truncate(path, position - start)
    return [f"{path.name} lacks {position - end} bytes that it had at the checkpoint"] if end < position else []

"""Files that are whole or not there: written aside, synced to the disk, then renamed over the old one.

Whatever the system refuses on the way becomes one error that names the file, the reason and what is still whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.kit.errors import DiskFull, HoldfastError, WriteFailed

REASONS = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.EFBIG: "the file would exceed the limit of its size (ulimit -f)",
    errno.EMFILE: "this process has too many files open (ulimit -n)",
    errno.ENFILE: "the system has too many files open",
    errno.EIO: "the device failed",
    errno.ENOMEM: "out of memory",
    errno.ENOENT: "its folder is gone",
    errno.ENOTDIR: "a part of its path is no folder",
}


def refused(error: OSError, path: Path, whole: str = "") -> HoldfastError:
    """What the system refused, as an error for the user; `whole`: what can be relied on all the same."""
    rest = f"; {whole}" if whole else ""
    if error.errno == errno.EDQUOT:
        return DiskFull(f"the disk quota is used up: {path} could not be written{rest}")
    if error.errno == errno.ENOSPC:
        return DiskFull(f"{_what_is_full(path)}: {path} could not be written{rest}")
    number = error.errno or 0
    reason = REASONS.get(number, error.strerror or str(error))
    return WriteFailed(f"{path} could not be written: {reason}{rest}")


def _what_is_full(path: Path) -> str:
    """A file system may be out of inodes with space left."""
    for place in (path, *path.parents):
        with suppress(OSError):
            found = os.statvfs(place)
            return "the disk has no inodes left" if found.f_files and not found.f_favail else "the disk is full"
    return "the disk is full"


@contextmanager
def writing(path: Path, whole: str = "") -> Iterator[None]:
    """Name what the system refuses inside the block."""
    try:
        yield
    except OSError as error:
        raise refused(error, path, whole) from error


def append_whole(handle: int, content: bytes) -> None:
    """Append to a file that no one else writes to. The system may take the bytes in pieces and refuse the next piece:
    then the file gets back its old length."""
    before, left = os.fstat(handle).st_size, memoryview(content)
    try:
        while left:
            left = left[os.write(handle, left) :]
    except BaseException:
        with suppress(OSError):  # the first error is the one to tell
            os.ftruncate(handle, before)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """The file with this content, in one move; a reader sees the old one or the new one."""
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        finally:
            with suppress(OSError):  # the first error is the one to tell
                aside.unlink(missing_ok=True)

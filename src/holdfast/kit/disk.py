"""Files that are whole or not there: written aside, synced to the disk, then renamed over the old one."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from holdfast.kit.errors import DiskFull


def replace_file(path: Path, content: bytes) -> None:
    """The file with this content, in one move; a reader sees the old one or the new one."""
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"the disk is full: {path} could not be written") from error
        raise
    finally:
        aside.unlink(missing_ok=True)

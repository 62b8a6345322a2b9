"""Files that the console makes and keeps in the user's cache folder: generated machines and traces of ROMs.

What nobody has used for a month goes, whenever something new is written. Where the folder cannot be written, a
temporary one takes its place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from holdfast.kit.compiled import KEPT_DAYS, cache_root


def folder(*names: str) -> Path:
    """A folder inside the cache that can be written to, or a temporary one."""
    wanted = cache_root().joinpath(*names)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        return Path(tempfile.mkdtemp(prefix="holdfast-kept-"))


def write(path: Path, text: str) -> None:
    """Write a file whole, so that a process that reads it meanwhile sees the old one or the new one."""
    handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(aside).replace(path)


def used(path: Path, root: Path) -> None:
    """Mark an entry of `root` as used now, and remove the entries that were not used for a month."""
    os.utime(path)
    horizon = time.time() - KEPT_DAYS * 86400
    for entry in root.iterdir():
        if entry != path and entry.stat().st_mtime < horizon:
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

"""Reading files that anyone may have put into a run folder: plain files only, of sane size and depth.

A pipe would make the reader wait for ever, a device would never end, a link may lead anywhere, and JSON that is nested
a thousand deep breaks whoever looks at it later. All of that is refused here, by name, before it is looked at.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 34  # of any file; a checkpoint of a large replay has some gigabytes
MOST_JSON_BYTES = 1 << 28
DEEPEST = 64  # what Holdfast writes is nested less than ten deep


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """A regular file's content; OSError for anything else, and for one that is larger than `most` bytes."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
        return file.read()


def is_plain(path: Path) -> bool:
    """A regular file that is no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_own_folder(path: Path) -> bool:
    """A folder that is no link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def read_json(path: Path, most: int = MOST_JSON_BYTES) -> Any:
    """The JSON in a plain file; OSError or ValueError with the reason where there is none."""
    return parse_json(read_plain(path, most))


def parse_json(content: bytes) -> Any:
    """JSON whose nesting is bounded and whose text can be written again; ValueError for any other."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} deep") from None
    if content.count(b"[") + content.count(b"{") > DEEPEST and depth_of(found) > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    return mended(found) if b"\\u" in content else found


def depth_of(value: Any) -> int:
    """How deep lists and tables are nested, found without recursion."""
    depth, level = 0, [value]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        level = [one for one in inner if isinstance(one, dict | list)]
        depth += 1
    return depth


def mended(value: Any) -> Any:
    """Half a character (a lone surrogate), which no terminal or file takes, becomes a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [mended(one) for one in value]
    if isinstance(value, dict):
        return {mended(name): mended(one) for name, one in value.items()}
    return value

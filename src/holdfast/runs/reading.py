"""Reading streams that may be growing, packed away in parts, or torn by a crash.

The last line of a stream may be torn: it is being written, or its writer was killed. It is left out and counted. A line
that is not whole anywhere else means damage, and is told by its file and number.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.runs.plain_files import is_plain, parse_json, read_plain
from holdfast.runs.streams import parts_of

TOLD = 3  # places of damage that are named; a foreign file may be damage from its first line to its last
KNOWN_BYTES = 64  # of what was read before, compared to notice that a file was cut back and written anew


@dataclass
class Lines:
    """What could be read of a stream."""

    records: list[dict[str, Any]] = field(default_factory=list)
    torn_last: int = 0
    damaged: list[str] = field(default_factory=list)  # "metrics.jsonl line 17"


def in_short(damaged: list[str]) -> str:
    """The first places of damage, and how many there are beyond them."""
    more = f" and {len(damaged) - TOLD} more" if len(damaged) > TOLD else ""
    return ", ".join(damaged[:TOLD]) + more


def read_stream(path: Path) -> Lines:
    """All whole lines of a stream, with the parts that were packed away."""
    found = read_parts(path)
    try:
        take(found, read_plain(path), path.name)
    except FileNotFoundError:
        pass
    except OSError as error:
        found.damaged.append(f"{path.name} ({error.strerror})")
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines alone."""
    return read_stream(path).records


def read_parts(path: Path) -> Lines:
    """What was packed away of a stream."""
    for _ in range(3):  # a part may be packed between being listed and being read
        try:
            return _read_parts(path)
        except FileNotFoundError:
            continue
    return _read_parts(path)


def _read_parts(path: Path) -> Lines:
    found = Lines()
    for part in parts_of(path):
        try:
            content = part.read()
        except FileNotFoundError:
            raise
        except (EOFError, OSError, zlib.error):
            found.damaged.append(f"{part.path.name} (cannot be unpacked)")
            continue
        take(found, content, part.path.name)
        if found.torn_last:  # a part ends with a whole line
            found.torn_last = 0
            found.damaged.append(f"{part.path.name}, its last line")
    return found


def take(found: Lines, content: bytes, name: str, first_line: int = 1) -> int:
    """Add the lines of `content`; returns how many bytes of it were whole lines."""
    lines = content.split(b"\n")
    rest = lines.pop()
    for number, line in enumerate(lines, first_line):
        record = parsed(line)
        if record is None:
            found.damaged.append(f"{name} line {number}")
        else:
            found.records.append(record)
    if rest:
        found.torn_last += 1
    return len(content) - len(rest)


def parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = parse_json(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


class Follower:
    """Reads a growing stream again and again, each time only what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def _forget(self) -> None:
        self.lines = Lines()
        self._offset, self._line, self._file, self._known = 0, 1, -1, b""

    def look(self) -> Lines:
        """All lines so far. A file that was packed away, or cut back by a resume, is read from its beginning."""
        try:
            if not is_plain(self.path):  # a pipe of this name would wait for ever, a link lead anywhere
                raise FileNotFoundError
            with self.path.open("rb") as file:
                self._read(file)
        except FileNotFoundError:
            self._forget()
            self.lines = read_parts(self.path)
        return self.lines

    def _read(self, file: BinaryIO) -> None:
        inode = os.fstat(file.fileno()).st_ino
        if self._file != inode or not self._is_same(file):
            self._forget()
            self._file, self.lines = inode, read_parts(self.path)
        file.seek(self._offset)
        content = file.read()
        self.lines.torn_last = 0
        whole = take(self.lines, content, self.path.name, self._line)
        self._line += content.count(b"\n")
        self._known = (self._known + content[:whole])[-KNOWN_BYTES:]
        self._offset += whole

    def _is_same(self, file: BinaryIO) -> bool:
        """Does the file still begin with what was read of it? The last bytes of that tell."""
        file.seek(self._offset - len(self._known))
        return file.read(len(self._known)) == self._known

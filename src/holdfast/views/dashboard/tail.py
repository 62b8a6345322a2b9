"""Following a growing stream: each look returns only the whole lines that are new.

A torn last line is left for the next look. Parts that were packed away come first; of a stream larger than the limit
the newest part is read, and how much was left out is known. A file that was cut back or replaced is read anew.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass

from holdfast.views.dashboard.folder import Folder, Stamp, read_at

KNOWN_BYTES = 64  # of what was read before, compared to notice that a file was cut back and written anew
MOST_BYTES = 192_000_000  # of one stream, packed parts unpacked
PACKED_LIMIT = 64_000_000  # of one packed part, unpacked
PART = re.compile(r"\.\d{8}T\d{6}Z-(\d{15})(\.gz)?")


@dataclass
class News:
    """New lines of a stream; `anew`: they begin it, and what was known before is gone."""

    content: bytes
    anew: bool
    left_out: int = 0  # bytes before the first line that are not read


class Tail:
    """One stream of one run."""

    def __init__(self, folder: Folder, name: str, most_bytes: int = MOST_BYTES) -> None:
        self.folder, self.name, self.most_bytes = folder, name, most_bytes
        self.stamp: Stamp | None = None
        self._forget()

    def _forget(self) -> None:
        self._offset, self._inode, self._known = 0, -1, b""

    def look(self) -> News | None:
        """What is new; None while nothing changed."""
        stamp = self.folder.stamp(self.name)
        if stamp is not None and stamp == self.stamp:
            return None
        try:
            with self.folder.file(self.name) as handle:
                found = self._read(handle)
        except (OSError, ValueError):
            gone = self._inode >= 0
            self._forget()
            self.stamp = stamp
            return News(b"", anew=True) if gone else None
        self.stamp = stamp
        return found

    def _read(self, handle: int) -> News | None:
        facts = os.fstat(handle)
        same = facts.st_ino == self._inode and facts.st_size >= self._offset and self._is_same(handle)
        before, left_out = b"", 0
        if not same:
            self._forget()
            self._inode = facts.st_ino
            begin = max(0, facts.st_size - self.most_bytes)
            if begin:  # the line that the limit falls into is left out
                begin += read_at(handle, begin, 1 << 20).find(b"\n") + 1
            else:
                before, left_out = self._packed(self.most_bytes - facts.st_size)
            self._offset, left_out = begin, left_out + begin
        content = read_at(handle, self._offset, min(facts.st_size - self._offset, self.most_bytes))
        whole = content.rfind(b"\n") + 1
        content = content[:whole]
        self._known = (self._known + content[-KNOWN_BYTES:])[-KNOWN_BYTES:]
        self._offset += whole
        if same and not content:
            return None
        return News(before + content, anew=not same, left_out=left_out)

    def _is_same(self, handle: int) -> bool:
        """Does the file still hold what was read last?"""
        return read_at(handle, self._offset - len(self._known), len(self._known)) == self._known

    def _packed(self, room: int) -> tuple[bytes, int]:
        """Lines of the parts that were packed away, the newest that fit, and how many parts' bytes did not."""
        parts: dict[int, str] = {}
        for name in sorted(item.name for item in self.folder.items() if item.is_file):
            match = PART.fullmatch(name.removeprefix(self.name)) if name.startswith(self.name) else None
            if match:  # "X.gz" comes after "X": a whole packed part is preferred
                parts[int(match[1])] = name
        kept: list[bytes] = []
        for end in sorted(parts, reverse=True):
            content = self._unpacked(parts[end])
            if content is None or len(content) > room:
                return b"".join(reversed(kept)), end
            room -= len(content)
            kept.append(content[: content.rfind(b"\n") + 1])
        return b"".join(reversed(kept)), 0

    def _unpacked(self, name: str) -> bytes | None:
        """A part's lines; None if it is damaged, or larger than the limit."""
        raw = self.folder.read(name, PACKED_LIMIT)
        if raw is None or not name.endswith(".gz"):
            return raw
        unpacker = zlib.decompressobj(wbits=31)
        try:
            content = unpacker.decompress(raw, PACKED_LIMIT)
        except zlib.error:
            return None
        return content if unpacker.eof else None

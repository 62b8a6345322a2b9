"""Pictures and videos of a run: whole, or the part that a browser's player asks for."""

from __future__ import annotations

import os
import re

from starlette.responses import PlainTextResponse, Response

from holdfast.views.dashboard.details import kind_of_medium
from holdfast.views.dashboard.folder import Folder, read_at

PIECE = 8_000_000  # bytes of one answer; a player asks for more when it needs it
RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")


def medium(folder: Folder, name: str, wanted_range: str) -> Response:
    kind = kind_of_medium(name)
    try:
        if not kind or "/" in name:
            raise OSError
        with folder.below("media").file(name) as handle:
            return _part(handle, os.fstat(handle).st_size, kind, RANGE.fullmatch(wanted_range))
    except (OSError, ValueError):
        return PlainTextResponse("no such picture or video\n", 404)


def _part(handle: int, size: int, kind: str, asked: re.Match[str] | None) -> Response:
    headers = {"accept-ranges": "bytes", "cache-control": "no-cache"}
    if asked is None and size <= 4 * PIECE:
        return Response(read_at(handle, 0, size), 200, headers, kind)
    begin = int(asked[1]) if asked else 0
    end = min(size - 1, begin + PIECE - 1, int(asked[2]) if asked and asked[2] else size - 1)
    if begin >= size or end < begin:
        return Response(b"", 416, {**headers, "content-range": f"bytes */{size}"})
    headers["content-range"] = f"bytes {begin}-{end}/{size}"
    return Response(read_at(handle, begin, end - begin + 1), 206, headers, kind)

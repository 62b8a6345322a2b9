"""The curves of a run as few points as a screen can show, in one binary answer: a JSON head, then 64-bit floats.

Extremes survive the thinning, and a narrower range brings the raw rows: zooming in asks again.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy as np

from holdfast.views.dashboard.columns import Columns
from holdfast.views.dashboard.run_data import RunData
from holdfast.views.dashboard.thin import smoothed, thinned

AXES = ("iteration", "time", "agent_steps")
NOT_DRAWN = ("iteration", "time", "elapsed_s", "pid", "every_s")
MOST_POINTS, FEWEST_POINTS = 20_000, 20
WIDEST = 100_000
MACHINE = "resources."  # in front of a name: it is of resources.jsonl
STREAMS = {"": ("metrics", "timing"), MACHINE: ("resources",)}


class Wanted(NamedTuple):
    """Which curves, and how."""

    axis: str = "iteration"
    names: tuple[str, ...] = ()  # empty: all
    points: int = 600  # of one curve
    smooth: int = 1  # rows that are averaged
    begin: float = float("-inf")
    end: float = float("inf")


class Curve(NamedTuple):
    """One drawn line; `rows` are those in the range before it was thinned."""

    name: str
    x: np.ndarray
    y: np.ndarray
    rows: int


def curves_of(data: RunData, wanted: Wanted) -> list[Curve]:
    found = []
    for front, streams in STREAMS.items():
        for stream in streams:
            if not wanted.names or any(name.startswith(front) for name in wanted.names):
                data.look(stream, *(("heartbeat",) if stream == "resources" else ()))
    if wanted.axis == "time":
        data.look("timing")
    for front, streams in STREAMS.items():
        for stream in streams:
            found += _of_stream(data.columns[stream], data.axis(stream, wanted.axis), front, wanted)
    return found


def _of_stream(columns: Columns, axis: np.ndarray, front: str, wanted: Wanted) -> list[Curve]:
    names = [name for name in columns.names if name not in NOT_DRAWN]
    chosen = [name for name in names if not wanted.names or front + name in wanted.names]
    return [curve for name in chosen if len(axis) and (curve := _curve(front + name, axis, columns[name], wanted)).rows]


def _curve(name: str, axis: np.ndarray, values: np.ndarray, wanted: Wanted) -> Curve:
    known = np.isfinite(values) & np.isfinite(axis)
    x, y = (axis, values) if known.all() else (axis[known], values[known])
    y = smoothed(y, wanted.smooth)
    if wanted.begin > float("-inf") or wanted.end < float("inf"):
        x, y = _between(x, y, wanted.begin, wanted.end)
    return Curve(name, *thinned(x, y, wanted.points), len(x))


def _between(x: np.ndarray, y: np.ndarray, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows in the range, and one more on either side so that lines leave the picture."""
    places = np.flatnonzero((x >= begin) & (x <= end))
    if len(places) == 0:
        return x[:0], y[:0]
    first, last = max(0, places[0] - 1), min(len(x), places[-1] + 2)
    return x[first:last], y[first:last]


def packed(curves: list[Curve], facts: dict[str, Any]) -> bytes:
    """Length of the head (4 bytes, little-endian), the head as JSON padded to 8 bytes, x and y of each curve."""
    described = [{"name": curve.name, "n": len(curve.x), "rows": curve.rows} for curve in curves]
    head = json.dumps({**facts, "curves": described}).encode()
    head += b" " * (-(len(head) + 4) % 8)
    body = [np.ascontiguousarray(part, dtype="<f8").tobytes() for curve in curves for part in (curve.x, curve.y)]
    return struct.pack("<I", len(head)) + head + b"".join(body)


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """What `packed` made: the head, and x and y by name."""
    (length,) = struct.unpack_from("<I", content)
    head = json.loads(content[4 : 4 + length])
    numbers = np.frombuffer(content[4 + length :], dtype="<f8")
    found, at = {}, 0
    for curve in head["curves"]:
        count = curve["n"]
        found[curve["name"]] = (numbers[at : at + count], numbers[at + count : at + 2 * count])
        at += 2 * count
    return head, found

"""The numbers of a stream as columns: one float array per name, NaN where a line does not have it.

Large pieces of flat lines are parsed by Arrow, which is several times faster than Python; whatever it refuses, and
every small piece, is parsed line by line. Both give the same columns.
"""

from __future__ import annotations

import calendar
import io
import json
import math
import time
from typing import Any

import numpy as np

LARGEST = 1e300
MOST_COLUMNS = 1000
LONGEST_NAME = 200
FAST_FROM = 100_000  # bytes
MOMENT = "time"  # a text such as 2026-01-31T12:00:00.000Z, kept as seconds since 1970
SHORT_MOMENT = len("2026-01-31T12:00:00")


class Columns:
    """Grows by pieces of whole lines."""

    def __init__(self) -> None:
        self.rows, self.damaged = 0, 0
        self._room = 0
        self._data: dict[str, np.ndarray] = {}

    @property
    def names(self) -> list[str]:
        return list(self._data)

    @property
    def bytes_held(self) -> int:
        return sum(column.nbytes for column in self._data.values())

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def __getitem__(self, name: str) -> np.ndarray:
        """A copy would be wasteful: rows that are there never change."""
        return self._data[name][: self.rows]

    def clear(self) -> None:
        self.rows, self.damaged, self._room = 0, 0, 0
        self._data.clear()

    def add(self, content: bytes) -> None:
        if len(content) >= FAST_FROM and is_flat(content) and self._add_fast(content):
            return
        for line in content.split(b"\n"):
            if line.strip():
                self._add_line(line)

    # --- by Arrow ----------------------------------------------------------------------------------------------------

    def _add_fast(self, content: bytes) -> bool:
        import pyarrow
        import pyarrow.json

        block = pyarrow.json.ReadOptions(block_size=min(1 << 25, len(content) + 1))
        text = pyarrow.json.ParseOptions(
            explicit_schema=pyarrow.schema([(MOMENT, pyarrow.string())]), unexpected_field_behavior="infer"
        )
        try:
            table = pyarrow.json.read_json(io.BytesIO(content), read_options=block, parse_options=text)
        except (pyarrow.ArrowException, ValueError):
            return False
        self._make_room(table.num_rows)
        begin, end = self.rows, self.rows + table.num_rows
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name == MOMENT and column.null_count < len(column):
                self._fill(name, begin, end, moments(column.to_pylist()))
            elif pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type):
                self._fill(name, begin, end, column.to_numpy().astype(np.float64, copy=False))
        self.rows = end
        return True

    def _fill(self, name: str, begin: int, end: int, values: np.ndarray) -> None:
        column = self._column(name)
        if column is not None:
            column[begin:end] = np.where(np.abs(values) < LARGEST, values, np.nan)

    # --- line by line ------------------------------------------------------------------------------------------------

    def _add_line(self, line: bytes) -> None:
        record = parsed(line)
        if record is None:
            self.damaged += 1
            return
        self._make_room(1)
        for name, value in record.items():
            number = seconds(value) if name == MOMENT else as_number(value)
            column = self._column(name) if number is not None else None
            if column is not None:
                column[self.rows] = number
        self.rows += 1

    # --- memory ------------------------------------------------------------------------------------------------------

    def _column(self, name: str) -> np.ndarray | None:
        if name not in self._data:
            if len(self._data) >= MOST_COLUMNS or len(name) > LONGEST_NAME:
                return None
            self._data[name] = np.full(self._room, np.nan)
        return self._data[name]

    def _make_room(self, more: int) -> None:
        if self.rows + more <= self._room:
            return
        self._room = max(64, self.rows + more, int(1.5 * self._room))
        for name, column in self._data.items():
            self._data[name] = np.full(self._room, np.nan)
            self._data[name][: self.rows] = column[: self.rows]


def is_flat(content: bytes) -> bool:
    """One object per line and nothing inside another: what is nested is not given to a parser that recurses."""
    return b"[" not in content and content.count(b"{") == content.count(b"\n")


def parsed(line: bytes) -> dict[str, Any] | None:
    """A line of a stream; None if it is no whole JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def as_number(value: object) -> float | None:
    """A finite number as JSON has them, or nothing."""
    if type(value) is int or type(value) is float:
        return float(value) if -LARGEST < value < LARGEST else None
    return None


def moments(texts: list[str | None]) -> np.ndarray:
    found = (seconds(text) for text in texts)
    return np.array([math.nan if moment is None else moment for moment in found])


def seconds(moment: object) -> float | None:
    """A time that a run wrote, in seconds since 1970: UTC, or with an offset such as +0200."""
    if not isinstance(moment, str) or len(moment) < SHORT_MOMENT:
        return None
    try:
        whole = calendar.timegm(time.strptime(moment[:SHORT_MOMENT], "%Y-%m-%dT%H:%M:%S"))
        rest = moment[SHORT_MOMENT:].rstrip("Z")
        if rest.startswith("."):
            return whole + float(f"0{rest}")
        if rest[:1] in ("+", "-") and rest[1:].replace(":", "").isdecimal():
            digits = rest[1:].replace(":", "")
            offset = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
            return float(whole - math.copysign(offset, 1 if rest[0] == "+" else -1))
        return float(whole)
    except (ValueError, OverflowError):
        return None

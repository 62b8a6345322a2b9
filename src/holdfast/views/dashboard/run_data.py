"""The streams of runs whose pages are open, held as columns and kept up to date by reading only what is new.

What has not been asked for longest is let go when all together grow too large.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from holdfast.views.dashboard.columns import Columns, parsed
from holdfast.views.dashboard.folder import Folder, Stamp
from holdfast.views.dashboard.tail import Tail

MOST_HELD = 600_000_000  # bytes of columns of all runs together
MOST_EVENTS = 20_000  # the newest
EVENT_BYTES = 32_000_000
NUMBERS = ("metrics", "timing", "resources", "heartbeat")
STAMPED = ("metrics.jsonl", "timing.jsonl", "events.jsonl", "heartbeat.jsonl", "resources.jsonl", "gate_debug.jsonl",
           "notes.json", "result.json", "media", "evals", "checkpoints")  # fmt: skip


class RunData:
    """What was read of one run."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.columns = {name: Columns() for name in NUMBERS}
        self.tails = {name: Tail(folder, f"{name}.jsonl") for name in NUMBERS}
        self.left_out = dict.fromkeys(NUMBERS, 0)
        self.events: list[dict[str, Any]] = []
        self.damaged_events = 0
        self._event_tail = Tail(folder, "events.jsonl", EVENT_BYTES)
        self.lock = threading.Lock()

    @property
    def bytes_held(self) -> int:
        return sum(columns.bytes_held for columns in self.columns.values())

    def look(self, *names: str) -> None:
        """Take in what is new of these streams."""
        for name in names:
            if name == "events":
                self._look_at_events()
                continue
            news = self.tails[name].look()
            if news is not None:
                if news.anew:
                    self.columns[name].clear()
                    self.left_out[name] = news.left_out
                self.columns[name].add(news.content)

    def _look_at_events(self) -> None:
        news = self._event_tail.look()
        if news is None:
            return
        if news.anew:
            self.events, self.damaged_events = [], 0
        for line in news.content.splitlines():
            event = parsed(line)
            if event is None:
                self.damaged_events += bool(line.strip())
            else:
                self.events.append(event)
        self.events = self.events[-MOST_EVENTS:]

    # --- the axes that curves are drawn over -------------------------------------------------------------------------

    def axis(self, stream: str, kind: str) -> np.ndarray:
        """Where the rows of a stream lie: by `iteration`, by `time` (seconds of training), or by `agent_steps`."""
        columns = self.columns[stream]
        if stream in ("resources", "heartbeat"):
            return self._by_clock(columns, kind)
        if columns.rows == 0 or "iteration" not in columns:
            return np.empty(0)
        iterations = columns["iteration"]
        if kind == "iteration":
            return iterations
        name, other = ("elapsed_s", self.columns["timing"]) if kind == "time" else kind_in(self.columns, kind)
        if name not in other or "iteration" not in other:
            return iterations
        values = running(other[name]) if kind == "time" else other[name]
        return placed(iterations, other["iteration"], values)

    def _by_clock(self, columns: Columns, kind: str) -> np.ndarray:
        """Samples of the machine have only a time of day; heartbeats tell which iteration that was."""
        beats = self.columns["heartbeat"]
        if columns.rows == 0 or "time" not in columns:
            return np.empty(0)
        if kind == "time" or kind not in beats or "time" not in beats:
            return columns["time"] - np.nanmin(columns["time"])
        return placed(columns["time"], beats["time"], beats[kind])


def kind_in(columns: dict[str, Columns], kind: str) -> tuple[str, Columns]:
    return kind, columns["metrics"]


def running(elapsed_s: np.ndarray) -> np.ndarray:
    """Clock times that go on where a resumed process began anew."""
    known = np.nan_to_num(elapsed_s)
    steps = np.diff(known, prepend=0.0)
    return np.cumsum(np.where(steps < 0.0, known, steps))


def placed(at: np.ndarray, known_at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at other places than they are known at, between the neighbours."""
    whole = np.isfinite(known_at) & np.isfinite(values)
    if not whole.any():
        return at
    found: np.ndarray = np.interp(at, known_at[whole], values[whole])
    return found


class Shelf:
    """The runs that are held in memory."""

    def __init__(self, most_bytes: int = MOST_HELD) -> None:
        self.most_bytes = most_bytes
        self._held: OrderedDict[str, RunData] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, name: str, folder: Folder) -> Iterator[RunData]:
        """A run's data, for one thread at a time."""
        with self._lock:
            data = self._held.get(name)
            if data is None or data.folder != folder:
                data = self._held[name] = RunData(folder)
            self._held.move_to_end(name)
        with data.lock:
            yield data
        self._let_go(name)

    def _let_go(self, newest: str) -> None:
        with self._lock:
            held = sum(data.bytes_held for data in self._held.values())
            for name in list(self._held):
                if held <= self.most_bytes or name == newest:
                    return
                held -= self._held.pop(name).bytes_held


def stamps_of(folder: Folder) -> tuple[Stamp | None, ...]:
    """Differs when anything changed that the page of a run shows."""
    return tuple(folder.stamp(name) for name in STAMPED)

"""Everything a run writes about itself while it goes on, but for evaluations and checkpoints.

`metrics.jsonl` and `episodes.jsonl` are decided by the seed and `timing.jsonl` belongs to their lines: a checkpoint
keeps the lengths of these three, and a resumed run writes what came later anew. The other streams are a diary.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.closing import close_all
from holdfast.kit.errors import CheckpointError
from holdfast.kit.timing import Clock
from holdfast.runs.board import Board
from holdfast.runs.heartbeat import Pulse, utc
from holdfast.runs.hints import Advisor, Facts, Hint
from holdfast.runs.metrics import DUEL_METRICS, METRICS, MetricsWriter, known_names
from holdfast.runs.monitor import Monitor
from holdfast.runs.streams import Rotation, Stream, cut_back, end_of
from holdfast.runs.tables import LATEST, write_rows
from holdfast.worlds.api import Episodes, WorldSpec
from holdfast.worlds.registry import game_of

CUT_AT_RESUME = ("metrics.jsonl", "episodes.jsonl", "timing.jsonl")
PARQUET_EVERY_S = 10.0  # writing one takes 5 ms

Row = dict[str, float | int]


class Recorder:
    """The open streams of one process's share of a run. Its monitor watches from the moment it is made."""

    def __init__(self, folder: Path, config: Config, clock: Clock) -> None:
        self.folder, self.config = folder, config
        self.rotation = Rotation(int(config.metrics.rotate_mb * 1e6), config.metrics.rotate_keep)
        self.events = self._stream("events.jsonl")
        self.pulse = Pulse()
        self.metrics: MetricsWriter | None = None
        self.kept: dict[str, Stream] = {}
        self.advisor: Advisor | None = None
        self.parquet_due_s, self.newest = 0.0, dict[str, Any]()
        self.monitor = Monitor(folder, config.metrics, self.pulse, clock, self.event)
        self.monitor.start()

    def _stream(self, name: str) -> Stream:
        return Stream(self.folder / name, self.rotation, resumable=name in CUT_AT_RESUME)

    def event(self, kind: str, /, **facts: object) -> None:
        """A fact called `iteration` is the moment that the event is about."""
        self.events.write({"event": kind, "time": utc(), "iteration": self.pulse.iteration, **facts})

    def append(self, stream: str, line: Mapping[str, Any]) -> None:
        """A line to a stream of another part of the loop, which is resumed like the metrics."""
        if stream not in self.kept:
            self.kept[stream] = Stream(self.folder / stream, self.rotation, resumable=True)
        self.kept[stream].write(line)

    # --- the loop's lines --------------------------------------------------------------------------------------------

    def open(self, spec: WorldSpec, iteration: int, agent_steps: int, advice: dict[str, int]) -> None:
        """Ready for the lines of iterations to come; `advice` is what an earlier process was last advised, and when."""
        self.pulse.iteration, self.pulse.agent_steps = iteration, agent_steps
        config = self.config.metrics
        wanted = [name for name in CUT_AT_RESUME if config.episodes or name != "episodes.jsonl"]
        self.kept |= {name: self._stream(name) for name in wanted}
        table = (*METRICS, *DUEL_METRICS, *game_of(self.config).metrics)
        names = known_names(table, [role.name for role in spec.roles], list(spec.columns))
        board = Board(self.folder / "tensorboard", agent_steps + 1) if self.config.run.tensorboard else None
        self.metrics = MetricsWriter(self.kept["metrics.jsonl"], names, board)
        if config.hints:
            further = game_of(self.config).hints
            rules = further() if further is not None else ()
            self.advisor = Advisor(Facts.of(self.config, spec), config.hint_cooldown, advice, rules)
            self.advisor.read(self.folder)

    def write(self, metrics: Row, timing: Row, episodes: Episodes | None) -> list[Hint]:
        """The lines of one iteration; what the metrics suggest is written as events, and returned."""
        assert self.metrics is not None
        self.metrics.write(metrics)
        self.kept["timing.jsonl"].write(timing)
        if episodes and "episodes.jsonl" in self.kept:
            moment = {"iteration": metrics["iteration"], "agent_steps": metrics["agent_steps"], "ended": len(episodes)}
            self.kept["episodes.jsonl"].write(moment | plain_columns(episodes, self.config.metrics.episodes))
        self.pulse.iteration, self.pulse.agent_steps = int(metrics["iteration"]), int(metrics["agent_steps"])
        self.newest = {**timing, **metrics}
        self._write_parquet(time.perf_counter())
        hints = self.advisor.advise(metrics, timing) if self.advisor is not None else []
        for hint in hints:
            self.event("hint", name=hint.name, text=hint.text, evidence=hint.evidence)
        return hints

    def _write_parquet(self, now_s: float) -> None:
        if self.config.metrics.parquet and self.newest and now_s >= self.parquet_due_s:
            self.parquet_due_s = now_s + PARQUET_EVERY_S
            write_rows(self.folder / LATEST, [self.newest])

    # --- checkpoints and the end -------------------------------------------------------------------------------------

    def facts(self, others: Sequence[str] = ()) -> dict[str, Any]:
        """What a checkpoint keeps of all this; `others`: streams that may not have been written to in this process."""
        unopened = {name: end_of(self.folder / name) for name in others if name not in self.kept}
        return {
            "streams": {name: stream.position() for name, stream in self.kept.items()} | unopened,
            "advice": self.advisor.given if self.advisor is not None else {},
        }

    def close(self) -> None:
        """Close every stream, whatever the disk refuses on the way; the first refusal is raised at the end."""
        streams = [stream.close for stream in (*self.kept.values(), self.events)]
        metrics = [] if self.metrics is None else [self.metrics.close]
        close_all([lambda: self._write_parquet(float("inf")), self.monitor.stop, *metrics, *streams])


def cut_streams_back(folder: Path, positions: dict[str, int]) -> list[str]:
    """Forget what was written after a checkpoint; notes on what is missing before it."""
    strange = [name for name in positions if not re.fullmatch(r"\w[\w-]*\.jsonl", name)]
    if strange:  # a checkpoint from elsewhere must not make us cut files outside the run
        raise CheckpointError(
            f"the checkpoint of {folder} names streams that no run has: {', '.join(map(repr, strange))}"
        )
    return [note for name, position in positions.items() for note in cut_back(folder / name, position)]


def plain_columns(episodes: Episodes, most: int) -> dict[str, list[Any]]:
    """The table of ended episodes as lists: numbers rounded to 6 digits after the point, keys as they are. Of more than
    `most` episodes as many, evenly spread: thousands per iteration would cost several per cent of the run's speed."""
    if len(episodes) > most:
        episodes = episodes.take(np.arange(most) * len(episodes) // most)
    return {name: _plain(column) for name, column in episodes.columns.items()}


def _plain(column: np.ndarray) -> list[Any]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return list(np.round(column.astype(np.float64), 6).tolist())

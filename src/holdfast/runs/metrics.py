"""The one table of metrics (name, unit, meaning) and the streams they are written to.

A name that is not in the table cannot be logged; docs/metrics.md is made from it. `metrics.jsonl` holds only what the
seed decides, so that a resumed run's file equals an uninterrupted one's; clock times go to `timing.jsonl`.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from holdfast.errors import DiskFull, WorldError, nearest


class Metric(NamedTuple):
    """One row of the table; `{role}` and `{column}` stand for the world's own names."""

    name: str
    unit: str
    meaning: str


METRICS = (
    Metric("iteration", "count", "rollouts collected and learned from"),
    Metric("agent_steps", "count", "steps that living agents acted in, since the run began"),
    Metric("episodes", "count", "episodes that ended in training, since the run began"),
    Metric("episode.{column}", "as the world says", "mean of a number over the episodes that ended in this iteration"),
    Metric("learner.{role}.policy_loss", "1", "clipped surrogate loss, mean over minibatches"),
    Metric("learner.{role}.value_loss", "1", "squared error of the value network in its own units"),
    Metric("learner.{role}.entropy", "nats", "how undecided the policy is"),
    Metric("learner.{role}.approx_kl", "nats", "how far the policy moved in this update"),
    Metric("learner.{role}.clip_fraction", "share", "agent-steps whose probability ratio hit the clip limit"),
    Metric("learner.{role}.grad_norm", "1", "length of the gradient before clipping, mean over minibatches"),
    Metric("learner.{role}.explained_variance", "share", "how much of the returns the values foresaw; 1 = all"),
    Metric("learner.{role}.lr", "1", "learning rate"),
    Metric("learner.{role}.epochs", "count", "passes over the batch, fewer when the KL limit ended them"),
    Metric("learner.{role}.valid_share", "share", "agent-steps of the batch that were really acted"),
    Metric("evaluation.score", "as the world says", "mean score of the evaluation episodes"),
    Metric("evaluation.score_low", "as the world says", "lower end of its 95 % interval"),
    Metric("evaluation.score_high", "as the world says", "upper end of its 95 % interval"),
    Metric("evaluation.score_worst", "as the world says", "worst evaluation episode"),
    Metric("evaluation.{column}", "as the world says", "mean of a number over the evaluation episodes"),
)

SCHOOL_METRICS = (
    Metric("evaluation.min_final", "share", "survivors of the worst episode"),
    Metric("evaluation.worst10_final", "share", "survivors of the worst tenth of the episodes"),
    Metric("evaluation.death_p10", "steps", "10th percentile of the steps fish lived"),
    Metric("evaluation.early_100", "share", "fish dead before step 100"),
    Metric("evaluation.step_one_ratio", "share", "fish dead in the first step"),
    Metric("evaluation.avoidable_step_one_ratio", "share", "of those, beyond the ones that no action saves"),
    Metric("evaluation.ceiling_avg", "share", "mean survivors if only doomed fish died"),
    Metric("evaluation.ceiling_min", "share", "survivors of the worst episode if only doomed fish died"),
    Metric("evaluation.worst_gap", "share", "most that an episode stays behind its own ceiling"),
    Metric("curriculum.phase", "number", "phase of the schedule in force"),
    Metric("curriculum.fish", "count", "fish of new training episodes"),
    Metric("curriculum.density", "1", "density coefficient"),
    Metric("curriculum.boost", "of top speed", "first speed of fish"),
    Metric("curriculum.level", "number", "level of the gate"),
    Metric("curriculum.phase_limit", "number", "last phase that the gate allows"),
    Metric("curriculum.deals", "count", "episodes begun from the deck so far"),
    Metric("curriculum.deck_remaining", "share", "of the deck not yet dealt"),
)

TIMINGS = (
    Metric("elapsed_s", "s", "since this process began the loop"),
    Metric("agent_steps_per_s", "1/s", "living agent-steps per second of this iteration, all phases counted"),
    Metric("phase.{column}_s", "s", "seconds spent in one phase of the loop since the line before"),
    Metric("memory_mb", "MB", "resident memory of the process"),
)


def known_names(table: tuple[Metric, ...], roles: list[str], columns: list[str]) -> set[str]:
    names: set[str] = set()
    for metric in table:
        fillings = roles if "{role}" in metric.name else columns if "{column}" in metric.name else [""]
        names |= {metric.name.replace("{role}", filling).replace("{column}", filling) for filling in fillings}
    return names


class Stream:
    """An append-only file of JSON lines, flushed line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] = path.open("ab")

    def write(self, record: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(
                    f"the disk is full: {self.path} could not be written; earlier lines are whole"
                ) from error
            raise

    def position(self) -> int:
        """Bytes that are safely on disk."""
        os.fsync(self._file.fileno())
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()


def cut_back(path: Path, position: int) -> None:
    """Forget lines after a checkpoint: the resumed run will write them again."""
    if path.exists() and path.stat().st_size > position:
        os.truncate(path, position)


def on_disk(path: Path) -> int:
    """Bytes of a stream that is closed between lines, made safe; 0 where nothing was written yet."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path.stat().st_size


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a stream; a line torn by a crash is left out."""
    records = []
    if path.exists():
        for line in path.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
    return records


class MetricsWriter:
    """Checks names against the table and writes JSON lines, and TensorBoard if asked."""

    def __init__(self, folder: Path, names: set[str], tensorboard_from: int | None) -> None:
        self.stream = Stream(folder / "metrics.jsonl")
        self._names = names
        self._board: Any = None
        if tensorboard_from is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=tensorboard_from + 1)

    def write(self, record: dict[str, float | int]) -> None:
        for name in record:
            if name not in self._names:
                raise WorldError(f"metric {name!r} is not in the table of metrics{nearest(name, list(self._names))}")
        self.stream.write(record)
        if self._board is not None:
            for name, value in record.items():
                self._board.add_scalar(name.replace(".", "/"), value, record["iteration"])

    def close(self) -> None:
        self.stream.close()
        if self._board is not None:
            self._board.close()

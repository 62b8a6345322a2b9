"""How a run stands, by its files alone: it may be going on here or on another machine, be over, or have been killed.

Nothing is written and no lock is taken, so any number of watchers may look at once.
"""

from __future__ import annotations

import calendar
import socket
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from holdfast.runs.folder import WHOLE, RunFolder, is_locked
from holdfast.runs.reading import Follower
from holdfast.runs.worker_story import worker_story

STREAMS = ("metrics", "timing", "events", "heartbeat", "resources", "workers")
ENDED = (*WHOLE, "interrupted", "failed", "killed")
BEGUN = ("started", "resumed")
MISSED_BEATS, LEAST_SILENCE_S = 3, 10.0
SHOWN_EVENTS, RATE_ROWS = 5, 20


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. What is not known is None or empty, never 0."""

    run: str
    world: str
    status: str  # starting, running, silent, or one of ENDED
    why: str  # what the status rests on
    phase: str | None
    iteration: int
    iterations: int
    agent_steps: int
    agent_steps_per_s: float | None
    left_s: float | None
    idle_s: float | None
    beat_age_s: float | None
    score: dict[str, float] = field(default_factory=dict)  # of the last evaluation, with its iteration
    training: dict[str, float] = field(default_factory=dict)  # newest row of metrics
    time_shares: dict[str, float] = field(default_factory=dict)  # of the newest rows
    resources: dict[str, Any] = field(default_factory=dict)
    workers: dict[str, Any] = field(default_factory=dict)  # see worker_story.py; empty without workers
    hints: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    torn_last_lines: int = 0
    damage: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.status in ENDED


Rows = list[dict[str, Any]]


class Watcher:
    """Looks at one run folder again and again, reading only what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        description = RunFolder(folder).describe()
        config = description["config"] if isinstance(description["config"], dict) else {}
        self.world = str(_table(config, "world").get("name", "unknown"))
        self.iterations = int(_number(_table(config, "run").get("iterations")) or 0)
        self.followers = {name: Follower(folder / f"{name}.jsonl") for name in STREAMS}

    def look(self, now: float | None = None) -> Snapshot:
        """`now`: seconds since 1970."""
        now = time.time() if now is None else now
        lines = {name: follower.look() for name, follower in self.followers.items()}
        rows = {name: found.records for name, found in lines.items()}
        beat = rows["heartbeat"][-1] if rows["heartbeat"] else {}
        age_s = None if _seconds(beat) is None else max(0.0, now - (_seconds(beat) or 0.0))
        status, why = status_of(rows["events"], beat, age_s, self.folder)
        newest = rows["metrics"][-1] if rows["metrics"] else {}
        iteration = int(_number(newest.get("iteration")) or 0)
        per_s = _iterations_per_s(rows["timing"])
        end = planned_iterations(self.iterations, rows["events"])
        return Snapshot(
            run=self.folder.resolve().name,
            world=self.world,
            status=status,
            why=why,
            phase=beat.get("phase"),
            iteration=iteration,
            iterations=end,
            agent_steps=int(_number(newest.get("agent_steps")) or 0),
            agent_steps_per_s=_speed(rows["timing"]),
            left_s=(end - iteration) / per_s if per_s and status not in ENDED else None,
            idle_s=_number(beat.get("idle_s")),
            beat_age_s=age_s,
            score=_score(rows["metrics"]),
            training={name: value for name, value in newest.items() if _number(value) is not None},
            time_shares=_time_shares(rows["timing"]),
            resources=rows["resources"][-1] if rows["resources"] else {},
            workers=worker_story(rows["workers"]),
            hints=[
                f"iteration {e.get('iteration')}: {e.get('text')}" for e in rows["events"] if e.get("event") == "hint"
            ][-3:],
            events=rows["events"][-SHOWN_EVENTS:],
            torn_last_lines=sum(found.torn_last for found in lines.values()),
            damage=[place for found in lines.values() for place in found.damaged],
        )


def planned_iterations(configured: int, events: Rows) -> int:
    """How many there will be as far as a run has decided: a pair of self-play may be given further rounds, or learn on
    where it had finished."""
    longer = [int(_number(e.get("until")) or 0) for e in events if e.get("event") in ("round", "unfinished")]
    return max([configured, *longer])


def status_of(events: Rows, beat: dict[str, Any], age_s: float | None, folder: Path) -> tuple[str, str]:
    """How the run stands, and what says so."""
    kinds = [event.get("event") for event in events if event.get("event") in (*BEGUN, *ENDED)]
    if kinds and kinds[-1] in ENDED:
        return str(kinds[-1]), "its last event"
    if age_s is None:
        if is_locked(folder):
            return ("running" if kinds else "starting"), "a process here holds its lock"
        return ("killed", "it began and wrote no end") if kinds else ("starting", "nothing was written yet")
    patience_s = max(LEAST_SILENCE_S, MISSED_BEATS * (_number(beat.get("every_s")) or 0.0))
    if beat.get("host") == socket.gethostname() and not psutil.pid_exists(int(_number(beat.get("pid")) or 0)):
        return "killed", f"process {beat.get('pid')} is gone and wrote no end"
    if age_s > patience_s:
        return "silent", f"no heartbeat for {age_s:.0f} s, and one was due every {beat.get('every_s')} s"
    return "running", f"heartbeat {age_s:.0f} s ago"


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float | None:
    """A finite number, or nothing: streams may hold what others wrote."""
    return value if type(value) in (int, float) and abs(value) < 1e300 else None


def _seconds(line: dict[str, Any]) -> float | None:
    """When a line was written, in seconds since 1970."""
    try:
        moment, fraction = str(line["time"]).rstrip("Z").split(".")
        return calendar.timegm(time.strptime(moment, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction}")
    except (KeyError, ValueError):
        return None


def _speed(timing: Rows) -> float | None:
    found = [_number(row.get("agent_steps_per_s")) for row in timing[-RATE_ROWS:]]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def _iterations_per_s(timing: Rows) -> float | None:
    """Over the newest rows of one process: a resume starts its clock anew."""
    rows = timing[-RATE_ROWS:]
    times = [_number(row.get("elapsed_s")) for row in rows]
    pairs = [(a, b) for a, b in pairwise(times) if a is not None and b is not None and b > a]
    return len(pairs) / sum(b - a for a, b in pairs) if pairs else None


def _score(metrics: Rows) -> dict[str, float]:
    for row in reversed(metrics):
        if _number(row.get("evaluation.score")) is not None:
            names = ("iteration", "evaluation.score", "evaluation.score_low", "evaluation.score_high")
            return {name: row[name] for name in names if _number(row.get(name)) is not None}
    return {}


def _time_shares(timing: Rows) -> dict[str, float]:
    sums: dict[str, float] = {}
    for row in timing[-RATE_ROWS:]:
        for name, value in row.items():
            if name.startswith("phase.") and _number(value) is not None:
                phase = name.removeprefix("phase.").removesuffix("_s")
                sums[phase] = sums.get(phase, 0.0) + value
    total = sum(sums.values()) or 1.0
    return {name: spent / total for name, spent in sorted(sums.items(), key=lambda item: -item[1])}

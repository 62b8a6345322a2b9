"""How a run stands, from the ends of its streams alone: what the table of runs shows of it.

Each file of a run gives its facts by itself, and is read again only when it changed, and then only its last part.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from itertools import pairwise
from typing import Any, NamedTuple

from holdfast.views.dashboard.columns import as_number, parsed, seconds
from holdfast.views.dashboard.folder import Folder

WHOLE = ("finished", "solved", "converged", "unstable")  # how a run comes to an end by itself
ENDED = (*WHOLE, "interrupted", "failed", "killed")
BEGUN = ("started", "resumed")
LIVE = ("running", "starting", "stalled")
MISSED_BEATS, LEAST_SILENCE_S, STALL_S = 3, 10.0, 120.0
RATE_ROWS = 20
END_BYTES, WIDER_BYTES = 16_384, 4_000_000  # of a stream: looked at first, and where that does not have it
RUN_BYTES, RESULT_BYTES, NOTES_BYTES = 4_000_000, 4_000_000, 65_536
TOLD = re.compile(rb'"event": ?"(started|resumed|finished|solved|converged|unstable|interrupted|failed|killed)"')
UNTIL = re.compile(rb'"until": ?(\d{1,12})')
SCORE = b'"evaluation.score"'

Facts = dict[str, Any]


class Beat(NamedTuple):
    """The newest sign of life."""

    at_s: float
    every_s: float
    idle_s: float
    host: str
    pid: int
    phase: str


# --- what each file says ---------------------------------------------------------------------------------------------


def read_description(folder: Folder) -> Facts:
    """Of run.json: what the run is."""
    content = folder.read("run.json", RUN_BYTES)
    found = parsed(content) if content is not None else None
    config = found.get("config") if found else None
    if found is None or not isinstance(config, dict):
        return {"broken": "run.json cannot be read"}
    world, run = _table(config, "world"), _table(config, "run")
    return {
        "format": found.get("format"),
        "preset": str(found.get("preset") or "")[:200],
        "created": seconds(found.get("created")),
        "world": str(world.get("name") or "unknown")[:200],
        "seed": as_number(run.get("seed")),
        "planned": as_number(run.get("iterations")) or 0,
        "stall_s": as_number(_table(config, "metrics").get("stall_s")) or STALL_S,
        "run_id": str(found.get("id") or ""),
        "copied": _copied(found.get("lineage")),
        "config": {name: section for name, section in config.items() if isinstance(section, dict)},
    }


def _copied(lineage: object) -> Facts | None:
    """Of which run it is a copy, at which iteration, and what was changed: as the last line of its lineage says."""
    last = lineage[-1] if isinstance(lineage, list) and lineage else None
    if not isinstance(last, dict):
        return None
    changes = {
        str(name)[:100]: pair[-1] for name, pair in _table(last, "changes").items() if isinstance(pair, list) and pair
    }
    told = {name: str(last.get(name) or "")[:200] for name in ("run", "id")}
    return {**told, "iteration": int(as_number(last.get("iteration")) or 0), "changes": changes}


def read_events(folder: Folder) -> Facts:
    """Of events.jsonl: how it last began or ended, and until when it has been prolonged."""
    for most_bytes in (END_BYTES, WIDER_BYTES):
        content = folder.read_end("events.jsonl", most_bytes)
        found = _last_told(content)
        if found or len(content) < most_bytes // 2:
            break
    until = max((int(number) for number in UNTIL.findall(content)), default=0)
    return {"event": found.get("event"), "event_at": seconds(found.get("time")), "until": until}


def _last_told(content: bytes) -> Facts:
    end = content.rfind(b"\n")
    while end > 0:
        begin = content.rfind(b"\n", 0, end) + 1
        line = content[begin:end]
        if TOLD.search(line[:200]):
            return parsed(line) or {}
        end = begin - 1
    return {}


def read_heartbeat(folder: Folder) -> Facts:
    line = _last_line(folder.read_end("heartbeat.jsonl", 4096))
    at_s = seconds(line.get("time"))
    if at_s is None:
        return {"beat": None}
    every, idle, pid = (as_number(line.get(name)) or 0.0 for name in ("every_s", "idle_s", "pid"))
    return {"beat": Beat(at_s, every, idle, str(line.get("host")), int(pid), str(line.get("phase")))}


def read_metrics(folder: Folder) -> Facts:
    """Of metrics.jsonl: how far it came, and the last evaluation."""
    content = folder.read_end("metrics.jsonl", END_BYTES)
    line = _last_line(content)
    if SCORE not in content:
        content = folder.read_end("metrics.jsonl", WIDER_BYTES)
        line = line or _last_line(content)
    found = {name: as_number(line.get(name)) or 0 for name in ("iteration", "agent_steps")}
    place = content.rfind(SCORE)
    if place >= 0:
        end = content.find(b"\n", place)
        judged = parsed(content[content.rfind(b"\n", 0, place) + 1 : end if end >= 0 else len(content)]) or {}
        ends = ("evaluation.score", "evaluation.score_low", "evaluation.score_high")
        return {**found, "evaluated": [as_number(judged.get(name)) for name in ends]}
    return found


def read_timing(folder: Folder) -> Facts:
    """Of timing.jsonl: speed and iterations per second over the newest rows of one process."""
    rows = [parsed(line) for line in folder.read_end("timing.jsonl", END_BYTES).split(b"\n")[-RATE_ROWS - 1 : -1]]
    known = [row for row in rows if row]
    speeds = [speed for speed in (as_number(row.get("agent_steps_per_s")) for row in known) if speed is not None]
    times = [as_number(row.get("elapsed_s")) for row in known]
    steps = [b - a for a, b in pairwise(times) if a is not None and b is not None and b > a]
    return {
        "speed": sum(speeds) / len(speeds) if speeds else None,
        "iterations_per_s": len(steps) / sum(steps) if steps else None,
    }


def read_result(folder: Folder) -> Facts:
    """Of result.json: the last word on a run that ended."""
    content = folder.read("result.json", RESULT_BYTES)
    found = (parsed(content) if content is not None else None) or {}
    learned = _table(_table(found, "scores"), "learned")
    scores = [as_number(learned.get(name)) for name in ("mean", "low", "high")]
    return {"final": scores if scores[0] is not None else None, "mean_speed": as_number(found.get("agent_steps_per_s"))}


def read_notes(folder: Folder) -> Facts:
    """Of notes.json: what people wrote down about the run."""
    content = folder.read("notes.json", NOTES_BYTES)
    found = (parsed(content) if content is not None else None) or {}
    tags = found.get("tags")
    return {
        "tags": [str(tag)[:60] for tag in tags[:20]] if isinstance(tags, list) else [],
        "notes": str(found.get("notes") or "")[:20_000],
    }


FILES = {
    "run.json": read_description,
    "events.jsonl": read_events,
    "heartbeat.jsonl": read_heartbeat,
    "metrics.jsonl": read_metrics,
    "timing.jsonl": read_timing,
    "result.json": read_result,
    "notes.json": read_notes,
}


# --- what they say together ------------------------------------------------------------------------------------------


def status_of(facts: Facts, now: float, is_held: bool) -> tuple[str, str]:
    """How the run stands, and what says so. `is_held`: a process of this machine holds its lock."""
    if "broken" in facts:
        return "unreadable", facts["broken"]
    event, beat = facts.get("event"), facts.get("beat")
    if event in ENDED:
        return str(event), "its last event"
    if beat is None:
        if is_held:
            return ("running" if event else "starting"), "a process here holds its lock"
        return ("killed", "it began and wrote no end") if event else ("never started", "no process holds its lock")
    if beat.host == socket.gethostname() and not _is_alive(beat.pid):
        return "killed", f"process {beat.pid} is gone and wrote no end"
    if now - beat.at_s > max(LEAST_SILENCE_S, MISSED_BEATS * beat.every_s):
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(beat.at_s))
        return "stalled", f"no heartbeat since {since} UTC, and one was due every {beat.every_s:.0f} s"
    if beat.idle_s > facts.get("stall_s", STALL_S):
        return "stalled", f"in phase {beat.phase} without a sign of progress for {beat.idle_s:.0f} s"
    return "running", f"heartbeat every {beat.every_s:g} s"


def is_held(folder: Folder) -> bool:
    """Does a process of this machine hold the run's lock?"""
    try:
        with folder.file("lock") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ValueError):
        return False
    return False


def row_of(facts: Facts, status: str, why: str) -> Facts:
    """What the table of runs shows, without the texts that only the page of the run needs."""
    score, low, high = facts.get("final") or facts.get("evaluated") or (None, None, None)
    iteration, planned = facts.get("iteration", 0), max(facts.get("planned", 0), facts.get("until", 0))
    rate = facts.get("iterations_per_s")
    beat = facts.get("beat")
    return {
        "status": status,
        "why": why,
        "world": facts.get("world", ""),
        "preset": facts.get("preset", ""),
        "seed": facts.get("seed"),
        "iteration": iteration,
        "iterations": planned,
        "agent_steps": facts.get("agent_steps", 0),
        "score": score,
        "low": low,
        "high": high,
        "final": facts.get("final") is not None,
        "speed": facts.get("speed") if status in LIVE else facts.get("mean_speed") or facts.get("speed"),
        "left_s": (planned - iteration) / rate if rate and status == "running" and planned > iteration else None,
        "created": facts.get("created"),
        "phase": beat.phase if beat and status in LIVE else None,
        "tags": facts.get("tags", []),
        "notes": facts.get("notes", "")[:300],
    }


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return pid > 0


def _last_line(content: bytes) -> Facts:
    """The newest whole line."""
    end = content.rfind(b"\n")
    begin = content.rfind(b"\n", 0, max(0, end)) + 1
    return parsed(content[begin:end]) or {} if end >= 0 else {}


def _table(found: Facts, name: str) -> Facts:
    inside = found.get(name)
    return inside if isinstance(inside, dict) else {}

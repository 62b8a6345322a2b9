"""Everything the page of one run shows beside its curves, as plain JSON: read from its files, told in words."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from holdfast.views.dashboard.columns import as_number, parsed
from holdfast.views.dashboard.folder import Folder
from holdfast.views.dashboard.run_data import RunData
from holdfast.views.dashboard.standing import RUN_BYTES, Facts
from holdfast.views.event_words import told

MEDIA = {".mp4": "video/mp4", ".gif": "image/gif", ".png": "image/png"}
SHOWN_EVENTS, SHOWN_EVALUATIONS, SHOWN_DECISIONS, SHOWN_MEDIA, SHOWN_CHECKPOINTS = 500, 200, 200, 200, 200
EVALUATION_BYTES, DECISION_BYTES, SMALL_BYTES = 32_000_000, 8_000_000, 1_000_000
ROUTINE = ("evaluation", "checkpoint")
SUMMARY = ("mean", "low", "high", "worst", "episodes")


def details_of(data: RunData) -> Facts:
    """All sections that need the streams; curves are asked for on their own."""
    data.look("metrics", "timing", "events", "resources")
    return {
        "events": events_of(data.events),
        "hints": hints_of(data.events),
        "evaluations": evaluations_of(data),
        "times": time_shares(data),
        "machine": machine_of(data),
        "damage": damage_of(data),
        "rows": data.columns["metrics"].rows,
        "begun": len([event for event in data.events if event.get("event") == "resumed"]),
    }


def events_of(events: list[Facts]) -> list[Facts]:
    """The newest, newest first; neighbouring routine ones taken together."""
    found: list[Facts] = []
    for event in events:
        kind = str(event.get("event", "?"))[:100]
        row = {"kind": kind, "time": str(event.get("time", ""))[:30], "iteration": as_number(event.get("iteration")),
               "words": told(event), "count": 1}  # fmt: skip
        if kind in ROUTINE and found and found[-1]["kind"] == kind == "checkpoint":
            found[-1] = {**row, "count": found[-1]["count"] + 1}
        else:
            found.append(row)
    return found[-SHOWN_EVENTS:][::-1]


def hints_of(events: list[Facts]) -> list[Facts]:
    """The newest of each name."""
    newest = {str(event.get("name")): event for event in events if event.get("event") == "hint"}
    return [
        {"name": name[:100], "iteration": as_number(event.get("iteration")), "words": told(event)}
        for name, event in list(newest.items())[-20:]
    ]


def evaluations_of(data: RunData) -> Facts:
    """Scores during the run, yardsticks on the same episodes, and the last word on held-out ones."""
    columns = data.columns["metrics"]
    rows: list[Facts] = []
    if "evaluation.score" in columns and "iteration" in columns:
        names = [name for name in columns.names if name.startswith("evaluation.")]
        for place in np.flatnonzero(np.isfinite(columns["evaluation.score"]))[-SHOWN_EVALUATIONS:][::-1]:
            values = {name.removeprefix("evaluation."): as_number(float(columns[name][place])) for name in names}
            rows.append({"iteration": as_number(float(columns["iteration"][place])), **values})
    return {
        "rows": rows,
        "yardsticks": judged(data.folder, "yardsticks"),
        "final": judged(data.folder, "final"),
    }


def judged(folder: Folder, name: str) -> Facts | None:
    """Scores by policy of one file of `evals/`."""
    found = _object(folder, f"evals/{name}.json", EVALUATION_BYTES)
    policies = found.get("policies")
    if not isinstance(policies, dict):
        return None
    scores = {}
    for who, policy in list(policies.items())[:50]:
        summary = policy.get("summary") if isinstance(policy, dict) else None
        numbers = {key: as_number(summary.get(key)) for key in SUMMARY} if isinstance(summary, dict) else {}
        if numbers.get("mean") is not None:
            scores[str(who)[:100]] = numbers
    return {"iteration": as_number(found.get("iteration")), "score": str(found.get("score", "score"))[:60],
            "policies": scores}  # fmt: skip


def time_shares(data: RunData) -> list[Facts]:
    """Seconds per phase of the loop, longest first."""
    columns = data.columns["timing"]
    spent = {
        name.removeprefix("phase.").removesuffix("_s"): float(np.nansum(columns[name]))
        for name in columns.names
        if name.startswith("phase.")
    }
    total = sum(spent.values()) or 1.0
    ordered = sorted(spent.items(), key=lambda item: -item[1])
    return [{"phase": name, "seconds": round(value, 3), "share": value / total} for name, value in ordered if value > 0]


def machine_of(data: RunData) -> Facts:
    """The newest sample of processor, memory and disk."""
    columns = data.columns["resources"]
    if not columns.rows:
        return {}
    return {name: number for name in columns.names if (number := as_number(float(columns[name][-1]))) is not None}


def damage_of(data: RunData) -> list[str]:
    """What could not be read, in words."""
    found = [f"{name}.jsonl: {columns.damaged} lines cannot be read"
             for name, columns in data.columns.items() if columns.damaged]  # fmt: skip
    found += [f"{name}.jsonl: its first {count / 1e6:,.0f} MB are not shown" for name, count in data.left_out.items()
              if count]  # fmt: skip
    if data.damaged_events:
        found.append(f"events.jsonl: {data.damaged_events} lines cannot be read")
    return found


# --- files that are whole --------------------------------------------------------------------------------------------


def decisions_of(folder: Folder) -> list[Facts]:
    """What the gate decided, each time with its evidence, newest first."""
    lines = folder.read_end("gate_debug.jsonl", DECISION_BYTES).splitlines()[-SHOWN_DECISIONS:]
    found = [_decision(record) for record in map(parsed, lines) if record is not None]
    return found[::-1]


def _decision(record: Facts) -> Facts:
    level = record.get("level")
    criteria = record.get("criteria")
    wanted = ("name", "role", "op", "value", "threshold", "margin", "verdict", "window", "samples")
    return {
        "iteration": as_number(record.get("iteration")),
        "type": _text(record.get("type")),
        "event": _text(record.get("event")),
        "because": _text(record.get("because"), 1000),
        "before": as_number(level.get("before")) if isinstance(level, dict) else None,
        "after": as_number(level.get("after")) if isinstance(level, dict) else None,
        "criteria": [
            {key: _plain(test.get(key)) for key in wanted}
            for test in (criteria if isinstance(criteria, list) else [])[:50]
            if isinstance(test, dict) and test.get("verdict") != "off"
        ],
    }


def media_of(folder: Folder) -> list[Facts]:
    """Finished pictures and videos, newest first; hidden ones are still being written."""
    inside = folder.below("media")
    found: list[Facts] = []
    for item in inside.items():
        stamp = inside.stamp(item.name) if item.is_file and kind_of_medium(item.name) else None
        if stamp is not None:
            found.append({"name": item.name, "bytes": stamp.size, "at": stamp.mtime_ns / 1e9,
                          "kind": kind_of_medium(item.name)})  # fmt: skip
    return sorted(found, key=lambda one: (-one["at"], one["name"]))[:SHOWN_MEDIA]


def kind_of_medium(name: str) -> str:
    """Its type as a browser wants it; empty for everything that is not shown."""
    ending = name[name.rfind(".") :].lower()
    return "" if name.startswith(".") else MEDIA.get(ending, "")


def checkpoints_of(folder: Folder) -> list[Facts]:
    """Those that are there, newest first, and what each is."""
    inside = folder.below("checkpoints")
    marks: dict[str, list[str]] = {}
    items = inside.items()
    for item in items:
        if item.is_file and item.name in ("best", "best-worst", "latest"):
            pointed = (inside.read(item.name, 100) or b"").decode("ascii", "replace").strip()
            marks.setdefault(pointed, []).append(item.name)
    names = sorted((item.name for item in items if item.is_folder and item.name.isdecimal()), key=int, reverse=True)
    return [_checkpoint(inside.below(name), name, marks.get(name, [])) for name in names[:SHOWN_CHECKPOINTS]]


def _checkpoint(folder: Folder, name: str, marks: list[str]) -> Facts:
    meta = _object(folder, "meta.json", SMALL_BYTES)
    told = meta.get("identity")
    identity: Facts = told if isinstance(told, dict) else {}
    sizes = [stamp.size for item in folder.items() if item.is_file and (stamp := folder.stamp(item.name)) is not None]
    return {"name": name, "marks": marks, "bytes": sum(sizes), "created": _text(identity.get("created"), 30),
            "reason": _text(identity.get("reason"), 40), "parent": _text(identity.get("parent"), 40)}  # fmt: skip


def origin_of(folder: Folder) -> Facts:
    """Enough to make the run again."""
    found = _object(folder, "run.json", RUN_BYTES)
    command, versions = found.get("command"), found.get("versions")
    changes = found.get("changes")
    return {
        "command": shlex.join(map(str, command[:200])) if isinstance(command, list) else "",
        "created": _text(found.get("created"), 40),
        "holdfast": _text(found.get("holdfast"), 40),
        "git": _text(found.get("git"), 80),
        "versions": {str(k)[:40]: str(v)[:40] for k, v in versions.items()} if isinstance(versions, dict) else {},
        "changes": [str(change)[:300] for change in changes[:50]] if isinstance(changes, list) else [],
        "format": _plain(found.get("format")),
    }


def _object(folder: Folder, place: str, most_bytes: int) -> Facts:
    content = folder.read(place, most_bytes)
    return (parsed(content) if content is not None else None) or {}


def _text(value: object, most: int = 200) -> str:
    return value[:most] if isinstance(value, str) else "" if value is None else str(value)[:most]


def _plain(value: object) -> Any:
    """A number or a short text, so that nothing in an answer is larger than expected."""
    number = as_number(value)
    return number if number is not None else None if value is None else str(value)[:100]

"""What a checkpoint's JSON may say: checked for type and range before any of it is used.

Checksums tell damage from what was written, not what a run writes from what an editor did. What is missing is told by
whoever needs it.
"""

from __future__ import annotations

import math
from typing import Any

LARGEST = 1 << 53  # of a count: beyond, a float would round it
COUNTS = ("iteration", "agent_steps", "episodes", "best_iteration")
COUNTERS = ("iteration", "iterations", "lane_steps", "agent_steps", "frames", "episodes", "rollout_steps", "lanes")
TIMES = ("wall_s", "cpu_s")


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < LARGEST and math.isfinite(value)


def problems_of(name: str, facts: dict[str, Any], meta: dict[str, Any]) -> list[str]:
    """What cannot be true in the facts and metadata of the checkpoint of this name."""
    problems = [
        f"{table} is not a table"
        for table in ("counts", "streams", "advice", "curriculum")
        if not isinstance(facts.get(table, {}), dict)
    ]
    problems += [
        f"{table} of its metadata is not a table"
        for table in ("identity", "counters", "world", "model", "software", "audit")
        if not isinstance(meta.get(table, {}), dict)
    ]
    return problems or [*_counts(name, facts.get("counts", {})), *_positions(facts), *_metadata(meta)]


def _counts(name: str, counts: dict[str, Any]) -> list[str]:
    problems = [
        f"counts.{key} = {_short(counts[key])}" for key in COUNTS if key in counts and not is_count(counts[key])
    ]
    if "best_score" in counts and counts["best_score"] is not None and not is_number(counts["best_score"]):
        problems.append(f"counts.best_score = {_short(counts['best_score'])}")
    if not isinstance(counts.get("solved", False), bool):
        problems.append(f"counts.solved = {_short(counts['solved'])}")
    if not problems and "iteration" in counts and name.isdecimal() and counts["iteration"] != int(name):
        problems.append(f"counts.iteration = {counts['iteration']} in a checkpoint called {name}")
    if not problems and counts.get("best_iteration", 0) > counts.get("iteration", LARGEST):
        problems.append(f"counts.best_iteration = {counts['best_iteration']} lies after it")
    return problems


def _positions(facts: dict[str, Any]) -> list[str]:
    return [
        f"{table}.{_short(key)} = {_short(value)}"
        for table in ("streams", "advice")
        for key, value in facts.get(table, {}).items()
        if not is_count(value)
    ]


def _metadata(meta: dict[str, Any]) -> list[str]:
    counters, world = meta.get("counters", {}), meta.get("world", {})
    problems = [
        f"{key} of its metadata = {_short(counters[key])}"
        for key in COUNTERS
        if counters.get(key) is not None and not is_count(counters[key])
    ]
    problems += [
        f"{key} of its metadata = {_short(counters[key])}"
        for key in TIMES
        if counters.get(key) is not None and not (is_number(counters[key]) and counters[key] >= 0)
    ]
    if not isinstance(world.get("identity", {}), dict):
        problems.append("world.identity of its metadata is not a table")
    return problems


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."

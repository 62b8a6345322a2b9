"""The list of runs: what each is, how far it came, and whether it is still going."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.text import Text

from holdfast.kit.errors import HoldfastError
from holdfast.runs.find import find_runs
from holdfast.runs.folder import WHOLE, RunFolder, all_runs, is_locked
from holdfast.runs.reading import read_lines
from holdfast.runs.snapshot import planned_iterations
from holdfast.views.words import visible


def status_of(folder: Path) -> str:
    """As its last event says. Its process may still hold the lock when it has ended, to film or to write a report."""
    last = [record["event"] for record in read_lines(folder / "events.jsonl") if "event" in record]
    ended = [event for event in last if event in (*WHOLE, "interrupted", "failed", "started", "resumed")]
    if is_locked(folder) and not (ended and ended[-1] not in ("started", "resumed") and _is_at_rest(folder)):
        return "running"
    if not ended:
        return "never started"
    return "killed" if ended[-1] in ("started", "resumed") else ended[-1]


def _is_at_rest(folder: Path) -> bool:
    """Does no process beat any more? One that resumes the run beats before it tells of its beginning."""
    beats = read_lines(folder / "heartbeat.jsonl")
    return not beats or beats[-1].get("phase") == "ended"


def describe(run: RunFolder) -> dict[str, Any]:
    try:
        config = run.describe()["config"]
        world, total = config["world"]["name"], config["run"]["iterations"]
    except (HoldfastError, KeyError, TypeError):
        return {"run": run.name, "status": "unreadable run.json"}
    metrics = read_lines(run.folder / "metrics.jsonl")
    scores = [record["evaluation.score"] for record in metrics if "evaluation.score" in record]
    return {
        "run": run.name,
        "world": world,
        "status": status_of(run.folder),
        "iteration": metrics[-1]["iteration"] if metrics else 0,
        "iterations": planned_iterations(total, read_lines(run.folder / "events.jsonl")),
        "agent_steps": metrics[-1]["agent_steps"] if metrics else 0,
        "last_score": scores[-1] if scores else None,
        "best_score": max(scores) if scores else None,
    }


def list_runs(root: str, as_json: bool, word: str | None = None) -> int:
    """All runs of a folder, or those at any depth below it that a word fits."""
    if word is None:
        found = [describe(run) for run in all_runs(root)]
    else:
        found = [{**describe(run), "run": str(run.folder.relative_to(root))} for run in find_runs(word, root)]
    if as_json:
        print(json.dumps(found))
        return 0
    if not found:
        about = "" if word is None else f" that {word!r} fits"
        print(f"no runs in {root}/{about}; start one with: holdfast train template")
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("run", "world", "status", "iteration", "agent-steps", "last score", "best score")
    for row in found:
        if "world" not in row:
            table.add_row(_cell(row["run"]), "", row["status"], "", "", "", "")
            continue
        scores = ["" if row[key] is None else f"{row[key]:.4g}" for key in ("last_score", "best_score")]
        of = f"{row['iteration']}/{row['iterations']}"
        table.add_row(_cell(row["run"]), _cell(row["world"]), row["status"], of, f"{row['agent_steps']:,}", *scores)
    Console().print(table)
    return 0


def _cell(text: object) -> Text:
    """As it is: neither markup nor escape sequences of a foreign file do anything."""
    return Text(visible(text))

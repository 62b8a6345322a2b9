"""Several runs side by side: groups folded over their seeds, what their configurations differ in, and what matters.

Everything is a function of the rows and configurations that the table of runs has; nothing is read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.views.dashboard.columns import as_number
from holdfast.views.dashboard.folds import fold
from holdfast.views.dashboard.index import Entry
from holdfast.views.dashboard.standing import Facts
from holdfast.views.dashboard.wording import as_text

NOT_COMPARED = ("run.name", "run.root", "run.seed", "run.tensorboard", "run.allow_slow")  # runs of a group may differ
NOT_LEARNED_FROM = ("metrics.", "checkpoint.", "memory.")  # sections that change neither learning nor score
MOST_RUNS, MOST_DIFFERENCES = 2000, 200
FEWEST_FOR_IMPORTANCE = 4
MOST_TOLD = 4  # options that the label of a group names


def options_of_entry(entry: Entry) -> dict[str, Any]:
    return {
        f"{section}.{key}": value
        for section, options in entry.facts.get("config", {}).items()
        for key, value in options.items()
    }


def group_key(entry: Entry, by: str = "") -> str:
    """Runs with the same key differ in nothing but their seed, or have the same value of one option or field."""
    if by:
        value = entry.row.get(by) if "." not in by else options_of_entry(entry).get(by)
        return as_text(value)
    compared = {name: value for name, value in options_of_entry(entry).items() if _is_compared(name)}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()[:12]


def groups_of(entries: Sequence[Entry], by: str = "") -> list[Facts]:
    """Groups in the order of their first run, each with its seeds folded into one score."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if "config" in entry.facts:
            found.setdefault(group_key(entry, by), []).append(entry)
    labels = dict.fromkeys(found, "") if by else _labels(found)
    return [_group(key, members, labels[key] or key) for key, members in found.items()]


def _is_compared(name: str) -> bool:
    return name not in NOT_COMPARED and not name.startswith(NOT_LEARNED_FROM)


def _group(key: str, members: list[Entry], label: str) -> Facts:
    scores = [entry.row["score"] for entry in members if entry.row.get("score") is not None]
    statuses: dict[str, int] = {}
    for entry in members:
        statuses[entry.row["status"]] = statuses.get(entry.row["status"], 0) + 1
    return {
        "key": key,
        "label": label,
        "runs": [entry.id for entry in members],
        "statuses": statuses,
        "preset": members[0].row["preset"],
        "world": members[0].row["world"],
        "best": max(scores, default=None),
        "agent_steps": max((entry.row["agent_steps"] for entry in members), default=0),
        "fold": fold(scores).to_json() if scores else None,
    }


def _labels(groups: dict[str, list[Entry]]) -> dict[str, str]:
    """The preset, and the options that tell the groups of one preset apart."""
    beside: dict[str, list[str]] = {}
    for key, members in groups.items():
        beside.setdefault(members[0].row["preset"] or members[0].row["world"], []).append(key)
    found = {}
    for preset, keys in beside.items():
        telling = differences([groups[key][0] for key in keys])[:MOST_TOLD]
        for place, key in enumerate(keys):
            words = [f"{one['name'].rpartition('.')[2]}={one['values'][place]}" for one in telling]
            found[key] = " ".join([preset, *words])
    return found


def differences(entries: Sequence[Entry]) -> list[Facts]:
    """Options in which the runs differ, with the value of each; names and seeds are not counted."""
    tables = [options_of_entry(entry) for entry in entries]
    names = dict.fromkeys(name for table in tables for name in table if _is_compared(name))
    found = []
    for name in names:
        values = [as_text(table[name]) if name in table else None for table in tables]
        if len(set(values)) > 1:
            found.append({"name": name, "values": values, "numbers": [as_number(table.get(name)) for table in tables]})
    return found[:MOST_DIFFERENCES]


def importance(entries: Sequence[Entry]) -> list[Facts]:
    """How much of the spread of scores each option explains by itself (0 to 1), largest first.

    Numbers by the squared rank correlation, or by their groups' means where those explain more; texts by their groups'
    means. Options that changed together cannot be told apart by this.
    """
    judged = [entry for entry in entries if entry.row.get("score") is not None]
    if len(judged) < FEWEST_FOR_IMPORTANCE:
        return []
    scores = np.array([entry.row["score"] for entry in judged], dtype=np.float64)
    if np.ptp(scores) == 0.0:
        return []
    found = []
    for difference in differences(judged):
        numbers = difference["numbers"]
        share = explained(difference["values"], scores)
        if all(number is not None for number in numbers):
            ranked = np.corrcoef(ranks(np.array(numbers)), ranks(scores))[0, 1]
            share = max(share, float(ranked**2)) if np.isfinite(ranked) else share
        found.append({"name": difference["name"], "share": share, "values": len(set(difference["values"]))})
    return sorted(found, key=lambda one: -one["share"])


def explained(values: Sequence[Any], scores: np.ndarray) -> float:
    """Share of the variance that groups of equal values explain, corrected for their number (omega squared)."""
    groups: dict[Any, list[float]] = {}
    for value, score in zip(values, scores, strict=True):
        groups.setdefault(value, []).append(score)
    count, kinds = len(scores), len(groups)
    if count <= kinds:
        return 0.0
    total = float(((scores - scores.mean()) ** 2).sum())
    within = float(sum(((np.array(group) - np.mean(group)) ** 2).sum() for group in groups.values()))
    noise = within / (count - kinds)
    return max(0.0, (total - within - (kinds - 1) * noise) / (total + noise))


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: np.ndarray = ((last - counts + last - 1) / 2)[inverse]
    return found


def lineage(entries: Sequence[Entry]) -> list[Facts]:
    """Which run went on from which: a member of a population from a copy, or any run from another one's weights."""
    by_path = {str(entry.folder.path): entry.id for entry in entries}
    by_id = {entry.facts.get("run_id"): entry.id for entry in entries}
    found = []
    for entry in entries:
        copied, init = entry.facts.get("copied"), options_of_entry(entry).get("run.init")
        if copied:
            changes = ", ".join(f"{name} {as_text(value)}" for name, value in copied["changes"].items())
            words = f"at iteration {copied['iteration']}" + (f", with {changes}" if changes else "")
            found.append({"run": entry.id, "parent": by_id.get(copied["id"]), "init": copied["run"], "words": words})
        elif isinstance(init, str) and init:
            parent = next((name for path, name in by_path.items() if path.endswith(init.rstrip("/"))), None)
            found.append({"run": entry.id, "parent": parent, "init": init[:300], "words": "with its weights"})
    return found

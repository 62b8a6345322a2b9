"""The page of a study, read from its folder alone: progress, queue, failures with their tracebacks, best so far.

`trials.jsonl` is appended to: the last line of a trial is how it stands.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from holdfast.views.dashboard.columns import as_number, parsed
from holdfast.views.dashboard.compare import differences, importance, lineage
from holdfast.views.dashboard.folder import Folder
from holdfast.views.dashboard.index import Entry
from holdfast.views.dashboard.standing import Facts
from holdfast.views.dashboard.wording import as_text

RUNS = "runs"  # folder below a study
STATES = ("waiting", "running", "done", "pruned", "failed", "lost")
TRIAL_BYTES, STUDY_BYTES, TRACEBACK_BYTES = 64_000_000, 1_000_000, 65_536
MOST_TRIALS, SHOWN_FAILURES = 5000, 50


def trials_of(folder: Folder) -> list[Facts]:
    """How each trial stands, in the order of their numbers."""
    newest: dict[str, Facts] = {}
    for line in folder.read_end("trials.jsonl", TRIAL_BYTES).split(b"\n")[:-1]:
        found = parsed(line)
        if found is not None and "trial" in found and len(newest) < MOST_TRIALS:
            newest[str(found["trial"])] = {**newest.get(str(found["trial"]), {}), **found}
    return sorted(newest.values(), key=lambda trial: (as_number(trial.get("trial")) or 0.0, str(trial.get("trial"))))


def settings_of(folder: Folder) -> Facts:
    """study.toml; empty where it cannot be read."""
    content = folder.read("study.toml", STUDY_BYTES)
    try:
        return tomllib.loads((content or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return {}


def is_lower_better(settings: Facts) -> bool:
    """As its goal says, which is written max:NAME or min:NAME, at any depth of the file."""
    goal = settings.get("goal")
    if isinstance(goal, str):
        return goal.startswith("min")
    return any(is_lower_better(inside) for inside in settings.values() if isinstance(inside, dict))


def headline(name: str, folder: Folder) -> Facts:
    trials = trials_of(folder)
    best = best_of(trials, is_lower_better(settings_of(folder)))
    return {"id": name, "counts": counts_of(trials), "trials": len(trials), "best": best["score"] if best else None}


def counts_of(trials: list[Facts]) -> dict[str, int]:
    found = {state: sum(trial.get("state") == state for trial in trials) for state in STATES}
    return {state: count for state, count in found.items() if count}


def best_of(trials: list[Facts], lower: bool) -> Facts | None:
    judged = [trial for trial in trials if trial.get("state") == "done" and as_number(trial.get("score")) is not None]
    return (min if lower else max)(judged, key=lambda trial: float(trial["score"]), default=None)


def study_page(name: str, folder: Folder, entries: Mapping[str, Entry]) -> Facts:
    trials, settings = trials_of(folder), settings_of(folder)
    lower = is_lower_better(settings)
    best = best_of(trials, lower)
    rows = [_row(trial, name, entries) for trial in trials]
    members = [entries[row["run"]] for row in rows if row["run"]]
    found, by = importance_of(trials, lower), "Optuna's estimate over the finished trials"
    if not found:
        found, by = importance(members), "share of the spread of scores that each option explains by itself"
    below = [entry for entry in entries.values() if entry.id.startswith(f"{name}/{RUNS}/")]
    return {
        "id": name,
        "lineage": lineage(below),
        "settings": _flat(settings),
        "counts": counts_of(trials),
        "trials": rows,
        "best": _row(best, name, entries) if best else None,
        "lower": lower,
        "failures": [_failure(trial, folder) for trial in trials if trial.get("state") == "failed"][-SHOWN_FAILURES:],
        "differences": differences(members)[:40],
        "importance": found,
        "importance_by": by,
        "damaged": not settings,
    }


def _row(trial: Facts, study: str, entries: Mapping[str, Entry]) -> Facts:
    """One trial with how far its run came, where that can be seen."""
    entry = _entry_of(trial, study, entries)
    options = trial.get("options")
    shown = (
        {str(key)[:100]: as_text(value)[:100] for key, value in options.items()} if isinstance(options, dict) else {}
    )
    state = trial.get("state")
    return {
        "trial": as_text(trial.get("trial"))[:40],
        "state": state if state in STATES else "unknown",
        "seed": as_number(trial.get("seed")),
        "tries": as_number(trial.get("tries")),
        "generation": as_number(trial.get("generation")),
        "elapsed_s": as_number(trial.get("elapsed_s")),
        "score": as_number(trial.get("score")),
        "reason": str(trial.get("reason") or "")[:500],
        "options": shown,
        "run": entry.id if entry else None,
        "iteration": entry.row["iteration"] if entry else None,
        "iterations": entry.row["iterations"] if entry else None,
        "left_s": entry.row["left_s"] if entry else None,
    }


def _entry_of(trial: Facts, study: str, entries: Mapping[str, Entry]) -> Entry | None:
    """The trial's run, by the last part of the place it names."""
    for place in (trial.get("run"), trial.get("trial")):
        last = str(place).rstrip("/").rpartition("/")[2] if isinstance(place, (str, int)) else ""
        found = entries.get(f"{study}/{RUNS}/{last}") if last else None
        if found is not None and found.row:
            return found
    return None


def _failure(trial: Facts, folder: Folder) -> Facts:
    told = trial.get("traceback")
    return {"trial": as_text(trial.get("trial"))[:40], "reason": str(trial.get("reason") or "")[:1000],
            "traceback": _traceback(told, folder) if isinstance(told, str) else ""}  # fmt: skip


def _traceback(told: str, folder: Folder) -> str:
    """The text itself, or that of a file below the study."""
    if "\n" in told:
        return told[-TRACEBACK_BYTES:]
    place = told.removeprefix(f"{folder.path}/")
    try:
        return folder.read_end(place, TRACEBACK_BYTES).decode("utf-8", "replace")
    except ValueError:
        return ""


def importance_of(trials: list[Facts], lower: bool) -> list[Facts]:
    """Optuna's importance of options, where Optuna is installed and enough trials are done."""
    judged = [trial for trial in trials if trial.get("state") == "done" and as_number(trial.get("score")) is not None
              and isinstance(trial.get("options"), dict)]  # fmt: skip
    names = [name for name in (judged[0]["options"] if judged else {}) if _varies(name, judged)]
    if len(judged) < 8 or not names:
        return []
    try:
        import optuna
    except ImportError:
        return []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made: Any = optuna.create_study(direction="minimize" if lower else "maximize")
    spans = {name: _span(optuna, [trial["options"][name] for trial in judged]) for name in names}
    for trial in judged:
        params = {name: _value(trial["options"][name]) for name in names}
        made.add_trial(optuna.trial.create_trial(params=params, distributions=spans, value=float(trial["score"])))
    found = optuna.importance.get_param_importances(made, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    return [{"name": str(name), "share": float(share), "values": len({as_text(trial["options"][name])
             for trial in judged})} for name, share in found.items()]  # fmt: skip


def _varies(name: str, judged: list[Facts]) -> bool:
    return (
        all(name in trial["options"] for trial in judged)
        and len({as_text(trial["options"][name]) for trial in judged}) > 1
    )


def _value(value: Any) -> Any:
    number = as_number(value)
    return number if number is not None else as_text(value)


def _span(optuna: Any, values: list[Any]) -> Any:
    numbers = [as_number(value) for value in values]
    known = [number for number in numbers if number is not None]
    if len(known) == len(values):
        return optuna.distributions.FloatDistribution(min(known), max(known))
    return optuna.distributions.CategoricalDistribution(sorted({as_text(value) for value in values}))


def _flat(settings: Facts, front: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{front}{key}.")
        else:
            found[f"{front}{key}"] = (value if isinstance(value, str) else str(value))[:300]
    return found

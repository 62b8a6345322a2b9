"""The checkpoint verbs: what they found, as a table or as JSON, and whether all was well."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.runs.backfill import Backfill
from holdfast.runs.checkpoint_tools import Verdict, inspect, prune, verify
from holdfast.runs.folder import find_run

BELONGS = {  # option: the action it goes with
    "checkpoint": ("inspect",),
    "keep": ("prune",),
    "budget_mb": ("prune",),
    "dry_run": ("prune", "backfill"),
    "assume_rollout_steps": ("backfill",),
    "update_if_lower": ("backfill",),
    "no_backup": ("backfill",),
}


def checkpoint_tool(arguments: argparse.Namespace) -> int:
    """Exit status 1 when something is damaged or could not be repaired."""
    _refuse_idle(arguments)
    if arguments.action == "backfill":
        return _told(_backfill(arguments), arguments.json)
    run = find_run(arguments.target, arguments.root)
    if arguments.action == "inspect":
        _show(inspect(run, arguments.checkpoint or "latest"), arguments.json)
        return 0
    if arguments.action == "verify":
        return _told(verify(run), arguments.json)
    run.lock()  # a run prunes its own checkpoints while it goes on
    try:
        return _told(prune(run, arguments.keep, arguments.budget_mb, arguments.dry_run), arguments.json)
    finally:
        run.unlock()


def _refuse_idle(arguments: argparse.Namespace) -> None:
    problems = [
        f"--{name.replace('_', '-')} goes with checkpoint {' and '.join(actions)}, not with {arguments.action}"
        for name, actions in BELONGS.items()
        if getattr(arguments, name) not in (None, False) and arguments.action not in actions
    ]
    for name in ("keep", "budget_mb", "assume_rollout_steps"):
        value = getattr(arguments, name)
        if value is not None and not value >= 1:
            problems.append(f"--{name.replace('_', '-')} {value:g}: must be at least 1")
    if problems:
        raise ConfigError(problems)


def _backfill(arguments: argparse.Namespace) -> list[Verdict]:
    places = [Path(arguments.root) / arguments.target, Path(arguments.target)]
    place = next((place for place in places if place.is_dir()), None)
    if place is None:
        raise UnknownName(f"no folder {places[0]} or {places[1]}")
    return Backfill(
        rollout_steps=arguments.assume_rollout_steps or 64,
        update_if_lower=arguments.update_if_lower,
        backup=not arguments.no_backup,
        dry_run=arguments.dry_run,
    ).below(place)


def _told(verdicts: list[Verdict], as_json: bool) -> int:
    if as_json:
        print(json.dumps([verdict._asdict() for verdict in verdicts]))
    else:
        for verdict in verdicts:
            print(f"{'ok     ' if verdict.good else 'DAMAGED'} {verdict.name}  {verdict.text}")
        if not verdicts:
            print("nothing found")
    return 0 if all(verdict.good for verdict in verdicts) else 1


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    print(f"{found['checkpoint']}  {found['bytes']:,} bytes, all as its checksums say")
    for group, content in found["meta"].items():
        print(f"{group}:")
        for name, value in content.items():
            print(f"  {name}: {json.dumps(value)}")
    if not found["meta"]:
        print("no metadata: written by an older version; holdfast checkpoint backfill can add them")
    print("arrays:")
    for name, array in found["arrays"].items():
        print(f"  {name}: {array['dtype']}{array['shape']}, {array['bytes']:,} bytes")

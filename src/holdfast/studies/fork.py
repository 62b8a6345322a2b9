"""Begin a run as the copy of another at its newest checkpoint, with other rates: the copy goes on, the other stays.

Without changes the copy's end has the same bytes as the other's. What may change is what can change in a run that goes
on without making it another: free options and the learner's rates.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.config.sections import options_known, to_json
from holdfast.kit.errors import ConfigError, RunExists
from holdfast.runs.checkpoint import sync_folder
from holdfast.runs.folder import RUN_FILE, RunFolder
from holdfast.runs.heartbeat import utc
from holdfast.runs.reopen import config_of, config_to_resume
from holdfast.studies.checks import is_rate
from holdfast.studies.options import words_of
from holdfast.studies.piece import saved_iteration

LEFT_BEHIND = ("lock", "result.json", "report.html", "pruned.json", "tensorboard", "media", "latest.parquet")


def fork(parent: Path, folder: Path, changes: Mapping[str, Any]) -> RunFolder:
    """Make the run `folder`, in one move: it is whole or not there."""
    if folder.exists():
        raise RunExists(f"run {folder.name} exists in {folder.parent}: fork to another name")
    source = RunFolder(parent)
    known = options_known(config_of(source))
    fixed = [name for name in changes if name not in known or not is_rate(name, known[name])]
    if fixed:
        raise ConfigError(
            [f"{name} cannot change in a fork: only free options and the learner's rates" for name in fixed]
        )
    aside = folder.with_name(f".forking-{folder.name}")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(parent, aside, ignore=shutil.ignore_patterns(*LEFT_BEHIND, ".*"))
    _describe(aside, source, folder, dict(changes))
    sync_folder(aside)
    os.rename(aside, folder)
    sync_folder(folder.parent)
    return RunFolder(folder)


def _describe(aside: Path, source: RunFolder, folder: Path, changes: dict[str, Any]) -> None:
    """run.json of the copy: its own name and options, and whose copy it is."""
    run, description = RunFolder(aside), source.describe()
    now = {name: value for name, value in changes.items() if _value(description, name) != value}
    config = config_to_resume(source, words_of(now), False, list(now)).config
    lineage = [
        *description.get("lineage", []),
        {
            "run": source.name,
            "id": description.get("id"),
            "iteration": saved_iteration(source.folder),
            "time": utc(),
            "changes": {name: [_value(description, name), value] for name, value in now.items()},
        },
    ]
    table = to_json(config)
    table["run"] |= {"name": folder.name, "root": str(folder.parent)}
    (aside / RUN_FILE).unlink()
    run.write_description({**description, "id": uuid.uuid4().hex, "config": table, "lineage": lineage})


def _value(description: Mapping[str, Any], name: str) -> Any:
    section, _, key = name.partition(".")
    return description["config"][section].get(key)

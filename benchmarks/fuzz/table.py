"""Rows of results with what they were made by: commit, date, machine and package versions."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from holdfast.kit.disk import replace_file
from holdfast.runs.folder import PACKAGES, _version, git_commit


def about() -> dict[str, Any]:
    return {
        "commit": git_commit(),
        "date": time.strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def add_rows(path: Path, rows: list[dict[str, Any]], key: tuple[str, ...]) -> None:
    """Rows of the same key take the place of earlier ones."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    new = {tuple(row[name] for name in key) for row in rows}
    kept = [row for row in old if tuple(row.get(name) for name in key) not in new]
    ordered = sorted([*kept, *rows], key=lambda row: [str(row[name]) for name in key])
    replace_file(path, (json.dumps(ordered, indent=1) + "\n").encode())

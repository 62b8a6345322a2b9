"""Finding runs by a word, anywhere below a folder, and choosing the one to go on with, with the reasons told.

Only `--find` searches like this: a plain `resume` never picks a run by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.config.sections import CheckpointConfig
from holdfast.kit.errors import CheckpointError, HoldfastError, UnknownName
from holdfast.runs.checkpoint import Checkpoints
from holdfast.runs.folder import RUN_FILE, WHOLE, RunFolder, is_locked
from holdfast.runs.plain_files import is_plain
from holdfast.runs.reading import read_lines

MOST_RUNS = 10_000


class Candidate(NamedTuple):
    """A run that the word fits, and why it cannot be resumed, if so."""

    run: RunFolder
    iteration: int
    saved_at: float  # of its newest whole checkpoint, seconds since 1970
    refused: str  # empty: it can be resumed


def run_folders(root: Path) -> Iterator[Path]:
    """Run folders at any depth, never through links; a run's own folders are not searched."""
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        if RUN_FILE in files and is_plain(Path(place) / RUN_FILE):
            yield Path(place)
            folders.clear()
            count += 1
            if count == MOST_RUNS:
                return


def find_runs(word: str, root: str) -> list[RunFolder]:
    """Runs whose path below the root, preset or world has the word in it, oldest first."""
    found = [
        RunFolder(folder) for folder in run_folders(Path(root)) if _fits(RunFolder(folder), word.lower(), Path(root))
    ]
    return sorted(found, key=lambda run: ((run.folder / RUN_FILE).lstat().st_mtime, str(run.folder)))


def _fits(run: RunFolder, word: str, root: Path) -> bool:
    if word in str(run.folder.relative_to(root)).lower():
        return True
    try:
        description = run.describe()
        return word in f"{description.get('preset')} {description['config']['world']['name']}".lower()
    except (HoldfastError, KeyError, TypeError):
        return False


def run_to_resume(word: str, root: str) -> tuple[RunFolder, list[str]]:
    """The run with the newest whole checkpoint among those that are neither finished nor in use, and the reasons."""
    candidates = [_candidate(run) for run in find_runs(word, root)]
    fit = sorted((one for one in candidates if not one.refused), key=lambda one: (one.saved_at, one.iteration))
    passed = [f"{one.run.folder}: {one.refused}" for one in candidates if one.refused]
    if not fit:
        reasons = "; ".join(passed) or f"no run below {root}/ has it in its path, preset or world"
        raise UnknownName(f"--find {word}: nothing to resume: {reasons}")
    chosen = fit[-1]
    others = [f"passed over {text}" for text in passed] + [f"{one.run.folder} is older" for one in fit[:-1]]
    why = f"--find {word} chose {chosen.run.folder} at iteration {chosen.iteration}: its checkpoint is the newest"
    return chosen.run, [why, *others]


def _candidate(run: RunFolder) -> Candidate:
    try:
        total = int(run.describe()["config"]["run"]["iterations"])
        if is_locked(run.folder):
            return Candidate(run, 0, 0.0, "in use by another process")
        if (run.folder / "result.json").is_file() and _ended(run.folder):
            return Candidate(run, total, 0.0, "finished")
        saved, _ = Checkpoints(run.folder / "checkpoints", CheckpointConfig()).load_latest()
    except CheckpointError as error:
        return Candidate(run, 0, 0.0, str(error))
    except (HoldfastError, KeyError, TypeError, ValueError):
        return Candidate(run, 0, 0.0, f"its {RUN_FILE} cannot be read")
    if int(saved.name) >= total:
        return Candidate(run, total, 0.0, f"all of its {total} iterations are done")
    place = run.folder / "checkpoints" / saved.name
    return Candidate(run, int(saved.name), place.stat().st_mtime, "")


def _ended(folder: Path) -> bool:
    kinds = [record.get("event") for record in read_lines(folder / "events.jsonl")]
    return bool(kinds) and kinds[-1] in WHOLE

"""`doctor backends`: trials of every backend and fault drills, as a table with intervals, medians and slowest cases."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from holdfast.kit.errors import ConfigError, MissingPackage, nearest
from holdfast.kit.intervals import wilson
from holdfast.worlds.workers.drills import FAULTS, PLACES, Drilled, drill
from holdfast.worlds.workers.settings import WorkerSettings
from holdfast.worlds.workers.trials import PHASES, Trial, backends, missing, trials

DRILLS = "drills"
HEAD = f"{'backend':<9}{'success':>10}{'95 % interval':>16}" + "".join(f"{phase + ' s':>16}" for phase in PHASES)


def doctor_backends(arguments: argparse.Namespace) -> int:
    """Exit status 0 when every trial and every drill succeeded."""
    chosen, before = _chosen(arguments), _done(arguments)
    with tempfile.TemporaryDirectory(prefix="holdfast-trials-") as folder, _rows(arguments) as rows:
        table = {name: _tried(name, arguments, before, Path(folder), rows) for name in chosen if name != DRILLS}
        drilled = _drilled(Path(folder) / DRILLS, arguments.json) if DRILLS in chosen else []
    if arguments.json:
        print(json.dumps({"backends": table, "drills": [one._asdict() for one in drilled]}))
    good = all(row["ok"] == row["trials"] for row in table.values()) and all(one.recovered for one in drilled)
    return 0 if good else 1


def _chosen(arguments: argparse.Namespace) -> list[str]:
    known = [*backends(), DRILLS]
    names = [name.strip() for name in arguments.only.split(",") if name.strip()] or known
    numbers = {"--trials": arguments.trials, "--lanes": arguments.lanes, "--steps": arguments.steps}
    numbers["--parallel"] = arguments.parallel
    problems = [f"{option} {value}: must be at least 1" for option, value in numbers.items() if value < 1]
    problems += [
        f"--only: no {name!r}{nearest(name, known)}; there are {', '.join(known)}"
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)
    for name in names:
        if name != DRILLS and (package := missing(name)):
            raise MissingPackage(f"backend {name} needs {package}: pip install {package}, or leave it out with --only")
    return names


def _rows(arguments: argparse.Namespace) -> IO[str]:
    path = arguments.rows or "/dev/null"
    try:
        return open(path, "a" if arguments.resume else "w")
    except OSError as error:
        raise ConfigError([f"--rows {path}: {error.strerror}"]) from error


def _done(arguments: argparse.Namespace) -> list[Trial]:
    """The trials that --resume goes on from: whole lines of the file, made with the same numbers."""
    if not arguments.resume:
        return []
    if not arguments.rows:
        raise ConfigError(["--resume goes on with the trials of a file: name it with --rows"])
    try:
        lines = Path(arguments.rows).read_text(encoding="utf-8").splitlines() if Path(arguments.rows).exists() else []
        found = [Trial(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError([f"--rows {arguments.rows} cannot be resumed: {error}"]) from error
    wanted = (arguments.lanes, arguments.steps)
    other = {(trial.lanes, trial.steps) for trial in found} - {wanted}
    if other:
        lanes, steps = min(other)
        raise ConfigError([f"--rows {arguments.rows} has trials of --lanes {lanes} --steps {steps}: give the same"])
    return found


def _tried(
    name: str, arguments: argparse.Namespace, before: list[Trial], folder: Path, rows: IO[str]
) -> dict[str, Any]:
    settings = WorkerSettings(start_parallel=arguments.parallel)
    done = [trial for trial in before if trial.backend == name][: arguments.trials]
    numbers = range(len(done), arguments.trials)
    for trial in trials(name, numbers, arguments.lanes, arguments.steps, settings, folder):
        done.append(trial)
        rows.write(json.dumps(trial._asdict()) + "\n")
        rows.flush()
        if trial.ok:
            shutil.rmtree(folder / f"{name}-{trial.trial:04d}")
        else:
            print(f"{name} trial {trial.trial} failed in {trial.phase}: {trial.error}", file=sys.stderr)
    row = summary_of(done)
    if not arguments.json:
        print(
            HEAD if name == next(iter(backends())) or arguments.only else "", line_of(name, row), sep="\n", flush=True
        )
    return row


def summary_of(done: list[Trial]) -> dict[str, Any]:
    """Success with its interval, and median and 99th percentile of every phase over the trials that succeeded."""
    good = [trial for trial in done if trial.ok]
    low, high = wilson(len(good), len(done))
    phases = {phase: _spread(trial.seconds[phase] for trial in good) for phase in PHASES}
    frames = [trial.frames_per_s for trial in good]
    speed = float(np.median(frames)) if frames else 0.0
    return {"trials": len(done), "ok": len(good), "low": low, "high": high, "seconds": phases, "frames_per_s": speed}


def _spread(values: Iterable[float]) -> dict[str, float]:
    found = list(values)
    if not found:
        return {}
    return {"median": float(np.median(found)), "p99": float(np.percentile(found, 99))}


def line_of(name: str, row: dict[str, Any]) -> str:
    spreads = "".join(
        f"{spread['median']:>8.3f} /{spread['p99']:>6.2f}" if spread else f"{'-':>16}"
        for spread in row["seconds"].values()
    )
    success = f"{row['ok']}/{row['trials']}"
    return f"{name:<9}{success:>10}{row['low']:>9.3f}-{row['high']:.3f} {spreads}"


def _drilled(folder: Path, quiet: bool) -> list[Drilled]:
    found = []
    for place in PLACES:
        for fault in FAULTS:
            one = drill(place, fault, folder / f"{place}-{fault}")
            found.append(one)
            if not quiet:
                verdict = "recovered" if one.recovered else "FAILED   "
                print(f"{verdict} {fault} in {place}: {one.seconds:.2f} s ({one.detail})", flush=True)
    return found

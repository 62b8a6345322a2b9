"""A piece of a trial: what one worker process does of it, and what the run's folder then says about it.

A worker is told everything in one JSON word, so that it can be started here or on another machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.runs.folder import RUN_FILE
from holdfast.runs.reading import read_lines
from holdfast.studies.options import words_of
from holdfast.studies.plan import FIRST_UNPRUNED, Goal
from holdfast.studies.trials import DONE, FAILED, PRUNED

REACHED = "reached"  # a piece is over, its run is not
PRUNED_FILE = "pruned.json"
EXIT_REACHED, EXIT_PRUNED = 10, 11  # of a worker, beside those of the command


@dataclass(frozen=True)
class Bounds:
    """Where a run ends early: at an evaluation by which its best is worse than the median of earlier trials there."""

    direction: str
    measure: str
    medians: dict[str, float]  # by iteration

    @property
    def column(self) -> str:
        return f"evaluation.{self.measure}"

    def verdict(self, curve: Mapping[int, float]) -> dict[str, Any] | None:
        """The first evaluation at which the run is to end, with the evidence; None: it goes on."""
        goal, best = Goal(self.direction, self.measure), None
        for iteration in sorted(curve):
            value = curve[iteration]
            best = value if best is None or goal.better(value, best) else best
            median = self.medians.get(str(iteration))
            if median is not None and goal.better(median, best):
                return {"iteration": iteration, "measure": self.measure, "best": best, "median": median, "last": value}
        return None


def medians_of(curves: list[dict[int, float]]) -> dict[str, float]:
    """The median over completed trials at each iteration that any of them was evaluated at; none while too few are
    complete. As Optuna's MedianPruner has it, which a test compares it with."""
    if len(curves) < FIRST_UNPRUNED:
        return {}
    moments = sorted({iteration for curve in curves for iteration in curve})
    return {str(at): float(np.median([curve[at] for curve in curves if at in curve])) for at in moments}


@dataclass(frozen=True)
class Piece:
    """What a worker is told."""

    trial: int
    target: str
    options: dict[str, Any]  # all of them, the study's too
    seed: int
    root: str  # the folder of runs
    run: str
    threads: int
    until: int | None = None  # iteration to stop after
    bounds: Bounds | None = None

    @property
    def folder(self) -> Path:
        return Path(self.root) / self.run

    def words(self) -> list[str]:
        """The options of the command that makes this run."""
        own = {"run.seed": self.seed, "run.root": self.root, "run.name": self.run}
        threads = {} if "rollout.threads" in self.options else {"rollout.threads": self.threads}
        return words_of({**self.options, **threads, **own})

    def moved(self, root: Path) -> Piece:
        return replace(self, root=str(root))

    def as_word(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_word(word: str) -> Piece:
        table = json.loads(word)
        bounds = table.pop("bounds")
        return Piece(**table, bounds=None if bounds is None else Bounds(**bounds))

    def command(self) -> list[str]:
        return [sys.executable, "-m", "holdfast.studies.worker", self.as_word()]


# --- what a run's folder says ----------------------------------------------------------------------------------------


class Standing(NamedTuple):
    """How far a piece came, as its folder tells."""

    state: str | None  # done, pruned, failed or reached; None: it has to go on
    outcome: str = ""
    reason: str = ""


def standing(piece: Piece) -> Standing:
    """Read from the folder alone, so that it is the same whoever worked on it, and whenever."""
    ended = read_table(piece.folder / PRUNED_FILE)
    if ended:
        return Standing(PRUNED, PRUNED, pruned_text(ended))
    result = read_table(piece.folder / "result.json")
    outcome = str(result.get("outcome", "interrupted"))
    if outcome == "unstable":
        return Standing(FAILED, outcome, "unstable: its roles kept falling back")
    if outcome != "interrupted":
        return Standing(DONE, outcome)
    if piece.until is not None and saved_iteration(piece.folder) >= piece.until:
        return Standing(REACHED)
    return Standing(None)


def pruned_text(ended: Mapping[str, Any]) -> str:
    return (
        f"at iteration {ended['iteration']}: best {ended['measure']} {ended['best']:.4g}, median {ended['median']:.4g}"
    )


def saved_iteration(folder: Path) -> int:
    """Of the newest checkpoint; 0 without any."""
    try:
        return int((folder / "checkpoints/latest").read_text())
    except (OSError, ValueError):
        return 0


def read_table(path: Path) -> dict[str, Any]:
    """A JSON object, or an empty one where there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def exists(folder: Path) -> bool:
    return (folder / RUN_FILE).is_file()


def curve_of(folder: Path, measure: str) -> dict[int, float]:
    """A measure at each evaluation of a run, by iteration."""
    column = f"evaluation.{measure}"
    rows = read_lines(folder / "metrics.jsonl")
    return {int(row["iteration"]): float(row[column]) for row in rows if column in row}


def final_score(folder: Path, measure: str) -> float:
    """A measure of a whole run: of its evaluation on held-out episodes."""
    from holdfast.studies.recorded import read_run

    run = read_run(folder)
    if isinstance(run, str):
        raise ValueError(f"{folder}: {run}")
    return run.measure(measure)


def pruned_score(folder: Path) -> float:
    """What a pruned run had at its last evaluation."""
    return float(read_table(folder / PRUNED_FILE)["last"])

"""Studies that are over in seconds, and what must be equal of two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.studies.study import Study
from holdfast.studies.trials import Trial

SMALL: dict[str, Any] = {
    "rollout.lanes": 16,
    "rollout.steps": 8,
    "learner.minibatch": 64,
    "run.iterations": 4,
    "run.stop_score": "none",
    "run.tensorboard": False,
    "evaluation.every": 2,
    "evaluation.episodes": 8,
    "evaluation.final_episodes": 8,
    "checkpoint.every": 1,
    "metrics.parquet": False,
}


def small_study(root: Path, name: str = "s", **changes: Any) -> Study:
    options = {**SMALL, **changes.pop("options", {})}
    return Study(name, target="template", **{"seeds": (1, 2), "options": options, "root": root, **changes})


def run_bytes(folder: Path) -> tuple[bytes, ...]:
    """The last checkpoint's arrays (weights, optimiser, world, generators), the metrics and the evaluations."""
    latest = (folder / "checkpoints/latest").read_text().strip()
    files = [f"checkpoints/{latest}/state.safetensors", "metrics.jsonl", "episodes.jsonl"]
    files += [f"evals/{path.name}" for path in sorted((folder / "evals").glob("[0-9f]*.json"))]  # not the yardsticks
    return tuple((folder / file).read_bytes() for file in files)


def scores(trials: list[Trial]) -> list[tuple[Any, ...]]:
    """What is decided by the study's options and seed."""
    return [(one.trial, one.target, one.options, one.seed, one.run, one.state, one.score) for one in trials]


def study_bytes(study: Study) -> dict[str, tuple[bytes, ...]]:
    return {trial.run: run_bytes(study.folder.runs / trial.run) for trial in study.table().trials}

"""Run folders with known results, as a finished run leaves them behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_run(
    folder: Path,
    seed: int,
    score: float,
    curve: Sequence[float] = (),
    outcome: str = "finished",
    **options: Any,
) -> Path:
    """`options`: as section__name; the curve is evaluated at iterations 10, 20 and so on, of 100 agent-steps each."""
    folder.mkdir(parents=True)
    config: dict[str, dict[str, Any]] = {
        "world": {"name": "template", "size": 5},
        "learner": {"lr": 0.001},
        "run": {"seed": seed, "name": folder.name, "root": str(folder.parent), "iterations": 30},
        "rollout": {"threads": seed},
        "checkpoint": {"every": seed},
    }
    for name, value in options.items():
        section, _, key = name.partition("__")
        config.setdefault(section, {})[key] = value
    (folder / "run.json").write_text(json.dumps({"format": 1, "preset": "template", "config": {"format": 1, **config}}))
    if outcome == "killed":
        return folder
    result = {
        "outcome": outcome,
        "score_name": "return",
        "scores": {"learned": {"mean": score}},
        "counts": {"iteration": 30, "agent_steps": 3000},
        "elapsed_s": 1.5,
    }
    (folder / "result.json").write_text(json.dumps(result))
    episodes = {"lane": [0, 1], "return": [score, score], "length": [10.0, 20.0]}
    final = {"iteration": 30, "score": "return", "policies": {"learned": {"summary": {}, "episodes": episodes}}}
    (folder / "evals").mkdir()
    (folder / "evals/final.json").write_text(json.dumps(final))
    rows, times = [], []
    for iteration in range(1, 31):
        row = {"iteration": iteration, "agent_steps": 100 * iteration}
        if iteration % 10 == 0 and curve:
            row |= {"evaluation.score": curve[iteration // 10 - 1], "evaluation.length": 7.0}
        rows.append(json.dumps(row))
        times.append(json.dumps({"iteration": iteration, "phase.learn_s": 0.5, "phase.collect_s": 0.5}))
    (folder / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "timing.jsonl").write_text("\n".join(times) + "\n")
    return folder

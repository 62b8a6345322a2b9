"""Options with which a run of any small world takes a moment."""

from __future__ import annotations

from typing import Any

TINY: dict[str, Any] = {
    "rollout.lanes": 16,
    "rollout.steps": 8,
    "rollout.threads": 1,
    "learner.minibatch": 64,
    "run.iterations": 2,
    "run.stop_score": None,
    "run.tensorboard": False,
    "evaluation.every": 2,
    "evaluation.episodes": 8,
    "evaluation.final_episodes": 8,
    "checkpoint.every": 1,
}

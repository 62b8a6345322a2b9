"""Every kind of sight, action and memory really learns, on environments whose best return is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import finished_run

COMMON = {
    "rollout.lanes": "32",
    "rollout.steps": "32",
    "learner.minibatch": "256",
    "learner.lr": "3e-3",
    "evaluation.every": "0",
    "evaluation.final_episodes": "40",
    "run.iterations": "20",
}
BEST = 8.0  # eight questions, one point each

CASES = {
    "images": ("Lamp", {"policy.hidden": "32"}, 7.6),
    "continuous": ("Dial", {"policy.initial_log_std": "-0.7", "run.iterations": "40"}, 7.6),
    "multi-discrete": ("Switches", {}, 7.6),
    "memory": ("Recall", {"policy.core": "gru", "policy.core_size": "16", "policy.hidden": "16"}, 7.6),
    "long memory": (
        "Recall",
        {
            "policy.core": "lstm",
            "policy.core_size": "16",
            "policy.hidden": "16",
            "learner.lr": "1e-2",
            "run.iterations": "30",
        },
        7.6,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_learns(tmp_path: Path, case: str) -> None:
    name, options, goal = CASES[case]
    _, result = finished_run(tmp_path, f"tests.small_envs:{name}", **{**COMMON, **options})
    assert result.scores["random"].mean < goal - 1.5
    assert goal <= result.scores["learned"].mean <= BEST


def test_without_memory_recall_cannot_be_solved(tmp_path: Path) -> None:
    """After the first sight all look alike: whatever such a policy does, it is right in half of the seven that follow,
    4.5 of 8 on average; 6.5 is three and a half deviations of the mean of 40 episodes away."""
    _, result = finished_run(tmp_path, "tests.small_envs:Recall", **COMMON)
    assert result.scores["learned"].mean < 6.5


def test_cartpole_is_solved(tmp_path: Path) -> None:
    options = {"rollout.lanes": "64", "rollout.steps": "64", "learner.minibatch": "512", "run.iterations": "15"}
    _, result = finished_run(
        tmp_path, "gym:CartPole-v1", **{**options, "evaluation.every": "0", "rollout.threads": "2"}
    )
    assert result.scores["learned"].mean >= 475


def test_cartpole_is_solved_by_v_trace_that_replays_and_overlaps(tmp_path: Path) -> None:
    """With one epoch, as lagged batches need. Solved means as soon as it is: seeds 0 to 5 need 10 to 14 iterations."""
    options = {"rollout.lanes": "64", "rollout.steps": "64", "learner.minibatch": "256", "run.iterations": "80"}
    ways = {"learner.algorithm": "vtrace", "learner.replay": "true", "rollout.overlap": "true", "rollout.threads": "2"}
    pace = {"learner.epochs": "1", "learner.lr": "3e-4"}
    judged = {"evaluation.every": "2", "evaluation.episodes": "20", "run.stop_score": "475"}
    _, result = finished_run(tmp_path, "gym:CartPole-v1", **{**options, **ways, **pace, **judged})
    assert result.outcome == "solved"
    assert result.scores["learned"].mean >= 475, "on episodes it was never judged by"


def test_the_school_learns_to_survive(tmp_path: Path) -> None:
    """A short version of `benchmarks/fish_seeds.py fish`: a million fish-steps already beat every constant action."""
    options = {
        "rollout.lanes": "64",
        "rollout.steps": "64",
        "rollout.threads": "2",
        "learner.minibatch": "10240",
        "learner.lr": "2e-3",
        "evaluation.every": "0",
        "evaluation.final_episodes": "20",
        "run.iterations": "16",
        "world.fish": "25",
        "world.steps": "120",  # in so short a run, shorter episodes teach too little of what comes later
        "schedule.phases": "25:100%",
        "gate.phase_allowance": "1",
    }
    _, result = finished_run(tmp_path, "fish", **options)
    constant = max(result.scores[name].mean for name in ("forward", "turn", "brake", "keep"))
    assert result.scores["learned"].low > constant + 0.03

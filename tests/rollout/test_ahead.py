"""Collecting behind the learner's back: the same bytes as one after the other, the lag it says, and no lost errors."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
import torch

from holdfast.kit.errors import NonFinite
from holdfast.kit.timing import Clock
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.rollout.ahead import share_threads
from holdfast.runs.metrics import read_lines
from holdfast.state import initial_state
from tests.conftest import finished_run, small_config
from tests.test_resume import end_of

CASES = {
    "template": ("template", {}),
    "template v-trace": ("template", {"learner.algorithm": "vtrace", "learner.engine": "torch"}),
    "fish": (
        "fish",
        {
            "world.fish": "6",
            "world.steps": "20",
            "rollout.lanes": "8",
            "evaluation.world": "{}",
            "schedule.phases": "4:50%,6:50%",
            "gate.phase_allowance": "1,2",
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_overlapped_equals_one_after_the_other_with_the_same_lag(tmp_path: Path, case: str) -> None:
    target, options = CASES[case]
    options = {**options, "rollout.lag": "1", "rollout.threads": "2"}
    ends = [
        end_of(finished_run(tmp_path, target, **options, **{"rollout.overlap": word})[0]) for word in ("true", "false")
    ]
    assert ends[0] == ends[1]
    without, _ = finished_run(tmp_path, target, **{**options, "rollout.lag": "0"})
    assert end_of(without)[1] != ends[0][1]


def test_the_policy_that_acts_is_the_one_of_one_update_ago() -> None:
    options = {"rollout.overlap": "true", "learner.lr": "0.05", "learner.normalize_observations": "false"}
    config = small_config(**options)
    state, clock = initial_state(config), Clock()
    state.seat.open(config.rollout)
    learner = state.learners["player"]
    weights = [learner.optimizer.parameters.clone()]
    for number in range(3):
        state.seat.collect(clock)
        batch = state.seat.batches["player"]
        actor = initial_state(config).learners["player"]
        actor.optimizer.parameters.copy_(weights[max(0, number - 1)])  # the first two rollouts have no older policy
        said = actor.policy.head.evaluate(
            actor.ask(batch.obs.flatten(0, 1), torch.zeros(0), torch.zeros(0)).actions,
            actor.policy.extra,
            batch.actions.flatten(),
        )[0]
        assert torch.allclose(said, batch.log_prob.flatten(), atol=1e-5)
        update(learner, batch, pace(config.learner, number, 9), state.shuffle)
        state.seat.settle(clock)
        weights.append(learner.optimizer.parameters.clone())
    state.seat.close()
    assert not torch.allclose(weights[0], weights[1], atol=1e-3)


def test_an_exception_in_the_thread_is_raised_with_its_own_traceback(tmp_path: Path) -> None:
    options = {"world.poison": "20", "run.name": "poisoned", "rollout.overlap": "true", "checkpoint.every": "1"}
    with pytest.raises(NonFinite, match="pennies: the reward of seeker") as caught:
        finished_run(tmp_path, "tests.two_roles:Pennies", **options)
    assert "refuse_non_finite" in "".join(traceback.format_exception(caught.value))
    # steps 17 to 24 are the third rollout, collected during the second update: the first one is safe on disk
    assert (tmp_path / "poisoned/checkpoints/latest").read_text().strip() == "000001"
    assert read_lines(tmp_path / "poisoned/events.jsonl")[-1]["error"] == "NonFinite"


def test_threads_are_shared_out_and_torch_gets_the_same_with_and_without_overlap() -> None:
    def of(**options: str) -> tuple[int, int, int]:
        return tuple(share_threads(small_config(**{"rollout.threads": "2", **options}).rollout))

    assert of() == (2, 2, 2)
    assert of(**{"rollout.overlap": "true"}) == (1, 1, 1)
    assert of(**{"rollout.lag": "1"}) == (2, 1, 1)


def test_phases_behind_the_learner_are_told_apart(tmp_path: Path) -> None:
    run, result = finished_run(tmp_path, **{"rollout.overlap": "true"})
    line = read_lines(run.folder / "timing.jsonl")[-1]
    assert {"phase.overlapped_act_s", "phase.overlapped_world_s", "phase.wait_s", "phase.learn_s"} <= line.keys()
    assert 0.99 < sum(result.phases.values()) < 1.01

"""Changes at resume, by name: what was learned goes on, lanes begin anew where they must, and it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.kit.errors import CheckpointError, ConfigError
from holdfast.runs.checkpoint import Checkpoints
from holdfast.runs.reading import read_lines
from holdfast.runs.reopen import config_to_resume, keep_changed_config
from holdfast.train import resume
from holdfast.views.terminal import Quiet
from tests.test_resume import stopped_run

FEWER = ["--rollout.lanes", "8"]


def test_fewer_lanes_go_on_with_what_was_learned_and_say_so(tmp_path: Path) -> None:
    run, _ = stopped_run(tmp_path, "template", 2)
    before = Checkpoints(run.folder / "checkpoints", config_to_resume(run, [], False).config.checkpoint).load_latest()[
        0
    ]
    config, notes, fresh_lanes = config_to_resume(run, [*FEWER, "--world.slip", "0.1"], False, ["lanes", "world"])
    assert fresh_lanes and notes[-1].endswith("because of rollout.lanes, world.slip")
    keep_changed_config(run, config, notes)
    assert resume(config, run, Quiet(), notes, fresh_lanes).outcome == "finished"
    after = Checkpoints(run.folder / "checkpoints", config.checkpoint).load_latest()[0]
    assert after.meta["counters"]["lane_steps"] == 2 * 16 * 8 + 2 * 8 * 8
    assert after.arrays["player/optimizer/updates"] > before.arrays["player/optimizer/updates"] > 0
    resumed = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "resumed"]
    assert any("not an exact resume" in note for note in resumed[0]["notes"])


@pytest.mark.parametrize(
    ("options", "relax", "said"),
    [
        (FEWER, [], "rollout.lanes would change what is learned; add --allow-change (or --relax rollout.lanes)"),
        ([*FEWER, "--learner.lr", "0.5"], ["lanes"], "learner.lr would change what is learned"),
        (["--policy.hidden", "8"], ["policy"], "policy.hidden makes other weights: start a new run"),
        ([], ["lanes"], "--relax lanes: nothing of that name is changed"),
        (FEWER, ["lames"], "--relax lames: no option or section"),
    ],
)
def test_only_what_is_named_may_change(tmp_path: Path, options: list[str], relax: list[str], said: str) -> None:
    run, _ = stopped_run(tmp_path, "template", 1)
    with pytest.raises(ConfigError) as refused:
        config_to_resume(run, options, allow_change=False, relax=relax)
    assert said in str(refused.value)


def test_a_checkpoint_of_another_kind_is_one_clear_error(tmp_path: Path) -> None:
    run, config = stopped_run(tmp_path, "template", 1)
    checkpoints = Checkpoints(run.folder / "checkpoints", config.checkpoint)
    checkpoints.save(2, checkpoints.load_latest()[0].arrays, {"counts": {"odd": 1}, "streams": {}})
    with pytest.raises(CheckpointError, match="000002 is not one of this kind of run"):
        resume(config, run, Quiet())

"""The published command lines: every flag arrives somewhere, with the value it had."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from holdfast.curriculum.deck_spec import deck_types, parse_stages
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.curriculum.legacy import FLAGS, GATE_PREFIX, WITHOUT_COUNTERPART, import_command, import_flags
from holdfast.kit.errors import ConfigError
from tests.curriculum.published import DATA, imported

V42_GATE = GateSettings(
    enabled=True,
    controls="density",
    phase_allowance=(4, 5, 6, 7),
    lock_iteration=28,
    required_successes=2,
    freeze_iterations=5,
    success_freeze_iterations=2,
    success_step_one=18,
    by_type={
        "main": {
            "success_step_one": 45,
            "success_early_death": 0.1,
            "success_early_death_window": 4,
            "success_p10": 100,
            "success_p10_window": 3,
            "failure_tolerance": 3,
        },
        "ne": {"success_early_death": 0.13},
    },
    success_step_one_ratio=0.02,
    success_early_death=0.10,
    success_early_death_window=3,
    success_p10=70.0,
    success_p10_window=4,
    failure_p10=95.0,
    failure_min_final=0.5,
    failure_tolerance=2,
    median_fallback="p10",
)


def test_the_gate_of_v42() -> None:
    assert imported("v42").gate == V42_GATE


def test_the_rest_of_v42() -> None:
    run = imported("v42")
    assert run.schedule.phases == "15:9,20:10,25:9,25:8,25:8,25:8,25:8" and run.schedule.phase_reset == "always"
    assert (run.deck.share, run.deck.force_reset_steps, run.deck.replay_count) == (1.0, 224, 2)
    assert (run.deck.warn_ratio, run.deck.warn_patience) == (0.7, 2)
    stages = parse_stages(run.deck.stages)
    assert [stage.deals for stage in stages] == [10, 8, 16, 12, 16, 12, 10, 8, 8, 10, 8]
    assert {stage.apply for stage in stages} == {"pre_roll"} and deck_types(stages) == ("ne", "main")
    assert stages[4].label == "main_midbuffer_a"
    assert run.options == {
        "run.name": "dev_v42_stage_buffer_v2",
        "run.seed": 421842,
        "run.iterations": 60,
        "rollout.lanes": 128,
        "rollout.steps": 128,
        "learner.minibatch": 1024,
        "learner.epochs": 5,
        "learner.lr": 2.5e-4,
        "evaluation.every": 8,
        "evaluation.episodes": 20,
        "evaluation.world.fish": 96,
        "evaluation.final_episodes": 40,
        "evaluation.seed": 411232,
    }
    assert run.kept == {"video_num_fish": "48", "skip_final_eval": ""}


@pytest.mark.parametrize("version", ["v40", "v41", "v42"])
def test_leaving_out_any_flag_changes_the_outcome(version: str) -> None:
    """Nothing is lost: whatever flag is taken away, the import notices, unless it only repeats a default."""
    words = shlex.split((DATA / f"{version}.txt").read_text())
    whole = import_flags(words)
    same_as_default = {
        "penalty_gate_success_early_death",
        "penalty_gate_success_median_window",
        "penalty_gate_failure_p10",
        "penalty_gate_failure_min_final",
        "penalty_gate_failure_tolerance",
        "tail_stage_warn_ratio",
        "tail_stage_warn_patience",
        "tail_replay_count",
    }
    for place, word in enumerate(words):
        if word.startswith("--"):
            end = place + (1 if word == "--skip_final_eval" else 2)
            unchanged = import_flags(words[:place] + words[end:]) == whole
            assert unchanged == (word.removeprefix("--") in same_as_default), word


def test_every_target_is_a_real_option() -> None:
    sections = {"schedule": "phases", "density": "targets", "deck": "stages"}
    run = imported("v42")
    for target in FLAGS.values():
        section, _, name = target.name.partition(".")
        if section in sections:
            assert name in {item.name for item in dataclasses.fields(getattr(run, section))}
    assert not {flag for flag in FLAGS if flag in WITHOUT_COUNTERPART or flag.startswith(GATE_PREFIX)}


def test_defaults_of_the_earlier_project_are_written_out() -> None:
    run = import_command("python train.py --density_penalty_lock_until 24 --penalty_gate_success_step_one_ratio 0")
    assert (run.gate.lock_iteration, run.gate.success_step_one, run.gate.success_step_one_ratio) == (24, 7, None)
    explicit = import_flags(["--penalty_gate_lock_iteration", "16", "--penalty_gate_success_p10=95"])
    assert (explicit.gate.lock_iteration, explicit.gate.success_p10) == (16, 95.0)


def test_wrong_flags_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        import_flags(
            [
                "--n_stesp",
                "3",
                "--num_envs",
                "many",
                "--penalty_gate_success_luck",
                "1",
                "--seed",
                "--curriculum",
                "1:1",
                "x",
            ]
        )
    text = str(caught.value)
    assert len(caught.value.problems) == 5
    for part in (
        "n_stesp: not a flag of the earlier project (did you mean n_steps?)",
        "'many'",
        "success_luck",
        "--seed",
        "'x'",
    ):
        assert part in text

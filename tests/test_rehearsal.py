"""Rehearsals: what is enabled must fire, what cannot fire is named, and the miniature resumes to the same bytes."""

from __future__ import annotations

import json

import pytest

from holdfast.cli.command import run as command
from holdfast.config.reading import load_config
from holdfast.curriculum.gate_settings import GateSettings
from holdfast.games.fish.rehearsal import casting, enabled_events, short_gate, shrink
from holdfast.rehearsal import rehearse_run
from holdfast.views.terminal import Quiet

QUICK = {
    "evaluation.world": '{"fish": 32, "steps": 100}',
    "gate.success_p10": "90",
    "rollout.threads": "1",
    "harvest.episodes": "4",
    "learner.engine": "torch",
}


def words(**options: str) -> list[str]:
    return [f"--{name}={value}" for name, value in {**QUICK, **options}.items()]


def test_any_world_can_be_rehearsed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["rehearse", "template", "--json", "--rollout.threads", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = {feature["name"] for feature in found["features"]}
    assert found["passed"] and {"weights change", "evaluations", "resume", "learning-rate schedule"} <= names


def test_a_learning_rate_that_begins_anew_is_seen_to_rise() -> None:
    found = rehearse_run(load_config("template", ["--learner.lr_restart=0.1", "--rollout.threads=1"])[0], Quiet())
    assert found.missing == () and "learning rate begins anew" in {feature.name for feature in found.features}


def test_every_event_of_the_gate_comes_and_the_deck_is_dealt() -> None:
    found = rehearse_run(load_config("fish", words())[0], Quiet())
    assert found.missing == ()
    names = {feature.name for feature in found.features}
    assert {"gate advance", "gate rollback", "gate noop", "phase 3", "deck stage harvest", "harvest"} <= names


def test_a_feature_that_cannot_fire_is_named() -> None:
    config = load_config("fish", words(**{"gate.success_min_final": "1.0", "gate.success_step_one": "0"}))[0]
    found = rehearse_run(config, Quiet())
    assert {"gate advance", "gate success_progress", "gate limits phases", "phase 2"} <= set(found.missing)


def test_the_miniature_counts_time_in_evaluations() -> None:
    whole = load_config("fish-v42")[0]
    gate = short_gate(whole.gate, whole.evaluation.every)
    assert (gate.lock_iteration, gate.freeze_iterations, gate.success_freeze_iterations) == (3, 1, 1)
    mini = shrink(whole, whole)
    assert mini.schedule.phases.startswith("15:2,20:2,25:2,25:1") and mini.run.iterations == 14
    assert mini.deck.stages.count("1:decks") == 11


def test_events_that_settings_rule_out_are_not_asked_for() -> None:
    never_fails = GateSettings(failure_p10=None, failure_min_final=None, lock_iteration=0, freeze_iterations=1)
    assert enabled_events(never_fails) == ("noop", "success_progress", "advance")
    assert set(enabled_events(GateSettings(lock_iteration=3, freeze_iterations=2))) == {
        "noop", "success_progress", "advance", "failure_hold", "rollback", "locked", "frozen",
    }  # fmt: skip


def test_the_cast_is_the_best_the_worst_and_one_between() -> None:
    assert casting({"a": 0.5, "b": 0.9, "c": 0.7, "d": 0.1}) == ["b", "d", "a"]
    assert casting({"only": 1.0}) == ["only"]

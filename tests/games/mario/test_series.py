"""A series trains stage after stage, goes on where it stopped, and leaves policies that can be played by name."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from holdfast.config.checks import check_against_world
from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import Config, to_json
from holdfast.games.mario.series import Attempt, Series, attempt_config, read_rows
from holdfast.games.mario.series_options import SeriesConfig
from holdfast.kit.errors import CheckpointError, ConfigError
from holdfast.runs import shelf
from holdfast.runs.folder import RunFolder
from holdfast.runs.reading import read_lines
from holdfast.runs.shelf import take_down
from holdfast.views.dry_run import spec_of
from holdfast.views.judge import find_policy
from holdfast.views.terminal import Quiet
from tests.conftest import SMALL, Command
from tests.test_resume import StopAfter

OWN = {**SMALL, "world.rom": "own", "world.blocks": "false", "world.max_steps": "20", "policy.hidden": "16"}
OWN |= {"rollout.lanes": "8", "evaluation.episodes": "2", "evaluation.final_episodes": "2", "checkpoint.every": "1"}
OWN |= {"series.stages": "{}", "series.episodes": "4", "series.rounds": "2", "run.iterations": "2"}


def series_config(folder: Path, stages: str = "1-1,1-2") -> Config:
    chosen = {**OWN, "world.stages": stages, "run.root": str(folder), "series.results": str(folder / "results")}
    return load_config("mario-levels", [f"--{name}={value}" for name, value in chosen.items()])[0]


def test_an_interrupted_series_goes_on_and_ends_like_one_that_was_not(tmp_path: Path) -> None:
    said: list[str] = []
    assert Series(series_config(tmp_path / "whole", "1-2"), "mario-levels", Quiet, said.append).go() == 0
    config = series_config(tmp_path / "stopped", "1-2")
    assert Series(config, "mario-levels", lambda: StopAfter(1), said.append).go() == 130
    again = Series(config, "mario-levels", Quiet, said.append)
    assert again.go() == 0
    rows = read_rows(tmp_path / "stopped/results")
    assert [(row["stage"], row["rounds"], row["steps"]) for row in rows.values()] == [("1-2", 2, 2 * 64 + 4 * 64)]
    kept = [take_down(tmp_path / which / "results/1-2.safetensors").learners for which in ("whole", "stopped")]
    assert torch.equal(*(learners["player"].optimizer.parameters for learners in kept))
    said.clear()
    assert Series(config, "mario-levels", Quiet, said.append).go() == 0 and not said, "there is nothing left to do"
    resumed = read_lines(tmp_path / "stopped/mario-levels/1-2-round1/events.jsonl")
    assert [event["event"] for event in resumed].count("resumed") == 1
    assert "| 1-2 |" in (tmp_path / "stopped/results/table.md").read_text()


def replaced(config: Config, **options: Any) -> SeriesConfig:
    return dataclasses.replace(config.section(SeriesConfig), **options)


def test_a_stage_may_begin_with_weights_of_its_own(tmp_path: Path) -> None:
    first = series_config(tmp_path, "1-1")
    assert Series(first, "mario-levels", Quiet, print).go() == 0
    weights = str(tmp_path / "mario-levels/1-1-round1")
    config = series_config(tmp_path / "later", "1-2")
    config = config.with_section(replaced(config, stages={"1-2": {"run.init": weights}}))
    assert Series(config, "mario-levels", Quiet, print).go() == 0
    assert RunFolder(tmp_path / "later/mario-levels/1-2-round1").describe()["config"]["run"]["init"] == weights


def test_rounds_go_through_what_is_not_solved_in_the_order_of_the_stages(tmp_path: Path) -> None:
    series = Series(series_config(tmp_path, "1-2,1-1,1-3"), "mario-levels", Quiet, print)
    assert [attempt.name for attempt in series.attempts()][:3] == ["1-2-round1", "1-1-round1", "1-3-round1"]
    results = {"1-2": (0.95, 1), "1-1": (0.4, 1), "1-3": (0.8, 2)}
    series.rows = {stage: {"rate": rate, "rounds": rounds} for stage, (rate, rounds) in results.items()}
    assert [attempt.name for attempt in series.attempts()] == ["1-1-round2"]


def test_each_run_has_its_own_stage_seed_and_length(tmp_path: Path) -> None:
    config = series_config(tmp_path)
    first, second = (attempt_config(config, Attempt("1-2", number)) for number in (1, 2))
    assert (first.world.stages, first.run.iterations, second.run.iterations) == ("1-2", 2, 4)
    assert first.run.seed != second.run.seed and not first.section(SeriesConfig).enabled
    own = {"1-2": {"world.actions": "complex", "starts.explore": 300, "run.iterations": 7}}
    changed = config.with_section(replaced(config, stages=own))
    usual, special = (attempt_config(changed, Attempt(stage, 1)) for stage in ("1-1", "1-2"))
    assert (usual.world.actions, usual.starts.explore, usual.run.iterations) == ("simple", 0, 2)
    assert (special.world.actions, special.starts.explore, special.run.iterations) == ("complex", 300, 7)


def test_a_kept_policy_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = series_config(tmp_path)
    next_one = Series(config, "mario-levels", Quiet, print)
    attempt = next(next_one.attempts())
    assert next_one._train(attempt) == 0
    next_one._judge(attempt)
    monkeypatch.setattr(shelf, "shelves", lambda: [tmp_path / "results"])
    kept = find_policy("1-1", str(tmp_path))
    assert kept.config.world.stages == "1-1" and kept.run is None
    assert take_down(tmp_path / "results/1-1.safetensors").facts["stage"] == "1-1"
    (tmp_path / "results/1-1.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"1-1\.safetensors is no kept policy"):
        find_policy("1-1", str(tmp_path))


def test_a_series_needs_stages_and_evaluations() -> None:
    for target, words, reason in (
        ("template", ["--series.enabled", "true"], "is a section of world mario"),
        ("mario-levels", ["--evaluation.every", "0", "--world.rom", "own"], "evaluation.every must be"),
        ("template", ["--series.rounds", "3"], "is a section of world mario"),
        ("mario-levels", ["--series.stages", '{"1-1": {"world.action": "simple"}}'], "stage 1-1"),
        ("mario-levels", ["--series.stages", '{"1-1": {"starts.backward": true}}'], "stage 1-1.*starts.explore"),
        ("mario-levels", ["--series.stages", '{"1-1": 3}'], "stage 1-1: must be a table"),
        ("mario-levels", ["--series.stages", '{"9-9": {}}', "--world.rom", "own"], "there is no stage 9-9"),
    ):
        with pytest.raises(ConfigError, match=reason):
            config, explicit = load_config(target, words)
            check_against_world(config, explicit, spec_of(config))


def test_the_command_prints_the_rows(holdfast: Command, tmp_path: Path) -> None:
    words = {**OWN, "world.stages": "1-1", "series.rounds": "1", "series.results": "results"}
    done = holdfast("train", "mario-levels", "--json", *(f"--{name}={value}" for name, value in words.items()))
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)
    assert row["stage"] == "1-1" and row["episodes"] == 4
    assert (tmp_path / "results/1-1.safetensors").is_file()


def test_a_later_round_goes_on_with_what_cleared_the_stage(tmp_path: Path) -> None:
    series = Series(series_config(tmp_path, "1-1"), "mario-levels", Quiet, print)
    attempt = next(series.attempts())
    assert series._train(attempt) == 0
    series._judge(attempt)
    kept = tmp_path / "results/1-1.safetensors"
    row = {**series.rows["1-1"], "rounds": 1}
    series.rows["1-1"] = {**row, "rate": 0.0}
    assert series._first_weights("1-1") == "", "what never cleared the stage is begun anew"
    series.rows["1-1"] = {**row, "rate": 0.2}
    assert series._first_weights("1-1") == str(kept)
    assert series._train(Attempt("1-1", 2)) == 0
    assert RunFolder(tmp_path / "mario-levels/1-1-round2").describe()["config"]["run"]["init"] == str(kept)
    other = dataclasses.replace(series.config.policy, hidden=(8,))
    series.config = dataclasses.replace(series.config, policy=other)
    assert series._first_weights("1-1") == "", "weights of another kind of policy cannot be gone on with"


def test_what_an_earlier_version_wrote_is_still_read(tmp_path: Path) -> None:
    config = series_config(tmp_path)
    table = to_json(config)
    del table["series"]["stages"]
    table["series"]["world"] = {"1-2": {"actions": "complex"}}
    again, changed = from_json(table, "run.json")
    assert again.section(SeriesConfig).stages == {"1-2": {"world.actions": "complex"}} and not changed
    assert attempt_config(again, Attempt("1-2", 1)).world.actions == "complex"
    for path in sorted(shelf.shelves()[0].glob("*.safetensors")):
        with safe_open(path, "numpy") as file:
            kept = file.metadata()
        assert from_json(json.loads(kept["config"]), str(path))[0].world.stages == path.stem

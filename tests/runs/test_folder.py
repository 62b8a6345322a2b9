"""Run folders: never overwritten, one writer at a time, clear errors."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from holdfast.config.sections import Config
from holdfast.kit.errors import ConfigError, RunExists, RunFolderError, RunLocked, UnknownName, WorldError
from holdfast.runs.folder import RunFolder, all_runs, create_run, find_run
from holdfast.runs.metrics import METRICS, MetricsWriter, known_names
from holdfast.runs.reading import read_lines
from holdfast.runs.streams import Stream, cut_back
from tests.conftest import small_config


def config_in(folder: Path, name: str = "") -> Config:
    config = small_config()
    return dataclasses.replace(config, run=dataclasses.replace(config.run, root=str(folder), name=name))


def test_a_new_run_never_takes_an_old_ones_place(tmp_path: Path) -> None:
    names = [create_run(config_in(tmp_path), "template", []).name for _ in range(3)]
    assert names == ["template-1", "template-2", "template-3"]
    create_run(config_in(tmp_path, "first"), "template", [])
    with pytest.raises(RunExists, match="holdfast resume first"):
        create_run(config_in(tmp_path, "first"), "template", [])


@pytest.mark.parametrize("name", ["../out", "a/b", "..", "-x", "a\0b"])
def test_a_name_cannot_leave_the_root(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="plain folder name"):
        create_run(config_in(tmp_path, name), "template", [])


def test_foreign_names_make_safe_folders(tmp_path: Path) -> None:
    assert create_run(config_in(tmp_path), "gym:CartPole-v1", []).name == "gym-CartPole-v1-1"


def test_an_unwritable_root_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot make a run in"):
        create_run(config_in(tmp_path / "file"), "template", [])


def test_the_second_writer_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    run = create_run(config_in(tmp_path), "template", [])
    with pytest.raises(RunLocked, match=f"in use by process {os.getpid()}"):
        RunFolder(run.folder).lock()
    run.unlock()
    second = RunFolder(run.folder)
    second.lock()
    second.unlock()


def test_run_json_tells_what_ran(tmp_path: Path) -> None:
    run = create_run(config_in(tmp_path), "template", ["holdfast", "train", "template"])
    found = json.loads((run.folder / "run.json").read_text())
    assert found["command"] == ["holdfast", "train", "template"]
    assert found["config"]["world"]["name"] == "template"
    assert found["versions"]["torch"] and found["config"]["run"]["seed"] == 1


def test_runs_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    run = create_run(config_in(tmp_path, "first"), "template", [])
    assert find_run("first", str(tmp_path)).folder == run.folder
    assert find_run(str(run.folder), "elsewhere").folder == run.folder
    assert [found.name for found in all_runs(str(tmp_path))] == ["first"]
    with pytest.raises(UnknownName, match="did you mean first"):
        find_run("frist", str(tmp_path))


def test_a_damaged_description_is_named(tmp_path: Path) -> None:
    run = create_run(config_in(tmp_path), "template", [])
    (run.folder / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"run\.json cannot be read"):
        run.describe()


def test_a_metric_outside_the_table_cannot_be_logged(tmp_path: Path) -> None:
    names = known_names(METRICS, ["player"], ["return"])
    writer = MetricsWriter(Stream(tmp_path / "metrics.jsonl"), names, None)
    writer.write({"iteration": 1, "learner.player.entropy": 0.5, "episode.return": 1.0})
    with pytest.raises(WorldError, match=r"'learner\.player\.entropie' is not in the table.*did you mean"):
        writer.write({"iteration": 2, "learner.player.entropie": 0.5})
    writer.close()
    assert len(read_lines(tmp_path / "metrics.jsonl")) == 1


def test_torn_lines_are_left_out_and_streams_are_cut_back(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    stream = Stream(path)
    stream.write({"a": 1})
    position = stream.position()
    stream.write({"a": 2})
    stream.close()
    with path.open("ab") as file:
        file.write(b'{"a": 3, "b"')
    assert [record["a"] for record in read_lines(path)] == [1, 2]
    cut_back(path, position)
    assert [record["a"] for record in read_lines(path)] == [1]

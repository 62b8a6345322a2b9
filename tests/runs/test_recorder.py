"""What a run writes while it goes on is whole, equal after a resume, and readable by others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import CheckpointError, WorldError
from holdfast.kit.timing import Clock
from holdfast.runs.metrics import METRICS, known_names
from holdfast.runs.reading import read_lines, read_stream
from holdfast.runs.recorder import Recorder, cut_streams_back
from holdfast.runs.streams import parts_of
from holdfast.runs.tables import write_rows, write_table
from holdfast.train import resume
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run, small_config
from tests.test_resume import end_of, stopped_run

WATCHED = {
    "run.iterations": "12",
    "checkpoint.every": "5",
    "metrics.rotate_mb": "0.002",
    "metrics.rotate_keep": "50",
    "metrics.heartbeat_s": "0.01",
    "metrics.monitor_s": "0.01",
    "run.tensorboard": "true",
}


def joined(folder: Path, name: str) -> list[dict[str, object]]:
    found = read_stream(folder / name)
    assert not found.damaged and not found.torn_last
    return found.records


def test_with_all_watching_on_a_resumed_run_still_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, _ = finished_run(tmp_path, **WATCHED)
    run, config = stopped_run(tmp_path, "template", 7, **WATCHED)
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)  # with the parts that are not packed away
    for name in ("metrics.jsonl", "episodes.jsonl"):
        assert joined(run.folder, name) == joined(whole.folder, name)
        assert [part.end for part in parts_of(run.folder / name)] == [
            part.end for part in parts_of(whole.folder / name)
        ]
    assert parts_of(run.folder / "metrics.jsonl")
    hints = [
        [
            (e["iteration"], e["name"], e["evidence"])
            for e in read_lines(one.folder / "events.jsonl")
            if e["event"] == "hint"
        ]
        for one in (whole, run)
    ]
    assert hints[0] == hints[1]


def test_every_episode_of_training_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    run, result = finished_run(tmp_path)
    rows = read_lines(run.folder / "episodes.jsonl")
    assert sum(len(row["lane"]) for row in rows) == sum(row["ended"] for row in rows) == result.counts.episodes > 0
    means = {row["iteration"]: row.get("episode.return") for row in read_lines(run.folder / "metrics.jsonl")}
    for row in rows:
        assert np.mean(row["return"]) == pytest.approx(means[row["iteration"]], abs=1e-5)
        assert {len(column) for column in row.values() if isinstance(column, list)} == {row["ended"]}
    fewer, _ = finished_run(tmp_path, **{"metrics.episodes": "2"})
    few = read_lines(fewer.folder / "episodes.jsonl")
    assert [row["ended"] for row in few] == [row["ended"] for row in rows]
    for one, all_of_them in zip(few, rows, strict=True):
        spread = (
            sorted({0, len(all_of_them["key"]) // 2}) if len(all_of_them["key"]) > 2 else range(len(all_of_them["key"]))
        )
        assert one["key"] == [all_of_them["key"][place] for place in spread]


def test_parquet_tables_hold_what_the_streams_hold(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    run, _ = finished_run(tmp_path)
    metrics = read_lines(run.folder / "metrics.jsonl")
    (latest,) = parquet.read_table(run.folder / "latest.parquet").to_pylist()
    assert {name: latest[name] for name in metrics[-1]} == metrics[-1] and latest["elapsed_s"] > 0
    path = write_table(run.folder)
    rows = parquet.read_table(path).to_pylist()
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    assert [row["evaluation.score"] is None for row in rows] == [True, False, True, False]
    assert write_table(tmp_path) is None


def test_columns_of_mixed_kinds_become_one_kind(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(tmp_path / "t.parquet", [{"a": 1, "b": "x"}, {"a": 1.5, "b": 2}, {"c": True}])
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert rows == [{"a": 1.0, "b": "x", "c": None}, {"a": 1.5, "b": "2", "c": None}, {"a": None, "b": None, "c": True}]


def test_tensorboard_reads_every_metric_over_agent_steps(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run, config = stopped_run(tmp_path, "template", 2, **{"run.tensorboard": "true", "checkpoint.every": "1"})
    resume(config, run, Quiet())
    board = accumulator.EventAccumulator(str(run.folder / "tensorboard")).Reload()
    metrics = read_lines(run.folder / "metrics.jsonl")
    scalars = [(event.step, event.value) for event in board.Scalars("learner/player/entropy")]
    assert [step for step, _ in scalars] == [row["agent_steps"] for row in metrics]
    assert [value for _, value in scalars] == pytest.approx(
        [row["learner.player.entropy"] for row in metrics], abs=1e-6
    )
    assert "run/iteration" in board.Tags()["scalars"]


def test_a_checkpoint_from_elsewhere_cannot_cut_files_outside_the_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "precious.jsonl").write_text("precious\n")
    for name in ("../precious.jsonl", str(tmp_path / "precious.jsonl"), "run.json", "..", ""):
        with pytest.raises(CheckpointError, match="names streams that no run has"):
            cut_streams_back(tmp_path / "run", {name: 0})
    assert (tmp_path / "precious.jsonl").read_text() == "precious\n"


def test_a_run_that_fails_says_so_and_closes_its_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("broken on purpose")

    monkeypatch.setattr("holdfast.rollout.seat.collect", fail)
    with pytest.raises(ValueError, match="broken on purpose"):
        finished_run(tmp_path, **{"run.name": "x"})
    folder = tmp_path / "x"
    assert read_lines(folder / "events.jsonl")[-1]["text"] == "broken on purpose"
    assert read_lines(folder / "heartbeat.jsonl")[-1]["phase"] == "ended"
    json.loads((folder / "run.json").read_text())


def test_an_event_may_be_about_another_iteration(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, small_config(), Clock())
    recorder.event("odd", iteration=7, kind="fact")
    recorder.close()
    (line,) = read_lines(tmp_path / "events.jsonl")
    assert (line["event"], line["iteration"], line["kind"]) == ("odd", 7, "fact")


def test_a_column_that_would_hide_a_metric_is_refused() -> None:
    assert "evaluation.points" in known_names(METRICS, ["player"], ["length", "points"])
    with pytest.raises(WorldError, match=r"'score' would hide the metric evaluation\.score"):
        known_names(METRICS, ["player"], ["length", "score"])

"""The loop learns: worlds with known answers are solved, with every kind of policy the learner offers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.kit.errors import NonFinite
from holdfast.runs.metrics import METRICS, TIMINGS
from holdfast.runs.reading import read_lines
from holdfast.worlds.template.world import TrackSettings, optimal_return
from tests.conftest import finished_run

LEARNING = {
    "rollout.lanes": "256",
    "rollout.steps": "32",
    "learner.minibatch": "2048",
    "run.iterations": "24",
    "evaluation.every": "4",
    "evaluation.episodes": "200",
    "evaluation.final_episodes": "500",
    "rollout.threads": "2",
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"run.seed": "2", "learner.normalize_returns": "false", "learner.normalize_observations": "false"},
        {"policy.separate": "false", "policy.activation": "relu"},
        {"policy.core": "gru", "policy.core_size": "32", "policy.hidden": "32"},
        {"learner.algorithm": "vtrace"},
        {"learner.algorithm": "vtrace", "learner.replay": "true"},
        {"learner.algorithm": "vtrace", "rollout.overlap": "true", "learner.epochs": "1"},
        {"world.slip": "0.2"},
        {"learner.target_kl": "0.05", "learner.value_clip": "0.2", "learner.lr_schedule": "cosine"},
    ],
    ids=["default", "raw", "shared", "gru", "v-trace", "replay", "overlap", "slip", "limits"],
)
def test_the_template_world_is_solved(tmp_path: Path, options: dict[str, str]) -> None:
    _, result = finished_run(tmp_path, **{**LEARNING, **options})
    best = optimal_return(TrackSettings(slip=float(options.get("world.slip", 0))))
    assert result.scores["optimal"].mean == pytest.approx(best, abs=0.01)
    assert result.scores["learned"].mean > best - 0.015
    assert result.scores["random"].mean < best - 0.2


def test_a_run_ends_once_it_is_good_enough(tmp_path: Path) -> None:
    run, result = finished_run(tmp_path, **{**LEARNING, "run.stop_score": "0.9", "run.iterations": "60"})
    assert result.outcome == "solved" and result.counts.iteration < 60
    events = [record["event"] for record in read_lines(run.folder / "events.jsonl")]
    assert events[0] == "started" and events[-1] == "solved"


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    run, result = finished_run(tmp_path, **{"run.tensorboard": "true"})
    assert [record["iteration"] for record in read_lines(run.folder / "metrics.jsonl")] == [1, 2, 3, 4]
    assert sorted(path.name for path in (run.folder / "evals").iterdir()) == [
        "000002.json",
        "000004.json",
        "final.json",
        "yardsticks.json",
    ]
    final = json.loads((run.folder / "evals/final.json").read_text())
    assert len(final["policies"]["learned"]["episodes"]["return"]) == 8
    assert json.loads((run.folder / "result.json").read_text())["outcome"] == "finished"
    assert list((run.folder / "tensorboard").iterdir())
    assert (run.folder / "checkpoints/latest").read_text().strip() == "000004"
    assert result.peak_memory_mb > 0 and 0.99 < sum(result.phases.values()) < 1.01


def test_every_metric_in_the_table_is_really_logged(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path)
    other, _ = finished_run(tmp_path, **{"learner.algorithm": "vtrace", "learner.replay": "true", "replay.batch": "8"})
    sight = {"world.obs": "sensor", "world.history": "2", "world.belief": "true", "world.max_steps": "20"}
    looks = {"policy.network": "parts", "policy.encoder": "belief", "policy.hidden": "8", "run.allow_slow": "true"}
    believing, _ = finished_run(tmp_path, "pursuit-evader", **sight, **looks)
    lines = [record for one in (run, other, believing) for record in read_lines(one.folder / "metrics.jsonl")]
    logged = {name for record in lines for name in record}
    timed = {name for record in read_lines(run.folder / "timing.jsonl") for name in record}
    for metric in METRICS:
        assert {metric.name.format(role=role, column="return") for role in ("player", "evader")} & logged
    for metric in TIMINGS:
        assert metric.name.format(column="learn") in timed


def test_the_same_command_twice_gives_the_same_metrics(tmp_path: Path) -> None:
    first, _ = finished_run(tmp_path, **{"run.seed": "5"})
    second, _ = finished_run(tmp_path, **{"run.seed": "5"})
    other, _ = finished_run(tmp_path, **{"run.seed": "6"})
    bytes_of = [(run.folder / "metrics.jsonl").read_bytes() for run in (first, second, other)]
    assert bytes_of[0] == bytes_of[1] != bytes_of[2]


def test_evaluations_do_not_change_what_is_learned(tmp_path: Path) -> None:
    often, _ = finished_run(tmp_path, **{"evaluation.every": "1", "evaluation.sampled": "true"})
    never, _ = finished_run(tmp_path, **{"evaluation.every": "0"})
    curves = []
    for run in (often, never):
        records = read_lines(run.folder / "metrics.jsonl")
        curves.append([{k: v for k, v in r.items() if not k.startswith("evaluation")} for r in records])
    assert curves[0] == curves[1]


def test_a_nan_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(NonFinite, match="pennies: the reward of seeker"):
        finished_run(tmp_path, "tests.two_roles:Pennies", **{"world.poison": "20", "run.name": "poisoned"})
    folder = tmp_path / "poisoned"
    assert (folder / "checkpoints/latest").read_text().strip() == "000002"
    last = read_lines(folder / "events.jsonl")[-1]
    assert last["event"] == "failed" and last["error"] == "NonFinite"

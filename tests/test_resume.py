"""Interrupted and resumed is the same as never stopped: weights, optimiser, metrics and world, byte for byte."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.config.sections import Config
from holdfast.kit.errors import CheckpointError, ConfigError
from holdfast.runs.checkpoint import TENSORS
from holdfast.runs.choose import load_checkpoint
from holdfast.runs.folder import RunFolder, create_run, find_run
from holdfast.runs.reading import read_lines
from holdfast.runs.reopen import config_of, config_to_resume
from holdfast.runs.watch import Progress
from holdfast.train import resume, train
from holdfast.views.terminal import Quiet
from tests.conftest import Command, finished_run, small_config, small_words

PENNIES = "tests.two_roles:Pennies"


class StopAfter(Quiet):
    """Sends the process a signal in the middle of the run, as a user would."""

    def __init__(self, iteration: int) -> None:
        self.at = iteration

    def iteration(self, progress: Progress) -> None:
        if progress.counts.iteration == self.at:
            os.kill(os.getpid(), signal.SIGINT)


def end_of(run: RunFolder) -> tuple[bytes, bytes]:
    """The last checkpoint's arrays (weights, optimiser, world, generators) and the metrics, as bytes."""
    latest = (run.folder / "checkpoints/latest").read_text().strip()
    return (run.folder / "checkpoints" / latest / TENSORS).read_bytes(), (run.folder / "metrics.jsonl").read_bytes()


def stopped_run(folder: Path, target: str, at: int, **options: str) -> tuple[RunFolder, Config]:
    config = small_config(target, **{"run.root": str(folder), **options})
    run = create_run(config, target, ["test"])
    result = train(config, run, StopAfter(at))
    assert result.outcome == "interrupted" and result.exit_status == 130 and result.counts.iteration == at
    return run, config


CASES = {
    "template": ("template", {}),
    "slip": ("template", {"world.slip": "0.3", "policy.separate": "false"}),
    "gru": ("template", {"policy.core": "gru", "policy.core_size": "8", "learner.minibatch": "64"}),
    "lstm": ("template", {"policy.core": "lstm", "policy.core_size": "8", "learner.algorithm": "vtrace"}),
    "replay": (
        "template",
        {"learner.algorithm": "vtrace", "learner.replay": "true", "replay.batch": "32", "learner.entropy_final": "0.1"},
    ),
    "overlap": ("template", {"rollout.overlap": "true", "learner.weight_decay": "0.1", "learner.grad_accum": "2"}),
    "two roles": (PENNIES, {}),
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
    "gymnasium": ("gym:CartPole-v1", {"rollout.lanes": "4", "rollout.steps": "32", "world.max_steps": "60"}),
    "continuous": ("gym:Pendulum-v1", {"rollout.lanes": "4", "rollout.steps": "16", "world.max_steps": "30"}),
}


@pytest.mark.parametrize("case", CASES)
def test_resumed_run_equals_uninterrupted(tmp_path: Path, case: str) -> None:
    target, options = CASES[case]
    options = {"run.iterations": "5", **options}
    whole, _ = finished_run(tmp_path, target, **options)
    run, config = stopped_run(tmp_path, target, 3, **options)
    result = resume(config, run, Quiet())
    assert result.outcome == "finished"
    assert end_of(run) == end_of(whole)
    assert (run.folder / "evals/final.json").read_bytes() == (whole.folder / "evals/final.json").read_bytes()


@pytest.mark.parametrize("seeds", ["fixed", "rolling"])
def test_a_resumed_run_leaves_the_files_of_one_that_went_through(tmp_path: Path, seeds: str) -> None:
    options = {"run.iterations": "5", "evaluation.seeds": seeds}
    whole, _ = finished_run(tmp_path, "template", **options)
    run, config = stopped_run(tmp_path, "template", 3, **options)
    result = resume(config, run, Quiet())
    for place in ("evals/yardsticks.json", "evals/final.json", "evals/000004.json"):
        assert (run.folder / place).read_bytes() == (whole.folder / place).read_bytes(), place
    before = load_checkpoint(run, "3").meta["counters"]["wall_s"]
    assert json.loads((run.folder / "result.json").read_text())["elapsed_s"] == result.elapsed_s > before > 0.0


def test_a_replay_that_is_not_saved_makes_the_resume_inexact_and_says_so(tmp_path: Path) -> None:
    options = {"learner.algorithm": "vtrace", "learner.replay": "true", "replay.in_checkpoint": "false"}
    run, config = stopped_run(tmp_path, "template", 3, **options)
    resume(config, run, Quiet())
    notes = [record["notes"] for record in read_lines(run.folder / "events.jsonl") if record["event"] == "resumed"]
    assert notes == [["the replay of player was not saved and begins empty: this resume is not exact"]]


def test_overlap_may_be_switched_at_resume_and_the_end_is_the_same(tmp_path: Path) -> None:
    whole, _ = finished_run(tmp_path, **{"rollout.lag": "1"})
    run, _ = stopped_run(tmp_path, "template", 2, **{"rollout.lag": "1"})
    config = config_to_resume(run, ["--rollout.overlap", "true"], allow_change=False)[0]
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)


def killed_at_random(folder: Path, words: list[str], seed: int, deaths: int) -> int:
    """Run the command until it ends by itself, killing it -9 at random moments; how often it was killed."""
    chance = random.Random(seed)
    killed = 0
    first = [sys.executable, "-m", "holdfast.cli.command", "train", "template", *words, "--quiet", "--no-report"]
    again = [sys.executable, "-m", "holdfast.cli.command", "resume", "victim", "--root", "r", "--quiet", "--no-report"]
    while True:
        started = (folder / "r/victim/run.json").exists()
        process = subprocess.Popen(again if started else first, cwd=folder, stderr=subprocess.PIPE)
        if killed >= deaths:
            _, errors = process.communicate(timeout=240)
            assert process.returncode == 0, errors
            return killed
        wait_for_progress(folder / "r/victim", process, chance.random() * 0.6)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()


def wait_for_progress(folder: Path, process: subprocess.Popen[bytes], longer_s: float) -> None:
    """Until the process has begun to write, then a random moment longer: inside iterations and inside writes."""
    before, deadline = len(read_lines(folder / "events.jsonl")), time.monotonic() + 240
    while process.poll() is None and len(read_lines(folder / "events.jsonl")) <= before:
        assert time.monotonic() < deadline, "it did not begin"
        time.sleep(0.02)
    time.sleep(longer_s)


def test_a_run_killed_again_and_again_ends_like_one_that_was_not(tmp_path: Path) -> None:
    options = {"run.iterations": "40", "checkpoint.every": "1", "run.root": "r", "rollout.lanes": "64"}
    words = small_words(**options)
    whole, _ = finished_run(tmp_path, **{**options, "run.root": str(tmp_path / "w")})
    assert killed_at_random(tmp_path, [*words, "--run.name=victim"], seed=1, deaths=4) == 4
    assert end_of(find_run("victim", str(tmp_path / "r"))) == end_of(whole)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_and_exit_with_their_status(tmp_path: Path, number: int, status: int) -> None:
    words = small_words(**{"run.iterations": "100000", "checkpoint.every": "99999", "evaluation.every": "0"})
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli.command", "train", "template", *words, "--run.name=x"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240
    while len(read_lines(tmp_path / "runs/x/metrics.jsonl")) < 2:
        assert process.poll() is None and time.monotonic() < deadline, "it ended, or did not begin"
        time.sleep(0.05)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert "holdfast resume x" in output
    run = find_run("x", str(tmp_path / "runs"))
    saved = int((run.folder / "checkpoints/latest").read_text())
    assert saved == read_lines(run.folder / "metrics.jsonl")[-1]["iteration"]


def test_a_damaged_checkpoint_is_passed_over_and_the_end_is_the_same(tmp_path: Path) -> None:
    options = {"run.iterations": "6", "checkpoint.every": "1"}
    whole, _ = finished_run(tmp_path, **options)
    run, config = stopped_run(tmp_path, "template", 4, **options)
    path = run.folder / "checkpoints/000004" / TENSORS
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)
    resumed = [record for record in read_lines(run.folder / "events.jsonl") if record["event"] == "resumed"]
    assert "000004 is damaged" in resumed[0]["notes"][0] and resumed[0]["iteration"] == 3


def test_with_every_checkpoint_damaged_nothing_is_guessed(tmp_path: Path) -> None:
    run, config = stopped_run(tmp_path, "template", 3, **{"checkpoint.every": "1"})
    for path in (run.folder / "checkpoints").glob(f"*/{TENSORS}"):
        path.write_bytes(b"")
    before = (run.folder / "metrics.jsonl").read_bytes()
    with pytest.raises(CheckpointError, match="no usable checkpoint"):
        resume(config, run, Quiet())
    assert (run.folder / "metrics.jsonl").read_bytes() == before


def test_overrides_that_change_what_is_learned_need_consent(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path)
    with pytest.raises(ConfigError, match=r"learner\.lr would change what is learned; add --allow-change"):
        config_to_resume(run, ["--learner.lr", "0.5", "--checkpoint.every", "7"], allow_change=False)
    config, notes, _ = config_to_resume(run, ["--learner.lr", "0.5"], allow_change=True)
    assert config.learner.lr == 0.5 and notes == ["changed at resume: learner.lr"]
    config, notes, _ = config_to_resume(run, ["--checkpoint.every", "7"], allow_change=False)
    assert config.checkpoint.every == 7
    assert config_of(run).checkpoint.every == 2


def test_a_finished_run_can_be_extended_on_the_same_curve(tmp_path: Path, holdfast: Command) -> None:
    finished_run(tmp_path / "runs", **{"run.name": "x"})
    done = holdfast("resume", "x", "--run.iterations", "6", "--allow-change", "--no-report")
    assert done.returncode == 0, done.stderr
    records = read_lines(tmp_path / "runs/x/metrics.jsonl")
    assert [record["iteration"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert config_of(find_run("x", str(tmp_path / "runs"))).run.iterations == 6


def test_two_processes_cannot_write_to_one_run(tmp_path: Path, holdfast: Command) -> None:
    run, _ = finished_run(tmp_path / "runs", **{"run.name": "x"})
    run.lock()
    done = holdfast("resume", "x")
    assert done.returncode == 2 and f"in use by process {os.getpid()}" in done.stderr
    run.unlock()

"""Studies on this machine: the same table and bytes whatever interrupts them, and nothing lost by any damage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.kit.errors import ConfigError, DiskFull, RunLocked
from holdfast.studies.engine import Engine, Silent, Stop
from holdfast.studies.executor import Ended, How
from holdfast.studies.folder import StudyFolder
from holdfast.studies.options import words_of
from holdfast.studies.piece import Piece, saved_iteration, standing
from holdfast.studies.study import Study
from holdfast.studies.trials import DONE, FAILED, LOST, RUNNING, Trial, TrialLog
from tests.studies.small import SMALL, run_bytes, scores, small_study, study_bytes

LONGER = {"run.iterations": 60}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of two long enough runs that nothing interrupted."""
    study = small_study(tmp_path_factory.mktemp("whole"), options=LONGER)
    assert study.run(jobs=2).exit_status == 0
    return study


def driver(root: Path, *words: str) -> subprocess.Popen[str]:
    """The same study as the command, in a process of its own."""
    command = ["study", "template", "--name", "s", "--root", str(root), "--seeds", "1-2", "--jobs", "2", *words]
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *command, *words_of({**SMALL, **LONGER})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(reached: Any, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + 120
    while not reached():
        assert process.poll() is None and time.monotonic() < limit, process.communicate()
        time.sleep(0.02)


def started(root: Path, *runs: str) -> Any:
    return lambda: all(saved_iteration(root / "s/runs" / run) >= 3 for run in runs)


def test_a_killed_driver_leaves_workers_that_the_next_one_waits_for(tmp_path: Path, whole: Study) -> None:
    process = driver(tmp_path)
    wait_for(started(tmp_path, "0001", "0002"), process)
    process.kill()
    process.wait()
    folder = StudyFolder("s", tmp_path)
    (folder.path / "trials.jsonl").open("ab").write(b'{"trial": 1, "target": "templ')  # and its last line was torn
    log = folder.read_trials()
    assert {trial.state for trial in log.ordered} == {RUNNING} and "was torn" in log.notes[0]
    study = Study("s", root=tmp_path)
    table = study.run(jobs=2)
    assert table.exit_status == 0 and scores(table.trials) == scores(whole.table().trials)
    assert study_bytes(study) == study_bytes(whole)
    lines = (folder.path / "trials.jsonl").read_text().splitlines()
    assert all(json.loads(line)["trial"] in (1, 2) for line in lines)


def test_an_interrupted_study_saves_every_run_and_exits_130_and_a_killed_worker_goes_on(
    tmp_path: Path, whole: Study
) -> None:
    process = driver(tmp_path)
    wait_for(started(tmp_path, "0001"), process)
    os.kill(int((tmp_path / "s/runs/0001/lock").read_text()), signal.SIGKILL)
    wait_for(lambda: LOST in [json.loads(x)["state"] for x in _lines(tmp_path)], process)
    wait_for(started(tmp_path, "0002"), process)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "go on with holdfast study s" in said and "trial 1 lost: ended by signal 9" in said
    study = Study("s", root=tmp_path)
    table = study.run(jobs=2)
    assert scores(table.trials) == scores(whole.table().trials) and study_bytes(study) == study_bytes(whole)
    assert table.trials[0].tries >= 2


def _lines(root: Path) -> list[str]:
    return (root / "s/trials.jsonl").read_text().splitlines()


def test_going_on_does_nothing_when_all_is_done_and_adds_seeds_and_deleted_runs(tmp_path: Path, whole: Study) -> None:
    shutil.copytree(whole.folder.path, tmp_path / "s")
    study = Study("s", root=tmp_path)
    before = (tmp_path / "s/trials.jsonl").read_bytes()
    assert study.run(jobs=2).exit_status == 0
    assert (tmp_path / "s/trials.jsonl").read_bytes() == before
    shutil.rmtree(tmp_path / "s/runs/0002")
    more = small_study(tmp_path, options=LONGER, seeds=(2, 3)).run(jobs=2)
    assert [trial.seed for trial in more.trials] == [1, 2, 3] and "is gone: it is run again" in more.notes[0]
    assert run_bytes(tmp_path / "s/runs/0002") == run_bytes(whole.folder.runs / "0002")
    assert study.compare().groups[0].n == 3


def test_the_second_driver_is_refused_by_name(tmp_path: Path) -> None:
    first = StudyFolder("s", tmp_path)
    first.lock()
    with pytest.raises(RunLocked, match=f"study s is driven by process {os.getpid()}"):
        small_study(tmp_path).run()
    first.unlock()


def test_a_study_is_not_mixed_with_another_of_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    preset = tmp_path / "p.toml"
    preset.write_text('[world]\nname = "template"\n')
    study = Study("s", target=str(preset), seeds=(1,), options=SMALL, root=tmp_path)
    study._keep(study._checked(How(jobs=1)))
    with pytest.raises(ConfigError, match="targets was"):
        small_study(tmp_path, seeds=(1,)).run()
    preset.write_text('[world]\nname = "template"\n[learner]\nlr = 0.5\n')
    with pytest.raises(ConfigError, match=r"learner.lr was 0.001, now it is 0.5"):
        Study("s", root=tmp_path).run()
    assert not (folder / "trials.jsonl").exists()


def test_a_failed_trial_does_not_end_the_study_and_can_be_tried_again(tmp_path: Path) -> None:
    """A folder of another run stands in the way of the first trial, which is told and not touched."""
    other = small_study(tmp_path, "other", seeds=(7,))
    other.run(jobs=1)
    study = small_study(tmp_path)
    (tmp_path / "s/runs").mkdir(parents=True)
    shutil.copytree(tmp_path / "other/runs/0001", tmp_path / "s/runs/0001")
    (tmp_path / "s/runs/0001/result.json").unlink()
    table = study.run(jobs=2)
    assert table.exit_status == 1 and [trial.state for trial in table.trials] == [FAILED, DONE]
    assert "is the folder of another run: run.seed is 7, not 1" in table.trials[0].reason
    assert "another run" in (table.folder / table.trials[0].traceback).read_text()
    again = study.run(jobs=2)
    assert again.exit_status == 1 and "--retry-failed tries them again" in again.notes[0]
    shutil.rmtree(tmp_path / "s/runs/0001")
    assert study.run(jobs=2, retry_failed=True).exit_status == 0


def test_a_worker_that_is_killed_again_and_again_without_progress_fails(tmp_path: Path) -> None:
    class Killed:
        slots, compiles_here = 2, True

        def __init__(self) -> None:
            self.begun: list[int] = []

        def start(self, piece: Piece) -> str:
            self.begun.append(piece.trial)
            return ""

        def ended(self) -> list[Ended]:
            begun, self.begun = self.begun, []
            return [Ended(trial, -9, 1.0) for trial in begun]

        def interrupt(self, number: int) -> None: ...
        def cpu_shares(self) -> dict[int, float]:
            return {}

        def close(self) -> None: ...

    log = TrialLog.open(tmp_path / "trials.jsonl")
    log.write([Trial(1, "template", {}, 1, "0001")])
    piece = Piece(1, "template", {}, 1, str(tmp_path), "0001", 1)
    Engine(Killed(), log, Silent(), Stop(), "score", True).drive([piece])
    log.close()
    trial = TrialLog.read(tmp_path / "trials.jsonl").trials[1]
    assert (trial.state, trial.tries, trial.elapsed_s) == (FAILED, 3, 3.0)
    assert "lost 3 times without getting beyond iteration 0: ended by signal 9" in trial.reason


def test_a_worker_stops_after_its_piece_and_the_whole_is_the_same(tmp_path: Path, whole: Study) -> None:
    piece = Piece(1, "template", {**SMALL, **LONGER}, 1, str(tmp_path), "0001", 1, until=7)

    def block() -> None:  # as Ray's processes do, and hand on
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))

    assert subprocess.run(piece.command(), capture_output=True, preexec_fn=block).returncode == 10
    assert saved_iteration(piece.folder) == 7 and standing(piece).state == "reached"
    rest = Piece(1, "template", {**SMALL, **LONGER}, 1, str(tmp_path), "0001", 1)
    assert subprocess.run(rest.command(), capture_output=True).returncode == 0
    assert run_bytes(piece.folder) == run_bytes(whole.folder.runs / "0001")


def test_workers_keep_to_their_share_of_the_cores(whole: Study) -> None:
    described = json.loads((whole.folder.runs / "0001/run.json").read_text())
    cores = len(os.sched_getaffinity(0))
    assert described["config"]["rollout"]["threads"] == max(1, cores // 2)
    assert described["command"][:3] == ["holdfast", "train", "template"]


def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = TrialLog.open(tmp_path / "trials.jsonl")
    log.write([Trial(1, "template", {}, 1, "0001")])
    before = (tmp_path / "trials.jsonl").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match="No space left"):
        log.write([Trial(1, "template", {}, 1, "0001", state=DONE)])
    log.close()
    assert (tmp_path / "trials.jsonl").read_bytes() == before

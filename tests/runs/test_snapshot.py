"""Watching reads files only, tells the truth about runs that go on, end, hang or die, and survives any folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.command import run as run_command
from holdfast.kit.errors import ConfigError, RunFolderError
from holdfast.runs.heartbeat import utc
from holdfast.runs.snapshot import Watcher, status_of
from holdfast.views.watch import drawn
from tests.conftest import Command, finished_run, small_words


def test_a_finished_run_is_told_with_its_scores_and_files_stay_untouched(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path, **{"metrics.monitor_s": "0.01"})
    before = {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")}
    found = Watcher(run.folder).look()
    assert (found.status, found.iteration, found.iterations, found.damage) == ("finished", 4, 4, [])
    assert found.score["iteration"] == 4 and found.resources["process_memory_mb"] > 10
    assert found.left_s is None and found.agent_steps_per_s and sum(found.time_shares.values()) == pytest.approx(1)
    assert {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")} == before


def test_a_run_killed_in_the_middle_is_told_as_killed_and_two_watchers_agree(tmp_path: Path, holdfast: Command) -> None:
    words = small_words(**{"run.iterations": "100000", "evaluation.every": "0", "metrics.heartbeat_s": "0.2"})
    command = [sys.executable, "-m", "holdfast.cli.command", "train", "template", *words, "--run.name=x", "--quiet"]
    process = subprocess.Popen(command, cwd=tmp_path)
    folder = tmp_path / "runs/x"
    while not (folder / "metrics.jsonl").exists() or Watcher(folder).look().iteration < 2:
        assert process.poll() is None, "the run ended before it was to be killed"
        time.sleep(0.05)
    watchers = [Watcher(folder), Watcher(folder)]
    assert [one.look().status for one in watchers] == ["running", "running"]
    looking = [
        subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli.command", "watch", "x", "--json", "--every", "0.1"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    first = [json.loads(one.stdout.readline()) for one in looking if one.stdout]
    assert [line["status"] for line in first] == ["running", "running"] and first[0]["left_s"] > 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    ends = [json.loads(one.communicate(timeout=60)[0].splitlines()[-1]) for one in looking]
    assert [(end["status"], end["damage"]) for end in ends] == [("killed", []), ("killed", [])]
    assert [one.returncode for one in looking] == [0, 0]
    done = holdfast("watch", "x", "--once")
    shown = [line.split()[:4] for line in done.stdout.splitlines()]
    assert done.returncode == 0 and "killed" in done.stdout
    assert ["iteration", str(ends[0]["iteration"]), "of", "100000"] in shown


HERE = os.uname().nodename
BEGUN: list[dict[str, Any]] = [{"event": "started"}, {"event": "checkpoint"}]


@pytest.mark.parametrize(
    ("events", "beat", "age_s", "status"),
    [
        ([*BEGUN, {"event": "solved"}], {}, None, "solved"),
        (
            [*BEGUN, {"event": "failed"}, {"event": "resumed"}],
            {"host": HERE, "pid": os.getpid(), "every_s": 30},
            5.0,
            "running",
        ),
        (BEGUN, {"host": HERE, "pid": os.getpid(), "every_s": 30}, 91.0, "silent"),
        (BEGUN, {"host": HERE, "pid": 2**22 + 1, "every_s": 30}, 1.0, "killed"),
        (BEGUN, {"host": "elsewhere", "pid": 2**22 + 1, "every_s": 30}, 80.0, "running"),
        (BEGUN, {"host": "elsewhere", "pid": 1, "every_s": 30}, 100.0, "silent"),
        (BEGUN, {"host": "elsewhere", "pid": None, "every_s": "x"}, 11.0, "silent"),
        (BEGUN, {}, None, "killed"),
        ([], {}, None, "starting"),
    ],
)
def test_status(
    events: list[dict[str, Any]], beat: dict[str, Any], age_s: float | None, status: str, tmp_path: Path
) -> None:
    assert status_of(events, beat, age_s, tmp_path)[0] == status


def bare(folder: Path) -> Path:
    folder.mkdir()
    description = {"config": {"world": {"name": "template"}, "run": {"iterations": 10}}}
    (folder / "run.json").write_text(json.dumps(description))
    return folder


def test_missing_and_foreign_files_are_no_reason_to_fail(tmp_path: Path) -> None:
    folder = bare(tmp_path / "x")
    assert Watcher(folder).look().status == "starting"
    (folder / "metrics.jsonl").mkdir()
    (folder / "timing.jsonl").write_bytes(os.urandom(1000) + b"\n")
    (folder / "events.jsonl").write_text('{"event": ["odd"], "iteration": {}}\n{"event": "hint", "text": 7}\n')
    (folder / "heartbeat.jsonl").write_text('{"time": 12, "idle_s": "long"}\n')
    (folder / "resources.jsonl").write_text('{"system_cpu_pct": null, "process_memory_mb": 1e999}\n')
    os.mkfifo(folder / "workers.jsonl")
    found = Watcher(folder).look()
    assert found.iteration == 0 and found.damage
    drawn(found)
    json.dumps(found.damage)


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", "[" * 50_000, '{"config": 7}', '{"config": {"run": {"iterations": "x"}}}']
)
def test_a_foreign_description_is_one_clear_error_or_told_as_unknown(tmp_path: Path, content: str) -> None:
    folder = bare(tmp_path / "x")
    (folder / "run.json").write_text(content)
    try:
        assert Watcher(folder).look().world == "unknown"
    except RunFolderError as error:
        assert "run.json" in str(error)


def test_a_torn_line_in_the_middle_is_one_clear_error(tmp_path: Path, holdfast: Command) -> None:
    (tmp_path / "runs").mkdir()
    folder = bare(tmp_path / "runs/x")
    rows = [json.dumps({"iteration": i, "agent_steps": 10 * i}) for i in range(1, 4)]
    (folder / "metrics.jsonl").write_text(f"{rows[0]}\n{rows[1][:9]}\n{rows[2]}\n{rows[2][:5]}")
    done = holdfast("watch", "x", "--once", "--json")
    assert done.returncode == 1 and "metrics.jsonl line 2" in done.stderr and "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert found["iteration"] == 3 and found["torn_last_lines"] == 1 and found["damage"] == ["metrics.jsonl line 2"]


def test_time_left_goes_by_the_newest_rows(tmp_path: Path) -> None:
    folder = bare(tmp_path / "x")
    times = [100.0, 200.0, 0.0, *(0.5 * i for i in range(1, 5))]  # resumed after the second row
    (folder / "timing.jsonl").write_text("".join(json.dumps({"elapsed_s": t}) + "\n" for t in times[2:]))
    (folder / "metrics.jsonl").write_text(json.dumps({"iteration": 6, "agent_steps": 60}) + "\n")
    beat = {"time": utc(), "host": "elsewhere", "pid": 1, "every_s": 30, "phase": "learn", "idle_s": 0.1}
    (folder / "heartbeat.jsonl").write_text(json.dumps(beat) + "\n")
    found = Watcher(folder).look()
    assert found.status == "running" and found.left_s == pytest.approx(4 * 0.5)
    assert Watcher(folder).look(time.time() + 1000).status == "silent"


@pytest.mark.parametrize("words", [["--every", "0"], ["--every", "-1"], ["--every", "nan"]])
def test_a_pause_that_cannot_be_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="must be more than 0"):
        run_command(["watch", "x", *words])

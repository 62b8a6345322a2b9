"""The command as its user meets it: help, true exit statuses, one clear message for every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.views.docs import PAGES
from tests.conftest import Command, finished_run, small_words

ROOT = Path(__file__).parents[1]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from holdfast.cli.command import run; run([]);"
        "print([m for m in ('torch', 'numba', 'numpy', 'rich', 'gymnasium') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]") and "holdfast train template" in done.stdout


def test_the_module_is_the_command() -> None:
    words = [sys.executable, "-m", "holdfast"]
    assert "holdfast" in subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([*words, "trian"], capture_output=True, text=True)
    assert done.returncode == 2 and "did you mean train" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian", "template"], "no verb 'trian' (did you mean train?)"),
        (["train"], "the following arguments are required: PRESET"),
        (["train", "templat"], "did you mean template"),
        (["train", "template", "--learner.lrr", "1"], "did you mean learner.lr?"),
        (["train", "template", "--dryrun"], "--dryrun"),
        (["train", "template", "--learner.minibatch", "100"], "does not divide 256 lanes x 32 steps"),
        (["train", "template", "--run.name", "../x"], "plain folder name"),
        (["train", "template", "--run.root", "/proc/nowhere"], "cannot make a run in /proc/nowhere"),
        (["train", "missing_module:Env"], "no module 'missing_module'"),
        (["train", "gym:CartPole-v99"], "CartPole"),
        (["resume", "nothing"], "no run 'nothing'"),
        (["evaluate", "nothing"], "no run 'nothing'"),
        (["runs", "--rot", "x"], "--rot"),
        (["bench", "nothing"], "invalid choice"),
        (["bench", "train", "--blocks"], "--rom and --blocks go with: holdfast bench nes, or a game of it"),
        (["doctor", "nes", "--roms", "nowhere"], "--roms nowhere: no such folder"),
        (["doctor", "nes", "--world", "fish"], "does not know '--world'"),
        (["play", "rom", "nowhere.nes"], "play rom needs --inputs, --video"),
    ],
)
def test_bad_input_is_one_clear_error_and_status_2(holdfast: Command, words: list[str], said: str) -> None:
    done = holdfast(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_crash_exits_with_status_1_and_keeps_what_was_written(tmp_path: Path, holdfast: Command) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    words = small_words(**{"world.poison": "20"})
    done = holdfast("train", "tests.two_roles:Pennies", *words, "--run.name=x")
    assert done.returncode == 1 and "reward of seeker 0" in done.stderr and "Traceback" not in done.stderr
    assert len((tmp_path / "runs/x/metrics.jsonl").read_text().splitlines()) == 2


def test_dry_run_tells_everything_and_does_nothing(tmp_path: Path, holdfast: Command) -> None:
    done = holdfast("train", "template", "--dry-run", "--json", "--run.iterations", "9")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["evaluations_at"] == [4, 8]
    assert found["roles"]["player"]["agent_steps_per_iteration"] == 8192
    assert not (tmp_path / "runs").exists()
    plain = holdfast("train", "template", "--dry-run").stdout
    assert "agent-steps in all: at most 491,520" in plain and "lr* = 0.003" in plain
    assert "best-response" not in plain
    assert "4 challengers who learn as long" in holdfast("train", "pursuit", "--dry-run").stdout


def test_train_evaluate_play_report_and_runs(tmp_path: Path, holdfast: Command) -> None:
    done = holdfast("train", "template", *small_words(), "--run.name=first", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "finished" and "iteration 4/4" in done.stderr
    judged = json.loads(holdfast("evaluate", "first", "--episodes", "5", "--checkpoint", "best", "--json").stdout)
    assert judged["policies"].keys() == {"learned", "random", "optimal"}
    assert judged["policies"]["learned"]["episodes"] == 5
    assert holdfast("play", "first", "--video", "out.gif", "--policy", "optimal").returncode == 0
    assert (tmp_path / "out.gif").stat().st_size > 0
    assert holdfast("report", "first").returncode == 0
    assert (tmp_path / "runs/first/report.html").exists()
    listed = json.loads(holdfast("runs", "--json").stdout)
    assert [(row["run"], row["status"], row["iteration"]) for row in listed] == [("first", "finished", 4)]
    assert "unknown" not in holdfast("runs").stdout
    wrong = holdfast("play", "first", "--policy", "optimul")
    assert wrong.returncode == 2 and "did you mean optimal" in wrong.stderr
    wrong = holdfast("evaluate", "first", "--checkpoint", "77")
    assert wrong.returncode == 2 and "there are" in wrong.stderr


def test_quiet_says_nothing(holdfast: Command) -> None:
    done = holdfast("train", "template", *small_words(), "--quiet", "--no-report")
    assert done.returncode == 0 and done.stdout == ""


def test_a_live_view_draws_on_a_terminal(tmp_path: Path) -> None:
    import pty

    outer, inner = pty.openpty()
    words = ["train", "template", *small_words(), "--no-report"]
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli.command", *words],
        cwd=tmp_path,
        stdout=inner,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            piece = os.read(outer, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert process.wait() == 0
    assert b"time goes to" in shown and b"last evaluation" in shown and b"learned" in shown


def test_a_full_disk_ends_the_run_and_keeps_what_is_whole(tmp_path: Path, holdfast: Command) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        words = small_words(**{"run.iterations": "50", "checkpoint.every": "1", "checkpoint.keep": "50"})
        done = holdfast("train", "template", *words, f"--run.root={small}", "--run.name=x", "--no-report")
        assert done.returncode == 1 and "disk is full" in done.stderr and "Traceback" not in done.stderr
        from holdfast.runs.folder import find_run
        from holdfast.runs.reopen import load_checkpoint

        assert load_checkpoint(find_run("x", str(small)), "latest").arrays
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path, holdfast: Command) -> None:
    run, _ = finished_run(tmp_path / "runs", **{"run.name": "x"})
    description = run.describe()
    description["config"]["format"] = 99
    run.write_description(description)
    done = holdfast("resume", "x")
    assert done.returncode == 2 and "format 99" in done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_generated_pages_are_current(page: str) -> None:
    assert (ROOT / "docs" / page).read_text() == PAGES[page](), "run: make docs"


def test_doctor_proves_a_world(holdfast: Command) -> None:
    done = holdfast("doctor", "--world", "template", "--world.slip", "0.2", "--json")
    proofs = json.loads(done.stdout)
    assert done.returncode == 0 and len(proofs) > 10 and all(proof["passed"] for proof in proofs)


def test_a_dry_run_shows_what_acts_and_no_more(holdfast: Command) -> None:
    plain = holdfast("train", "gym:CartPole-v1", "--dry-run").stdout
    assert len(plain.splitlines()) <= 60 and "lr = 0.001" in plain
    for idle in ("phase_allowance", "core_size", "initial_log_std", "trace_lambda", "evader", "explore"):
        assert idle not in plain
    fish = holdfast("train", "fish", "--dry-run", "--gate.enabled", "false").stdout
    assert "phases* = 25:40%" in fish and "phase_allowance" not in fish and "enabled* = " in fish


def test_what_can_be_refused_is_refused_before_kernels_are_compiled(tmp_path: Path, holdfast: Command) -> None:
    for words in (["fish", "--run.iterations", "3"], ["pursuit", "--learner.minibatch", "7"]):
        done = holdfast("train", *words, HOLDFAST_CACHE=str(tmp_path / "kernels"))
        assert done.returncode == 2 and "compil" not in done.stdout + done.stderr, done.stderr
    assert not list((tmp_path / "kernels").glob("**/*.nbc"))

"""Checkpoints tell what they are, are verified and pruned on demand; step counts are repaired with an audit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from holdfast.cli.command import run as run_command
from holdfast.kit.errors import HoldfastError, RunFolderError, UnknownName
from holdfast.runs.backfill import Backfill
from holdfast.runs.checkpoint import MANIFEST, META, TENSORS, Checkpoints, manifest_of, verified
from holdfast.runs.checkpoint_tools import inspect, prune, verify
from holdfast.runs.find import find_runs, run_to_resume
from holdfast.runs.folder import RunFolder
from holdfast.runs.reopen import config_of
from holdfast.train import resume
from holdfast.views.terminal import Quiet
from tests.conftest import Command, finished_run
from tests.test_resume import stopped_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    options = {"checkpoint.every": "1", "checkpoint.keep": "9", "run.name": "first"}
    return finished_run(tmp_path_factory.mktemp("runs"), **options)[0]


def test_a_checkpoint_tells_everything_about_itself(finished: RunFolder) -> None:
    found = inspect(finished, "latest")
    meta = found["meta"]
    assert meta.keys() == {"identity", "counters", "world", "model", "learner", "software", "audit"}
    assert meta["identity"]["reason"] == "final" and len(meta["identity"]["run_id"]) == 32
    counters = meta["counters"]
    assert counters["iteration"] == 4 and counters["lane_steps"] == 4 * 16 * 8
    assert counters["optimizer_steps"] == {"player": 4 * 4 * 2} and counters["wall_s"] > 0
    assert meta["world"]["roles"]["player"]["actions"]["kind"] == "discrete"
    assert meta["model"]["player"]["parameters"] == sum(
        torch.Size(shape).numel() for shape in [(64, 16), (64,), (64, 64), (64,)] * 2 + [(3, 64), (3,), (1, 64), (1,)]
    )
    assert meta["software"]["torch"] == torch.__version__ or meta["software"]["torch"] in torch.__version__
    assert found["arrays"]["player/optimizer/parameters"]["dtype"] == "float32"


def test_counters_and_parents_go_on_through_a_resume(tmp_path: Path) -> None:
    run, config = stopped_run(tmp_path, "template", 3, **{"run.iterations": "5"})
    before = inspect(run, "latest")["meta"]
    resume(config, run, Quiet())
    after = inspect(run, "latest")["meta"]
    assert before["identity"]["reason"] == "interrupt" and after["identity"]["parent"] == "000003"
    assert after["counters"]["lane_steps"] == 5 * 16 * 8
    assert after["counters"]["wall_s"] > before["counters"]["wall_s"]
    assert after["identity"]["run_id"] == before["identity"]["run_id"]


def test_verify_names_what_is_damaged(tmp_path: Path, holdfast: Command) -> None:
    run, _ = finished_run(tmp_path / "runs", **{"run.name": "x", "checkpoint.every": "1", "checkpoint.keep": "9"})
    assert all(verdict.good for verdict in verify(run))
    place = run.folder / "checkpoints/000002"
    (place / META).write_text((place / META).read_text().replace("template", "templbte"))
    (run.folder / "checkpoints/best").write_text("../../x\n")
    lines = (run.folder / "metrics.jsonl").read_bytes().splitlines()
    (run.folder / "metrics.jsonl").write_bytes(b"\n".join([lines[0], lines[1][:20], *lines[2:]]) + b"\n")
    done = holdfast("checkpoint", "verify", "x", "--json")
    bad = {verdict["name"]: verdict["text"] for verdict in json.loads(done.stdout) if not verdict["good"]}
    assert done.returncode == 1 and bad.keys() == {"000002", "best", "metrics.jsonl"}
    assert "meta.json does not match its checksum" in bad["000002"] and "metrics.jsonl line 2" in bad["metrics.jsonl"]


def test_prune_by_budget_keeps_the_newest_and_the_best_and_can_be_tried(tmp_path: Path, holdfast: Command) -> None:
    run, _ = finished_run(
        tmp_path / "runs", **{"run.name": "x", "checkpoint.every": "1", "checkpoint.keep": "9", "run.iterations": "6"}
    )
    checkpoints = Checkpoints(run.folder / "checkpoints", config_of(run).checkpoint)
    names = checkpoints.names()
    best = checkpoints.pointed("best")
    tried = prune(run, keep=1, budget_mb=None, dry_run=True)
    assert checkpoints.names() == names and sum("would be removed" in verdict.text for verdict in tried) >= 4
    done = holdfast("checkpoint", "prune", "x", "--keep", "1")
    assert done.returncode == 0 and checkpoints.names() == sorted({best, "000006"})
    run.lock()
    assert "in use by process" in holdfast("checkpoint", "prune", "x").stderr
    run.unlock()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inspect", "x", "--keep", "2"], "--keep goes with checkpoint prune, not with inspect"),
        (["prune", "x", "--budget-mb", "-5"], "--budget-mb -5: must be at least 1"),
        (["backfill", "x", "--assume-rollout-steps", "-64"], "must be at least 1"),
        (["backfill", "nowhere"], "no folder runs/nowhere or nowhere"),
        (["verify", "nowhere"], "no run 'nowhere'"),
        (["polish", "x"], "invalid choice"),
    ],
)
def test_bad_words_are_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HoldfastError) as refused:
        run_command(["checkpoint", *words])
    assert said in str(refused.value) and refused.value.exit_status == 2


# --- backfill ------------------------------------------------------------------------------------------------------


def foreign(folder: Path, name: str, **content: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_foreign_counts_are_repaired_with_an_audit_and_once(tmp_path: Path) -> None:
    zero = foreign(tmp_path, "a.json", global_update=100, global_step=0, num_envs=8, note="kept")
    low = foreign(tmp_path, "b.json", global_update=100, global_step=5, num_envs=8, rollout_steps=32)
    other = foreign(tmp_path, "c.json", anything=1)
    before = {path: path.read_bytes() for path in (zero, low, other)}
    tried = Backfill(dry_run=True).below(tmp_path)
    assert {path: path.read_bytes() for path in before} == before
    assert [verdict.text for verdict in tried] == [
        "would change: 0 -> 51,200 steps (assumed_rollout_steps, 64 per rollout)",
        "nothing to do: 5 steps",
    ]
    assert all(verdict.good for verdict in Backfill(update_if_lower=True).below(tmp_path))
    repaired, raised = json.loads(zero.read_text()), json.loads(low.read_text())
    assert repaired["global_step"] == 100 * 8 * 64 and repaired["note"] == "kept"
    assert repaired["reconstructed_step_source"]["method"] == "assumed_rollout_steps"
    assert raised["global_step"] == 100 * 8 * 32
    assert raised["reconstructed_step_source"].keys() == {"method", "rollout_steps", "formula", "computed_at"}
    assert (tmp_path / "a.json.bak").read_bytes() == before[zero]
    after = zero.read_bytes()
    again = Backfill(update_if_lower=True).below(tmp_path)
    assert all("nothing to do" in verdict.text for verdict in again) and zero.read_bytes() == after


def test_the_update_count_may_come_from_the_weights_beside_it(tmp_path: Path, holdfast: Command) -> None:
    path = foreign(tmp_path, "a.json", global_step=0, num_envs=4)
    torch.save({"global_update": 7, "model": {"w": torch.zeros(3)}}, tmp_path / "a.pt")
    done = holdfast("checkpoint", "backfill", str(tmp_path), "--assume-rollout-steps", "10", "--no-backup")
    assert done.returncode == 0, done.stdout
    found = json.loads(path.read_text())
    assert found["global_step"] == 280 and found["reconstructed_step_source"]["checkpoint_global_update"] == 7
    assert not (tmp_path / "a.json.bak").exists()


def test_weights_that_carry_code_are_not_read(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "exploded",))

    foreign(tmp_path, "a.json", global_step=0, num_envs=4)
    torch.save({"global_update": Bomb()}, tmp_path / "a.pt")
    (verdict,) = Backfill().below(tmp_path)
    assert not verdict.good and "a.pt is not a plain weights file" in verdict.text
    assert not (tmp_path / "exploded").exists()


def test_unreadable_files_are_named_and_the_status_says_so(tmp_path: Path, holdfast: Command) -> None:
    (tmp_path / "a.json").write_text('{"global_step": 0, ')
    foreign(tmp_path, "b.json", global_step=0, global_update=3)
    foreign(tmp_path, "c.json", global_step=0, global_update=3, num_envs=2)
    done = holdfast("checkpoint", "backfill", str(tmp_path))
    assert done.returncode == 1
    assert [line[:7] for line in done.stdout.splitlines()] == ["DAMAGED", "DAMAGED", "ok     "]
    assert "does not say num_envs" in done.stdout


def test_a_checkpoint_without_metadata_gets_them_and_stays_whole(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path, **{"checkpoint.every": "2", "checkpoint.keep": "9"})
    place = run.folder / "checkpoints/000002"
    contents = verified(place)
    (place / META).unlink()
    (place / MANIFEST).write_bytes(manifest_of({name: text for name, text in contents.items() if name != META}))
    verdicts = Backfill().below(tmp_path)
    assert sorted(verdict.text.split(":")[0] for verdict in verdicts) == ["changed", "nothing to do"]
    meta = inspect(run, "2")["meta"]
    assert meta["counters"]["lane_steps"] == 2 * 16 * 8
    assert meta["audit"]["reconstructed_step_source"]["method"] == "checkpoint_plus_rollout"
    assert all(verdict.good for verdict in verify(run))


# --- finding -------------------------------------------------------------------------------------------------------


def test_runs_are_found_at_any_depth_by_path_preset_or_world(finished: RunFolder) -> None:
    root = str(finished.folder.parent)
    assert [run.name for run in find_runs("FIRST", root)] == ["first"]
    assert [run.name for run in find_runs("templ", root)] == ["first"]
    assert find_runs("mario", root) == []


def test_find_resumes_the_newest_unfinished_run_and_says_why(tmp_path: Path, holdfast: Command) -> None:
    root = tmp_path / "runs"
    finished_run(root / "deep", **{"run.name": "done"})
    older, _ = stopped_run(root / "deep", "template", 2, **{"run.name": "older", "checkpoint.every": "1"})
    newer, _ = stopped_run(root / "deeper/still", "template", 3, **{"run.name": "newer", "checkpoint.every": "1"})
    older.unlock()
    newer.unlock()
    os.utime(older.folder / "checkpoints/000002", (1, 1))
    (root / "loop").symlink_to(root)
    run, notes = run_to_resume("template", str(root))
    assert run.folder == newer.folder and "newer at iteration 3: its checkpoint is the newest" in notes[0]
    assert any("done: finished" in note for note in notes) and any("older is older" in note for note in notes)
    (newer.folder / "checkpoints/000003" / TENSORS).write_bytes(b"")
    assert run_to_resume("template", str(root))[0].folder == newer.folder  # at the checkpoint before
    done = holdfast("resume", "newer", "--find", "--quiet", "--no-report")
    assert done.returncode == 0 and "--find newer chose" in done.stderr
    events = (newer.folder / "events.jsonl").read_text()
    assert "its checkpoint is the newest" in events
    with pytest.raises(UnknownName, match="newer: finished"):
        run_to_resume("newer", str(root))
    with pytest.raises(UnknownName, match="has it in its path"):
        run_to_resume("mario", str(root))
    rows = json.loads(holdfast("runs", "--find", "deep", "--json").stdout)
    assert [row["run"] for row in rows] == ["deep/done", "deep/older", "deeper/still/newer"]


# --- links and pipes -----------------------------------------------------------------------------------------------


def test_nothing_is_written_through_links_out_of_the_run(tmp_path: Path) -> None:
    run, config = stopped_run(tmp_path, "template", 2, **{"checkpoint.every": "1"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("as it was")
    for name, target in (("metrics.jsonl", "precious"), ("evals", "."), ("checkpoints", ".")):
        kept = run.folder / f"{name}.kept"
        (run.folder / name).rename(kept)
        (run.folder / name).symlink_to(outside / target)
        with pytest.raises(RunFolderError, match="is a link"):
            resume(config, run, Quiet())
        (run.folder / name).unlink()
        kept.rename(run.folder / name)
    assert [path.name for path in outside.iterdir()] == ["precious"]
    assert (outside / "precious").read_text() == "as it was"
    assert resume(config, run, Quiet()).outcome == "finished"

"""What surrounds a command: locales, pipes, homes that cannot be written, terminals that obey escape sequences."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import command as cli
from holdfast.kit.compiled import _own_temporary_folder
from holdfast.kit.errors import RunExists, UnknownName
from holdfast.runs.folder import create_run, find_run
from holdfast.views.report.duels import stretches
from holdfast.views.run_list import status_of
from holdfast.views.words import visible
from tests.conftest import Command, finished_run, small_config, small_words

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m"


def test_training_works_where_the_locale_is_not_utf8(tmp_path: Path, holdfast: Command) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOLDFAST_CACHE": str(tmp_path / "cache")}
    done = holdfast("train", "template", *small_words(**{"run.name": "it", "run.iterations": "1"}), **plain)
    assert done.returncode == 0, done.stderr
    assert holdfast("runs", **plain).returncode == 0


def test_a_reader_that_goes_away_does_not_fail_the_run(tmp_path: Path) -> None:
    words = small_words(**{"run.name": "it", "run.iterations": "30"})
    command = [sys.executable, "-m", "holdfast", "train", "template", *words, "--no-report"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline()
    process.stdout.close()  # as `head -1` does
    assert process.stderr is not None
    errors = process.stderr.read()
    assert process.wait(timeout=240) == 0, errors
    assert status_of(tmp_path / "runs/it") == "finished"


def test_a_list_without_a_reader_blames_no_world(tmp_path: Path) -> None:
    for number in range(3):
        create_run(small_config(**{"run.root": str(tmp_path / "runs"), "run.name": str(number)}), "t", []).unlock()
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "runs"], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert done.returncode in (1, 128 + signal.SIGPIPE) and "sys.exit" not in done.stderr


def test_a_cache_that_cannot_be_written_leaves_one_folder_and_not_one_at_every_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    ask = "from holdfast.kit.compiled import _writable_root; print(_writable_root())"
    env = {**os.environ, "HOLDFAST_CACHE": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "tmp")}
    found = {subprocess.check_output([sys.executable, "-c", ask], env=env, text=True) for _ in range(2)}
    assert len(found) == 1 and len(list((tmp_path / "tmp").iterdir())) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    own = _own_temporary_folder()
    own.chmod(0o777)  # others could put code there
    assert _own_temporary_folder() != own


def test_escape_sequences_from_files_are_shown_and_not_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = finished_run(tmp_path / "runs", **{"run.name": "it"})
    content = json.loads((run.folder / "run.json").read_text())
    content["config"]["world"]["name"] = f"[bold]{ESCAPES}"
    (run.folder / "run.json").write_text(json.dumps(content))
    with (run.folder / "events.jsonl").open("a") as file:
        file.write(json.dumps({"event": f"hint{ESCAPES}", "time": ESCAPES, "iteration": 4, "text": ESCAPES}) + "\n")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["watch", "it", "--once"]) == 0 and cli.run(["runs"]) == 0
    shown = capsys.readouterr().out
    assert "[bold]" in shown and not {"\x1b", "\x07", "\x9b"} & set(shown)
    assert visible("a\x1b[31mb\n") == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}"


def test_self_play_before_its_first_turn_can_be_reported() -> None:
    assert stretches([{"event": "started", "iteration": 0}], 0) == []


def test_a_folder_without_a_description_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "runs/half/media").mkdir(parents=True)
    with pytest.raises(RunExists, match="half exists and is no run"):
        create_run(small_config(**{"run.root": str(tmp_path / "runs"), "run.name": "half"}), "template", [])
    with pytest.raises(UnknownName, match="half is no run"):
        find_run("half", str(tmp_path / "runs"))


def test_a_folder_that_a_killed_process_left_without_a_run_is_taken_over(tmp_path: Path) -> None:
    config = small_config(**{"run.root": str(tmp_path), "run.name": "it"})
    (tmp_path / "it").mkdir()
    (tmp_path / "it/lock").write_text("123")
    run = create_run(config, "template", [])
    assert run.describe()["preset"] == "template"
    with pytest.raises(RunExists, match="continue it with"):
        create_run(config, "template", [])
    run.unlock()


def test_a_run_that_cannot_be_described_leaves_no_folder_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise OSError(28, "No space left on device")

    config = small_config(**{"run.root": str(tmp_path), "run.name": "it"})
    monkeypatch.setattr("holdfast.runs.folder.write_synced", refuse)
    with pytest.raises(Exception, match="could not be written"):
        create_run(config, "template", [])
    monkeypatch.undo()
    create_run(config, "template", []).unlock()

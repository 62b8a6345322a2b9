"""What the system refuses during a run has a name, the first refusal is told, and what was written stays whole."""

from __future__ import annotations

import errno
import json
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.kit.disk import replace_file
from holdfast.kit.errors import DiskFull, EnvironmentExit, WorldError, WriteFailed
from holdfast.kit.timing import Clock
from holdfast.runs.checkpoint import Checkpoints
from holdfast.runs.errors import OutOfMemory
from holdfast.runs.failing import named
from holdfast.runs.folder import create_run
from holdfast.runs.reading import read_lines, read_stream
from holdfast.runs.recorder import Recorder
from holdfast.runs.streams import Rotation, Stream
from holdfast.runs.tables import write_rows
from holdfast.train import train
from holdfast.views.run_list import status_of
from holdfast.views.terminal import Quiet
from tests.conftest import Command, finished_run, small_config

ENVIRONMENT = """
import gymnasium, numpy, sys
class {name}(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)
    t = 0
    def reset(self, *, seed=None, options=None):
        return numpy.zeros(2, numpy.float32), {{}}
    def step(self, action):
        self.t += 1
        {step}
"""
EXITS = ENVIRONMENT.format(name="Exits", step="sys.exit(0)")
STRINGS = ENVIRONMENT.format(name="Strings", step="return numpy.array(['a', 'b']), 0.0, False, False, {}")
SMALL = ["--rollout.lanes=2", "--rollout.steps=8", "--run.iterations=2", "--run.name=it", "--learner.minibatch=16"]


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The system itself takes the first part of a write that would cross the limit, and refuses the next one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("length", [40, 5000])
def test_a_short_write_leaves_the_line_whole_or_absent(tmp_path: Path, length: int) -> None:
    path = tmp_path / "s.jsonl"
    stream = Stream(path)
    stream.write({"n": 0, "pad": "x" * length})
    with files_no_larger_than(path.stat().st_size + 20), pytest.raises(WriteFailed, match=r"ulimit -f.*earlier lines"):
        stream.write({"n": 1, "pad": "x" * length})
    stream.write({"n": 2})
    stream.close()
    found = read_stream(path)
    assert [record["n"] for record in found.records] == [0, 2]
    assert not found.damaged and not found.torn_last


def test_a_board_keeps_whole_events_only(tmp_path: Path) -> None:
    from holdfast.runs.board import Board

    board = Board(tmp_path / "tensorboard", 1)
    board.write({"agent_steps": 1, "a.b": 1.0})
    size = board.path.stat().st_size
    with files_no_larger_than(size + 10), pytest.raises(WriteFailed):
        board.write({"agent_steps": 2, "a.b": 2.0})
    assert board.path.stat().st_size == size
    board.close()


def test_packing_that_is_refused_loses_no_line_and_the_stream_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    stream = Stream(path, Rotation(50, 3))
    real, refuse = os.open, [True]

    def without_inodes(place: Any, flags: int, *rest: Any, **more: Any) -> int:
        if refuse[0] and flags & os.O_CREAT and not os.path.exists(place):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
        return real(place, flags, *rest, **more)

    monkeypatch.setattr(os, "open", without_inodes)
    with pytest.raises(DiskFull):
        stream.write({"n": 0, "pad": "x" * 60})
    refuse[0] = False
    stream.write({"n": 1, "pad": "x" * 60})
    stream.close()
    assert [record["n"] for record in read_lines(path)] == [0, 1]


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, DiskFull, "disk"),
        (errno.EDQUOT, DiskFull, "quota"),
        (errno.EROFS, WriteFailed, "read-only"),
        (errno.EACCES, WriteFailed, "permission denied"),
        (errno.EMFILE, WriteFailed, "ulimit -n"),
        (errno.EIO, WriteFailed, "device failed"),
    ],
)
def test_every_refusal_of_the_system_has_a_name_wherever_a_run_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception], words: str
) -> None:
    config = small_config(**{"run.root": str(tmp_path)})
    run = create_run(config, "template", ["test"])
    checkpoints = Checkpoints(run.folder / "checkpoints", config.checkpoint)
    stream = Stream(run.folder / "events.jsonl")

    def refuse(*given: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    monkeypatch.setattr("pyarrow.parquet.write_table", refuse)
    for write in (
        lambda: checkpoints.save(1, {}, {}),
        lambda: run.write_json("result.json", {}),
        lambda: run.write_description({}),
        lambda: write_rows(run.folder / "latest.parquet", [{"a": 1}]),
        lambda: replace_file(run.folder / "x", b""),
        stream.position,
    ):
        with pytest.raises(kind, match=words) as caught:
            write()
        assert caught.value.exit_status == 1  # type: ignore[attr-defined]
    assert not list(run.folder.glob("checkpoints/.writing*"))


def test_a_full_disk_at_the_end_does_not_hide_the_first_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The world fails, and from then on nothing can be written either."""
    import tests.two_roles

    config = small_config("tests.two_roles:Pennies", **{"run.root": str(tmp_path), "memory.auto": "false"})
    run = create_run(config, "pennies", ["test"])

    def refuse(*given: Any, **more: Any) -> Any:
        raise DiskFull("the disk is full")

    def fail(self: Any, actions: Any) -> None:
        monkeypatch.setattr(Stream, "write", refuse)
        monkeypatch.setattr("holdfast.runs.recorder.write_rows", refuse)
        raise WorldError("the world is broken")

    monkeypatch.setattr(tests.two_roles.Pennies, "step", fail)
    with pytest.raises(WorldError, match="the world is broken"):
        train(config, run, Quiet())
    assert [thread.name for thread in threading.enumerate() if thread.name == "holdfast-monitor"] == []


def test_a_recorder_closes_everything_and_tells_the_first_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path, small_config(), Clock())
    recorder.newest = {"iteration": 1}

    def refuse(*given: Any) -> None:
        raise DiskFull("first")

    monkeypatch.setattr("holdfast.runs.recorder.write_rows", refuse)
    with pytest.raises(DiskFull, match="first"):
        recorder.close()
    assert recorder.events._handle == -1
    assert all(stream._handle == -1 for stream in recorder.monitor.streams.values())


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_being_out_of_memory_has_a_name(error: Exception) -> None:
    assert isinstance(named(error), OutOfMemory)


def test_a_defect_keeps_its_traceback() -> None:
    assert named(ValueError("a defect")) is None
    assert isinstance(named(SystemExit(0)), EnvironmentExit)


def test_an_environment_that_calls_sys_exit_is_a_failed_run(tmp_path: Path, holdfast: Command) -> None:
    (tmp_path / "exits.py").write_text(EXITS)
    done = holdfast("train", "exits:Exits", *SMALL, "--no-report")
    assert done.returncode == 1, done.stderr
    assert "step() raised SystemExit in lane 0" in done.stderr and "Traceback" not in done.stderr
    folder = tmp_path / "runs/it"
    assert status_of(folder) == "failed"
    assert json.loads((folder / "result.json").read_text())["exit_status"] == 1


def test_a_world_of_ones_own_that_calls_sys_exit_is_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tests.two_roles

    def leave(self: Any, actions: Any) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(tests.two_roles.Pennies, "step", leave)
    with pytest.raises(EnvironmentExit, match=r"sys\.exit\(0\)"):
        finished_run(tmp_path, "tests.two_roles:Pennies", **{"run.name": "it"})
    assert read_lines(tmp_path / "it/events.jsonl")[-1]["event"] == "failed"
    assert json.loads((tmp_path / "it/result.json").read_text())["error"] == "EnvironmentExit"


def test_observations_of_strings_are_refused_by_name(tmp_path: Path, holdfast: Command) -> None:
    (tmp_path / "strings.py").write_text(STRINGS)
    done = holdfast("train", "strings:Strings", *SMALL, "--no-report")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "the observation is of type <U1, not of numbers" in done.stderr


def test_training_works_in_a_thread(tmp_path: Path) -> None:
    """As in a notebook or a Ray worker, where signals belong to someone else."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(finished_run(tmp_path, **{"run.name": "it"})[1]))
    thread.start()
    thread.join(timeout=120)
    assert found and found[0].outcome == "finished"

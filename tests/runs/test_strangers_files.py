"""Files of a run folder that no run wrote, with right checksums: refused by name, never waited for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from holdfast.cli import command as cli
from holdfast.kit.errors import CheckpointError, CheckpointOutOfReach, ConfigError, HoldfastError, RunFolderError
from holdfast.runs.checkpoint import FACTS, MANIFEST, META, TENSORS, Checkpoints, manifest_of
from holdfast.runs.folder import RunFolder, find_run
from holdfast.runs.plain_files import DEEPEST, parse_json
from holdfast.runs.reading import read_lines
from holdfast.runs.reopen import config_of, load_learners
from holdfast.train import resume
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    run, _ = finished_run(folder, **{"run.name": "it", "run.iterations": "3", "checkpoint.every": "1"})
    path = run.folder / "run.json"
    content = json.loads(path.read_text())
    content["config"]["run"]["iterations"] = 5  # so that there is something to resume
    path.write_text(json.dumps(content))
    return run.folder


@pytest.fixture
def run(original: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(original, tmp_path / "runs/it")
    return find_run("it", str(tmp_path / "runs"))


def edit(place: Path, arrays: Callable[[Arrays], Any] | None = None, **tables: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a checkpoint says, and write the checksums of that."""
    contents = {file: (place / file).read_bytes() for file in (TENSORS, FACTS, META)}
    if arrays is not None:
        found = {name: np.array(array) for name, array in load(contents[TENSORS]).items()}
        arrays(found)
        contents[TENSORS] = save(found)
    for file, change in ((FACTS, tables.get("facts")), (META, tables.get("meta"))):
        if change is not None:
            table = json.loads(contents[file])
            change(table)
            contents[file] = json.dumps(table).encode().replace(b'"HUGE"', b"1e400")
    for file, content in {**contents, MANIFEST: manifest_of(contents)}.items():
        (place / file).write_bytes(content)


def edit_all(run: RunFolder, **changes: Any) -> None:
    for place in (run.folder / "checkpoints").glob("0*"):
        edit(place, **changes)


def put(name: str, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][...] = value

    return change


def say(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value

    return change


ARRAYS = {
    "NaN weights": put("player/optimizer/parameters", np.nan),
    "infinite moments": put("player/optimizer/first_moment", np.inf),
    "negative squares": put("player/optimizer/second_moment", -1.0),
    "negative variance": put("player/observations/variance", -1.0),
    "a generator of zeros": put("generators/actions", 0),
    "no generator": lambda arrays: arrays.pop("generators/shuffle"),
    "half the weights": lambda arrays: arrays.update({"player/optimizer/parameters": np.zeros(3, np.float32)}),
    "weights of text": lambda arrays: arrays.update({"player/optimizer/parameters": np.zeros(3, np.uint8)}),
    "memory of another size": lambda arrays: arrays.update({"player/memory/starts": np.zeros(1, np.bool_)}),
}
FACTS_ = {
    "huge count": say("counts", "iteration", value="HUGE"),
    "NaN count": say("counts", "iteration", value=float("nan")),
    "negative count": say("counts", "agent_steps", value=-1),
    "another iteration": say("counts", "iteration", value=10**6),
    "count of text": say("counts", "episodes", value="many"),
    "true count": say("counts", "episodes", value=True),
    "score of text": say("counts", "best_score", value="best"),
    "huge score": say("counts", "best_score", value="HUGE"),
    "unknown count": say("counts", "others", value=1),
    "no counts": say("counts", value=None),
    "counts in a list": say("counts", value=[]),
    "negative position": say("streams", "metrics.jsonl", value=-5),
    "position of text": say("streams", "metrics.jsonl", value="end"),
    "stream outside": say("streams", "../run.json", value=0),
    "advice of lists": say("advice", value=[1]),
    "curriculum of text": say("curriculum", value="none"),
}
METAS = {
    "lanes of text": say("counters", "lanes", value="many"),
    "negative lanes": say("counters", "lanes", value=-4),
    "wall time of lists": say("counters", "wall_s", value=[]),
    "NaN time": say("counters", "cpu_s", value=float("nan")),
    "no tables": say("counters", value=[]),
    "world of text": say("world", value="fish"),
    "identity of text": say("world", "identity", value="fish"),
}


@pytest.mark.parametrize(
    "changes",
    [
        *[pytest.param({"arrays": change}, id=name) for name, change in ARRAYS.items()],
        *[pytest.param({"facts": change}, id=name) for name, change in FACTS_.items()],
        *[pytest.param({"meta": change}, id=name) for name, change in METAS.items()],
    ],
)
def test_an_edited_checkpoint_with_right_checksums_is_refused_by_name(run: RunFolder, changes: dict[str, Any]) -> None:
    edit_all(run, **changes)
    with pytest.raises(CheckpointError):
        resume(config_of(run), run, Quiet())


@pytest.mark.parametrize("words", [["evaluate", "it"], ["play", "it"], ["resume", "it", "--no-report", "--quiet"]])
def test_weights_that_are_no_numbers_are_never_played(
    run: RunFolder, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.folder.parents[1])
    edit_all(run, arrays=put("player/optimizer/parameters", np.nan))
    with pytest.raises(CheckpointError, match="not finite"):
        cli.run(words)


def test_a_newer_checkpoint_stops_the_resume_and_stays(run: RunFolder) -> None:
    edit(run.folder / "checkpoints/000003", facts=say("format", value=2))
    before = sorted(path.name for path in (run.folder / "checkpoints").iterdir())
    with pytest.raises(CheckpointOutOfReach, match="format 2; this Holdfast reads format 1: update it"):
        resume(config_of(run), run, Quiet())
    assert sorted(path.name for path in (run.folder / "checkpoints").iterdir()) == before


def test_a_checkpoint_behind_an_error_of_the_system_stops_the_resume_and_stays(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def failing(path: Any, *given: Any, **more: Any) -> int:
        if "000003" in str(path):
            raise OSError(5, "Input/output error")
        return real(path, *given, **more)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(CheckpointOutOfReach, match=r"may be whole.*Input/output"):
        resume(config_of(run), run, Quiet())
    monkeypatch.undo()
    assert Checkpoints(run.folder / "checkpoints", config_of(run).checkpoint).names()[-1] == "000003"
    learners, saved = load_learners(run, config_of(run), "latest")
    assert learners and saved.name == "000003"


DEEP = b"[" * 900 + b"]" * 900
HOSTILE_JSON = {
    "deep": b'{"config": ' + DEEP + b"}",
    "very deep": b'{"config": ' + b"[" * 10**6,
    "null": b"null",
    "config null": b'{"config": null}',
    "config of text": b'{"config": "x"}',
    "not UTF-8": b"\xff\xfe",
    "long number": b'{"config": {"run": {"iterations": ' + b"9" * 5000 + b"}}}",
    "versions of text": b'{"config": {}, "versions": "x"}',
    "empty": b"",
}
LOOKING = (["runs"], ["runs", "--json"], ["runs", "--find", "it"], ["report", "it"], ["watch", "it", "--once"])


@pytest.mark.parametrize("content", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_a_strange_description_harms_no_sibling(
    run: RunFolder, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.folder.parents[1])
    stranger = run.folder.parent / "stranger"
    stranger.mkdir()
    (stranger / "run.json").write_bytes(content)
    for words in LOOKING:
        assert cli.run(words) == 0
    for words in (["resume", "stranger"], ["evaluate", "stranger"], ["report", "stranger"]):
        with pytest.raises(HoldfastError):
            cli.run(words)


def test_a_lone_surrogate_is_shown_as_a_question_mark(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run.folder.parents[1])
    content = json.loads((run.folder / "run.json").read_text())
    content["config"]["world"]["name"] = "half \ud800 one"
    (run.folder / "run.json").write_text(json.dumps(content))
    assert cli.run(["runs"]) == 0 and cli.run(["watch", "it", "--once"]) == 0
    assert "half ? one" in capsys.readouterr().out


PLACES = (
    "lock",
    "run.json",
    "metrics.jsonl",
    "events.jsonl",
    "heartbeat.jsonl",
    "result.json",
    "checkpoints/best",
    "checkpoints/latest",
    "checkpoints/000003/state.json",
    "checkpoints/000003/manifest.json",
    "evals/final.json",
    "evals/yardsticks.json",
    "metrics.jsonl.20260101T000000Z-000000000000001.gz",
)
VERBS = (
    ["runs"],
    ["watch", "it", "--once"],
    ["report", "it"],
    ["checkpoint", "verify", "it"],
    ["checkpoint", "inspect", "it"],
    ["evaluate", "it", "--checkpoint", "best", "--episodes", "2"],
    ["resume", "it", "--no-report", "--quiet"],
)


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def as_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [as_pipe, as_link, as_device])
@pytest.mark.parametrize("place", PLACES)
def test_pipes_links_and_devices_are_never_waited_for(
    run: RunFolder, place: str, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verb may refuse such a folder or go on without the file; it never hangs and never fails without a name."""
    monkeypatch.chdir(run.folder.parents[1])
    path = run.folder / place
    path.unlink(missing_ok=True)
    make(path)
    for words in VERBS[: len(VERBS) if place in ("lock", "checkpoints/best") else -1]:
        try:
            cli.run(words)
        except HoldfastError as error:
            assert str(error)


def test_a_stream_behind_a_pipe_stops_the_resume(run: RunFolder) -> None:
    (run.folder / "events.jsonl").unlink()
    os.mkfifo(run.folder / "events.jsonl")
    with pytest.raises(RunFolderError, match="no plain file"):
        resume(config_of(run), run, Quiet())


def test_json_is_bounded_in_depth() -> None:
    inner: Any = 1
    for _ in range(DEEPEST):
        inner = [inner]
    assert parse_json(json.dumps(inner).encode()) == inner
    with pytest.raises(ValueError, match="deep"):
        parse_json(json.dumps([inner]).encode())


def test_a_deep_line_of_a_stream_is_damage_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n": 0}\n{"n": ' + DEEP + b'}\n{"n": 2}\n')
    assert [record["n"] for record in read_lines(path)] == [0, 2]


def test_sizes_beyond_reason_are_refused_before_memory_is_taken(run: RunFolder) -> None:
    content = json.loads((run.folder / "run.json").read_text())
    content["config"]["rollout"]["lanes"] = 2**40
    (run.folder / "run.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=r"rollout\.lanes.*at most"):
        config_of(run)
